// SPDX-License-Identifier: Apache-2.0
#include "client/routing/row_requests.h"

#include <algorithm>

#include "base/interrupt.h"
#include "base/rng.h"

namespace graphd {

size_t RowRequest::Find(int64_t id) const noexcept {
  const size_t mask = table_.size() - 1;
  size_t at = Mix64(static_cast<uint64_t>(id)) & mask;
  while (table_[at] != kFree && ids_[table_[at]] != id) at = (at + 1) & mask;
  return at;
}

void RowRequest::WaitUntilEnded(std::chrono::steady_clock::time_point deadline) const {
  const MutexLock lock(mutex_);
  while (!has_ended_ && std::chrono::steady_clock::now() < deadline) {
    const auto pause = std::chrono::steady_clock::now() + kInterruptPause;
    if (ended_.WaitUntil(mutex_, std::min(deadline, pause))) continue;
    const MutexUnlock unlocked(mutex_);
    Interruptions::Check();
  }
}

void RowRequests::Begun::End() noexcept {
  if (request_ == nullptr) return;
  requests_->End(*request_);
  request_ = nullptr;
}

std::pair<RowRequests::Begun, RowRequests::Earlier> RowRequests::Begin(
    std::shared_ptr<RowRequest> request) {
  Earlier earlier;
  {
    const MutexLock lock(mutex_);
    for (const auto& other : active_) {
      if (other->IsAboutTheSameAs(*request)) earlier.push_back(other);
    }
    active_.push_back(request);
  }
  return {Begun(*this, std::move(request)), std::move(earlier)};
}

void RowRequests::End(RowRequest& request) noexcept {
  {
    const MutexLock lock(mutex_);
    std::erase_if(active_, [&](const auto& other) { return other.get() == &request; });
  }
  const MutexLock lock(request.mutex_);
  request.has_ended_ = true;
  request.ended_.NotifyAll();
}

}  // namespace graphd
