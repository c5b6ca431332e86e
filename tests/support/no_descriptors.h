// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

namespace graphd::testing {

// While it lives, this process can open no file: all descriptors below a limit are taken.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 1024;
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  // Lets the process open one file.
  void GiveOne() {
    ::close(taken_.back());
    taken_.pop_back();
  }
  // Takes a descriptor if there is one.
  bool TakeOne() {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) taken_.push_back(fd);
    return fd >= 0;
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace graphd::testing
