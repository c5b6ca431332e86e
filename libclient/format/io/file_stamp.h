// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// A file as it was when a graph was read from it. Two stamps that differ mean that the file was
// replaced or written meanwhile.
struct FileStamp {
  std::string path;
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0;  // nanoseconds since 1970
  bool operator==(const FileStamp&) const = default;

  // Throws Error(kNotFound) or another error of stat(2).
  static FileStamp Of(const std::string& path);
};

}  // namespace graphd
