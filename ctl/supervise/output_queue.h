// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <uv.h>

#include <functional>
#include <string>
#include <string_view>

// The queue of frames for the launcher. The frames are written as fast as the launcher reads them,
// without blocking the supervisor's libuv loop. It must be used on the loop's thread.

namespace graphd::ctl {

class OutputQueue {
 public:
  // Makes `fd` non-blocking. Calls `on_room(false)` when more than kFull bytes wait, and
  // `on_room(true)` when most of them are written. Between these calls, the supervisor does not
  // read the trainers' pipes. Calls `on_broken` when the reading end is closed.
  OutputQueue(uv_loop_t* loop, int fd, std::function<void(bool)> on_room,
              std::function<void()> on_broken);
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  void Write(std::string_view bytes);
  bool empty() const { return waiting_.empty(); }
  // Writes waiting frames, for at most `max_milliseconds`.
  void Flush(int max_milliseconds);
  // Drops the frames that wait and all later frames. The descriptor is no longer used.
  void Discard();
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
