// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/event_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace graphd::ctl {

EventQueue::EventQueue() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) ThrowErrno("can't create", "an eventfd");
}

void EventQueue::Push(HostEvent event) {
  const MutexLock lock(mutex_);
  bytes_ += event.text.size() + 256;
  events_.push_back(std::move(event));
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

bool EventQueue::HasRoom() const {
  const MutexLock lock(mutex_);
  return bytes_ < kMaxBytes;
}

void EventQueue::WaitForRoom() {
  const MutexLock lock(mutex_);
  while (bytes_ >= kMaxBytes) room_.Wait(mutex_);
}

std::vector<HostEvent> EventQueue::TakeAll() {
  const MutexLock lock(mutex_);
  uint64_t count;
  [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof count);
  std::vector<HostEvent> events(std::make_move_iterator(events_.begin()),
                                std::make_move_iterator(events_.end()));
  events_.clear();
  bytes_ = 0;
  room_.NotifyAll();
  return events;
}

}  // namespace graphd::ctl
