// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

// Standard output and standard error for a loop that may never wait for whoever reads them: text is
// kept, in one order for both, until poll(2) says that it can be written. Not thread-safe.

namespace graphd::ctl {

class Console {
 public:
  // Keeps `text` for file descriptor 1 or 2. Whoever adds more while full() lets memory grow.
  void Add(int fd, std::string_view text);
  bool full() const { return size_ >= kFull; }
  bool empty() const { return chunks_.empty(); }
  size_t size() const { return size_; }  // bytes
  // What to poll for POLLOUT: 1, 2, or -1 when nothing waits.
  int fd() const { return chunks_.empty() ? -1 : chunks_.front().fd; }
  // Writes what can be without waiting; a bounded amount, so that the loop goes on.
  void WriteSome();
  // As WriteSome until nothing is left; text for a reader that takes none is dropped.
  void WriteOrDrop();
  // Nobody reads standard output any more.
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

  std::deque<Chunk> chunks_;  // none is empty
  size_t size_ = 0;
  bool broken_[2] = {false, false};
};

}  // namespace graphd::ctl
