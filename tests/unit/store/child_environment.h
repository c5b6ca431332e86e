// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <string>
#include <vector>

#include "base/strings.h"

namespace graphd::store::testing {

// The environment of a child process, made before the fork: a child of a process with threads may
// not allocate memory, as setenv does, because another thread may have held the allocator's lock.
// It is that of this process, without the variables that choose a part of GoogleTest's tests.
class ChildEnvironment {
 public:
  ChildEnvironment() {
    for (char** each = environ; *each != nullptr; each++) lines_.emplace_back(*each);
    for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) Unset(name);
  }
  void Set(const std::string& name, const std::string& value) {
    Unset(name);
    lines_.push_back(StrCat(name, "=", value));
  }
  // Returns the list for execve, which is valid until the next change.
  char** data() {
    pointers_.clear();
    for (std::string& line : lines_) pointers_.push_back(line.data());
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

 private:
  void Unset(const std::string& name) {
    std::erase_if(lines_, [&](const std::string& line) { return line.starts_with(name + "="); });
  }

  std::vector<std::string> lines_;
  std::vector<char*> pointers_;
};

}  // namespace graphd::store::testing
