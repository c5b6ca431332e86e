// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>

// XXH3-64 of bytes that come in pieces (libxxhash). One thread at a time.

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
