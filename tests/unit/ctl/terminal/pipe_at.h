// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace graphd::testing {

// Puts a pipe in the place of standard descriptors while it lives. Nothing should be expected
// meanwhile, because GoogleTest would print failures into the pipe.
class PipeAt {
 public:
  // `capacity`: the bytes that the pipe holds, rounded up to a page; 0: the system's default.
  explicit PipeAt(std::initializer_list<int> fds, int capacity = 0) {
    std::fflush(stdout);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) ThrowErrno("can't create", "a pipe");
    read_ = UniqueFd(ends[0]);
    const UniqueFd write(ends[1]);
    // The descriptor that replaces a standard one is shared with other processes, and so blocks.
    ::fcntl(write.get(), F_SETFL, 0);
    if (capacity > 0) ::fcntl(write.get(), F_SETPIPE_SZ, capacity);
    for (const int fd : fds) {
      saved_.emplace_back(fd, UniqueFd(::dup(fd)));
      ::dup2(write.get(), fd);
    }
  }
  ~PipeAt() {
    for (const auto& [fd, saved] : saved_) ::dup2(saved.get(), fd);
  }
  PipeAt(const PipeAt&) = delete;
  PipeAt& operator=(const PipeAt&) = delete;

  // Returns what has been written and not been read yet.
  std::string Read() {
    std::string text;
    char bytes[65536];
    for (ssize_t got; (got = ::read(read_.get(), bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<size_t>(got));
    }
    return text;
  }
  void CloseReader() { read_.reset(); }

 private:
  UniqueFd read_;
  std::vector<std::pair<int, UniqueFd>> saved_;
};

}  // namespace graphd::testing
