// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>

// The XXH3-64 hash (libxxhash) of bytes that arrive in pieces. Not thread-safe.

namespace graphd {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void Reset() noexcept;
  void Update(std::span<const std::byte> bytes) noexcept;
  uint64_t Digest() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace graphd
