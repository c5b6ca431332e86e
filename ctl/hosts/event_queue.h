// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "graphd/error.h"

// The queue of events from the hosts' threads to graphctl's main thread. Thread-safe. The threads
// that push events must stop reading from their hosts while the queue is full. Then a slow terminal
// makes the trainers wait, instead of filling the memory.

namespace graphd::ctl {

struct HostEvent {
  enum class Kind { kFrame, kNoise, kClosed };
  size_t host = 0;  // index into the plan's hosts
  Kind kind = Kind::kFrame;
  nlohmann::json header;  // kFrame
  std::string text;  // kFrame: payload; kNoise: a line of the supervisor's standard error; kClosed:
                     // reason, empty for a regular end
  ErrorCode code = ErrorCode::kUnavailable;  // kClosed
};

class EventQueue {
 public:
  EventQueue();
  void Push(HostEvent event);
  // HasRoom returns whether more may be read from hosts. WaitForRoom waits until it would return
  // true.
  bool HasRoom() const;
  void WaitForRoom();
  // Returns all queued events; the list may be empty.
  std::vector<HostEvent> TakeAll();
  // A descriptor that is readable while events are queued.
  int fd() const { return wake_.get(); }

 private:
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  UniqueFd wake_;
  mutable Mutex mutex_;
  CondVar room_;
  std::deque<HostEvent> events_ GRAPHD_GUARDED_BY(mutex_);
  size_t bytes_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd::ctl
