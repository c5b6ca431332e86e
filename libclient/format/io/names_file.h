// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace graphd {

// The writer of a gzip file with one name per line. The file gets its name when it is complete and
// on the disk. Not thread-safe. Throws Error if a write fails.
class NamesFile {
 public:
  // Writes to the path `temporary` first; if it is "", to a path that only this process uses.
  explicit NamesFile(std::string path, std::string temporary = "");
  // Removes the temporary file unless Finish has succeeded.
  ~NamesFile();
  NamesFile(const NamesFile&) = delete;
  NamesFile& operator=(const NamesFile&) = delete;

  void Add(std::string_view name);
  // Completes the file and gives it its name. Must be called once, at the end.
  void Finish();

 private:
  void Write();
  const std::string path_, temporary_;
  void* file_;  // a gzFile until it is closed
  std::string piece_;
  bool finished_ = false;
};

}  // namespace graphd
