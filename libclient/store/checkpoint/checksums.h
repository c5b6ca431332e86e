// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>

// The size and checksum of each file of a checkpoint. The file `sums` of the checkpoint has, for
// each file, a line
//
//   checksum size path
//
// and then the checksum of these lines (FileChecksum). The checksums of RocksDB's table files are
// computed when the files are written, so making a checkpoint does not read these files.

namespace graphd::store {

// Writes the file `sums` for all files below the directory, which must be complete. `pages` is the
// path of RocksDB's directory, which need not exist. The sums are on the disk on return. Throws
// Error(kIo).
void WriteSums(const std::string& directory, const std::string& pages);

class CheckpointChecksums {
 public:
  // Reads the sums of a checkpoint. Throws Error: kNotFound, kCorrupt naming the file.
  explicit CheckpointChecksums(const std::string& directory);

  // Reads a file, given by its path below the directory, and compares it with its sum. If there is
  // no sum for the path, the file must not exist. Throws Error: kCorrupt naming the file, kIo.
  void Verify(const std::string& file) const;
  // Verifies all files whose path begins with `prefix`.
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
