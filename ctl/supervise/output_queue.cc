// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/output_queue.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/strings.h"

namespace graphd::ctl {

OutputQueue::OutputQueue(uv_loop_t* loop, int fd, std::function<void(bool)> on_room,
                         std::function<void()> on_broken)
    : fd_(fd), on_room_(std::move(on_room)), on_broken_(std::move(on_broken)) {
  poll_.data = this;
  if (uv_poll_init(loop, &poll_, fd) != 0) {
    Throw(ErrorCode::kInvalid,
          "supervise: standard output must be a pipe or a socket; it is started by `graphctl "
          "launch`, not by hand");
  }
}

OutputQueue::~OutputQueue() = default;

void OutputQueue::Close() { uv_close(reinterpret_cast<uv_handle_t*>(&poll_), nullptr); }

void OutputQueue::Discard() {
  broken_ = true;
  waiting_.clear();
  Watch();
}

void OutputQueue::Write(std::string_view bytes) {
  if (broken_) return;
  waiting_ += bytes;
  TryWrite();
}

void OutputQueue::TryWrite() {
  size_t done = 0;
  while (done < waiting_.size()) {
    const ssize_t put = ::write(fd_, waiting_.data() + done, waiting_.size() - done);
    if (put > 0) {
      done += static_cast<size_t>(put);
    } else if (put < 0 && errno == EINTR) {
      continue;
    } else if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    } else {
      broken_ = true;
      waiting_.clear();
      done = 0;
      on_broken_();
      break;
    }
  }
  waiting_.erase(0, done);
  Watch();
  if (!full_ && waiting_.size() > kFull) {
    full_ = true;
    on_room_(false);
  } else if (full_ && waiting_.size() < kFull / 4) {
    full_ = false;
    on_room_(true);
  }
}

void OutputQueue::Watch() {
  if (!waiting_.empty() && !watching_) {
    watching_ = true;
    uv_poll_start(&poll_, UV_WRITABLE, [](uv_poll_t* poll, int, int) {
      static_cast<OutputQueue*>(poll->data)->TryWrite();
    });
  } else if (waiting_.empty() && watching_) {
    watching_ = false;
    uv_poll_stop(&poll_);
  }
}

void OutputQueue::Flush(int max_milliseconds) {
  const Clock::time_point start = Clock::now();
  while (!waiting_.empty()) {
    const int left = max_milliseconds - static_cast<int>(SecondsSince(start) * 1000);
    pollfd ready{fd_, POLLOUT, 0};
    if (left <= 0 || ::poll(&ready, 1, left) == 0) return;
    TryWrite();
  }
}

}  // namespace graphd::ctl
