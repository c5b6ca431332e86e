// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "graphd/error.h"

// What the hosts' threads tell graphctl's main thread. Thread-safe. Bounded by its users: they read
// no more from their hosts while too much is unread, so that a slow terminal slows the trainers and
// does not fill the memory.

namespace graphd::ctl {

struct HostEvent {
  enum class Kind { kFrame, kNoise, kClosed };
  size_t host = 0;  // index into the plan's hosts
  Kind kind = Kind::kFrame;
  nlohmann::json header;  // kFrame
  std::string text;       // kFrame: its payload; kNoise: a line of the supervisor's standard error;
                          // kClosed: why, empty if it ended as it should
  ErrorCode code = ErrorCode::kUnavailable;  // kClosed
};

class EventQueue {
 public:
  EventQueue();
  void Push(HostEvent event);
  // Whether more may be read from hosts, now or after waiting for it.
  bool HasRoom() const;
  void WaitForRoom();
  // Everything that waits; may be nothing.
  std::vector<HostEvent> TakeAll();
  // Readable when something waits.
  int fd() const { return wake_.get(); }

 private:
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  UniqueFd wake_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<HostEvent> events_;
  size_t bytes_ = 0;
};

}  // namespace graphd::ctl
