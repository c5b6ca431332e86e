// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

// Functions and classes for objects that a child process inherits when fork(2) makes it. The
// threads of the parent do not exist in the child, a mutex may be locked there forever, and an
// epoll instance is shared with the parent. Objects that have any of these can be neither used nor
// destroyed in the child, so they are abandoned there.

namespace graphd {

// The identity of the process that made an object. A handler of pthread_atfork(3) changes a number
// in each child, by which it is recognised. A system call at each use of the object would often
// take longer than the use.
class OwnProcess {
 public:
  OwnProcess();
  // Returns false in a process that was forked from the one that made this object.
  bool is_this() const noexcept;

 private:
  uint64_t generation_;
};

// Makes an object that owns threads or connections. In a forked child its destructor is not called:
// its memory stays allocated until the child ends.
template <class T, class... Arguments>
std::shared_ptr<T> MakeAbandonedInChildren(Arguments&&... arguments) {
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...),
                            [process = OwnProcess()](T* object) {
                              if (process.is_this()) delete object;
                            });
}

// Makes exit(3), in children that are forked from now on, skip the functions that were registered
// with atexit(3) before the fork; streams such as standard output are still flushed. This is needed
// once a library, such as RocksDB, has a static object whose destructor waits for threads: a child
// doesn't have these threads, and would never end.
void SkipDestructorsInChildren();

// Closes a descriptor in each child that is forked while this object exists, so that a peer notices
// the end of this process although a child of it lives. Must be destroyed before the descriptor is
// closed.
class ClosedInChildren {
 public:
  explicit ClosedInChildren(int fd);
  ~ClosedInChildren();
  ClosedInChildren(const ClosedInChildren&) = delete;
  ClosedInChildren& operator=(const ClosedInChildren&) = delete;

 private:
  friend struct ForkHandlers;
  const int fd_;
  ClosedInChildren *previous_ = nullptr, *next_ = nullptr;
};

}  // namespace graphd
