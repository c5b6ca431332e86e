// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// The identity of a file's contents at the time when a graph was read from it. If two stamps of a
// file differ, the file was replaced or written in between.
struct FileStamp {
  std::string path;
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0;  // nanoseconds since 1970
  bool operator==(const FileStamp&) const = default;

  // Returns the stamp of a file. Throws Error(kNotFound), or an Error for another failure of
  // stat(2).
  static FileStamp Of(const std::string& path);
};

}  // namespace graphd
