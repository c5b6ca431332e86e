// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace graphd::store {

// The XXH3-64 checksum of bytes that are added piece by piece.
class FileChecksum {
 public:
  FileChecksum() : state_(XXH3_createState()) { XXH3_64bits_reset(state_.get()); }
  void Add(const void* data, size_t bytes) { XXH3_64bits_update(state_.get(), data, bytes); }
  // Returns 16 hexadecimal digits.
  std::string Digits() const;

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

// Returns the checksum of a file's first `size` bytes. Throws Error(kCorrupt) if it has fewer,
// Error(kIo).
std::string ChecksumOfFile(const std::string& path, uint64_t size);

}  // namespace graphd::store
