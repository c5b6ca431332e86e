// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>

// The size and checksum of each file of a checkpoint, in its file `sums`: a line of
//
//   checksum, size, path
//
// for each, and then the checksum of these lines (FileChecksum). RocksDB's tables have theirs from
// when they were written, so a checkpoint needs not be read to be made.

namespace graphd::store {

// Of all files below the directory, which is complete; RocksDB is in `pages` there, if at all. On
// the disk on return. Throws Error.
void WriteSums(const std::string& directory, const std::string& pages);

class CheckpointChecksums {
 public:
  // Throws Error(kNotFound), Error(kCorrupt) naming the file.
  explicit CheckpointChecksums(const std::string& directory);

  // Compares a file, by its path below the directory, with what it was; one that there never was
  // must not be there. Throws Error(kCorrupt) naming it, Error(kIo).
  void Verify(const std::string& file) const;
  // All files whose path begins with `prefix`.
  void VerifyAll(const std::string& prefix) const;

 private:
  struct Sum {
    std::string checksum;
    uint64_t size = 0;
  };
  const std::string directory_;
  std::map<std::string, Sum> sums_;
};

}  // namespace graphd::store
