// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace graphd::testing {

// A directory in the system's temporary directory, removed with its contents when destroyed.
class ScratchDirectory {
 public:
  ScratchDirectory() : ScratchDirectory(std::filesystem::temp_directory_path()) {}
  explicit ScratchDirectory(const std::filesystem::path& parent) {
    std::string pattern = (parent / "graphd_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A scratch directory in memory.
class MemoryDirectory : public ScratchDirectory {
 public:
  MemoryDirectory() : ScratchDirectory("/dev/shm") {}
};

}  // namespace graphd::testing
