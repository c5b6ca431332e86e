// SPDX-License-Identifier: Apache-2.0
#include "client/routing/row_requests.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"
#include "base/interruptions.h"

namespace graphd {

bool RowRequest::Awaited::Begin() {
  const MutexLock lock(request_->mutex_);
  if (request_->has_ended_) return false;
  request_->waiting_.push_back(this);
  return true;
}

void RowRequest::Awaited::TakeWrittenInto(RowRequest& own) {
  const MutexLock lock(request_->mutex_);
  for (const Row& row : written_) own.TakeIn(row.own, row.position);
}

void RowRequest::Awaited::WaitUntilEnded(std::chrono::steady_clock::time_point deadline) {
  {
    const MutexLock lock(request_->mutex_);
    while (!request_->has_ended_ && std::chrono::steady_clock::now() < deadline) {
      const auto pause = std::chrono::steady_clock::now() + kInterruptPause;
      if (request_->ended_.WaitUntil(request_->mutex_, std::min(deadline, pause))) continue;
      const MutexUnlock unlocked(request_->mutex_);
      Interruptions::Check();
    }
  }
  Withdraw();
}

void RowRequest::Awaited::Withdraw() noexcept {
  const MutexLock lock(request_->mutex_);
  std::erase(request_->waiting_, this);
}

void RowRequest::End(const std::byte* out) noexcept {
  const MutexLock lock(mutex_);
  has_ended_ = true;
  for (Awaited* each : waiting_) {
    if (out == nullptr) break;
    std::erase_if(each->rows_, [&](const Awaited::Row& row) {
      const int64_t from = positions_[row.index];
      if (from == kLeftOut) return false;
      std::memcpy(each->out_ + Index(row.position) * row_bytes_, out + Index(from) * row_bytes_,
                  row_bytes_);
      each->written_.push_back(row);
      return true;
    });
  }
  waiting_.clear();
  ended_.NotifyAll();
}

void RowRequests::Begun::End(const std::byte* out) noexcept {
  if (request_ == nullptr) return;
  requests_->End(*request_, out);
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

uint64_t RowRequests::num_ended() const {
  const MutexLock lock(mutex_);
  return num_ended_;
}

void RowRequests::End(RowRequest& request, const std::byte* out) noexcept {
  {
    const MutexLock lock(mutex_);
    num_ended_++;
    std::erase_if(active_, [&](const auto& other) { return other.get() == &request; });
  }
  request.End(out);
}

}  // namespace graphd
