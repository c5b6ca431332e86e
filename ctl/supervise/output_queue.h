// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <string>
#include <string_view>

// Frames on their way to the launcher: written as fast as it reads, without ever blocking the
// supervisor's loop. LoopBound: belongs to the loop's thread.

namespace graphd::ctl {

class OutputQueue {
 public:
  // `fd` becomes non-blocking. `on_room(false)` when more than kFull bytes wait, `on_room(true)`
  // when they have gone: the trainers' pipes are not read meanwhile. `on_broken` when nobody
  // reads any more.
  OutputQueue(uv_loop_t* loop, int fd, std::function<void(bool)> on_room,
              std::function<void()> on_broken);
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  void Write(std::string_view bytes);
  bool empty() const { return waiting_.empty(); }
  // Writes what waits, for at most `max_milliseconds`.
  void Flush(int max_milliseconds);
  void Close();

 private:
  static constexpr size_t kFull = size_t{4} << 20;
  void TryWrite();
  void Watch();

  uv_poll_t poll_{};
  int fd_;
  std::function<void(bool)> on_room_;
  std::function<void()> on_broken_;
  std::string waiting_;
  bool full_ = false, broken_ = false, watching_ = false;
};

}  // namespace graphd::ctl
