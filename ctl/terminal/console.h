// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

// Writes to standard output and standard error for a loop that must never wait for their readers.
// Text waits in one queue for both, so that its sequence is kept, until poll(2) reports that it can
// be written. Not thread-safe.

namespace graphd::ctl {

class Console {
 public:
  // Queues `text` for file descriptor 1 or 2. Text is also accepted while full() is true; the queue
  // then takes more memory.
  void Add(int fd, std::string_view text);
  bool full() const { return size_ >= kFull; }
  bool empty() const { return chunks_.empty(); }
  size_t size() const { return size_; }  // bytes
  // The descriptor to poll for POLLOUT: 1, 2, or -1 if the queue is empty.
  int fd() const { return chunks_.empty() ? -1 : chunks_.front().fd; }
  // Writes what can be written without blocking, up to a bounded amount, so that the loop
  // continues.
  void WriteSome();
  // Empties the queue: writes what can be written without blocking, and drops the rest.
  void WriteOrDrop();
  // Returns whether nobody reads standard output any longer.
  bool out_is_broken() const { return broken_[0]; }

 private:
  static constexpr size_t kFull = size_t{4} << 20;
  struct Chunk {
    int fd;
    std::string text;
    size_t done;
  };
  bool WriteFront();
  void DropFront();

  std::deque<Chunk> chunks_;  // no chunk is empty
  size_t size_ = 0;
  bool broken_[2] = {false, false};
};

}  // namespace graphd::ctl
