// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "graphd/partition_book.h"

namespace graphd {

// The rows of a feature that a call of this process requests from a partition, to store them in the
// row cache. Its ids do not change once it has begun, so that other threads look them up without a
// lock.
class RowRequest {
 public:
  RowRequest(PartId part, size_t feature) : part_(part), feature_(feature) {}

  // Sets the ids: those at `indices`, without duplicates. Calls is_again(index, first) for an index
  // whose id occurs at index `first`, too.
  template <class IsAgain>
  void Assign(std::span<const int64_t> ids, std::span<const uint32_t> indices, IsAgain is_again);
  // Returns the indices that Assign has taken, ascending.
  std::span<const uint32_t> indices() const noexcept { return indices_; }
  bool Has(int64_t id) const noexcept { return table_[Find(id)] != kFree; }
  bool IsAboutTheSameAs(const RowRequest& other) const noexcept {
    return part_ == other.part_ && feature_ == other.feature_;
  }

  // Waits until the rows are in the cache or the call has failed, at most until the deadline. What
  // the thread's InterruptCheck throws leaves it.
  void WaitUntilEnded(std::chrono::steady_clock::time_point deadline) const;

 private:
  friend class RowRequests;
  static constexpr uint32_t kFree = UINT32_MAX;
  // Returns the place of an id in the table, or the free one where it belongs.
  size_t Find(int64_t id) const noexcept;

  const PartId part_;
  const size_t feature_;
  std::vector<int64_t> ids_;
  std::vector<uint32_t> indices_;
  std::vector<uint32_t> table_;  // indices of ids_, by open addressing
  mutable Mutex mutex_;
  mutable CondVar ended_;
  bool has_ended_ GRAPHD_GUARDED_BY(mutex_) = false;
};

// The requests of this process that have not ended. A call that needs rows which an earlier one has
// requested waits for them, instead of requesting them again. Thread-safe.
class RowRequests {
 public:
  // A request from its begin until this object is cleared or destroyed.
  class Begun {
   public:
    Begun() = default;
    Begun(RowRequests& requests, std::shared_ptr<RowRequest> request)
        : requests_(&requests), request_(std::move(request)) {}
    ~Begun() { End(); }
    Begun(Begun&& other) noexcept
        : requests_(other.requests_), request_(std::exchange(other.request_, nullptr)) {}
    Begun& operator=(Begun&& other) noexcept {
      if (this == &other) return *this;
      End();
      requests_ = other.requests_;
      request_ = std::exchange(other.request_, nullptr);
      return *this;
    }
    void End() noexcept;

   private:
    RowRequests* requests_ = nullptr;
    std::shared_ptr<RowRequest> request_;
  };
  using Earlier = std::vector<std::shared_ptr<const RowRequest>>;

  // Begins a request. Returns it, and those of its partition and feature that began before.
  std::pair<Begun, Earlier> Begin(std::shared_ptr<RowRequest> request);

 private:
  void End(RowRequest& request) noexcept;

  Mutex mutex_;
  std::vector<std::shared_ptr<RowRequest>> active_ GRAPHD_GUARDED_BY(mutex_);  // by their begin
};

template <class IsAgain>
void RowRequest::Assign(std::span<const int64_t> ids, std::span<const uint32_t> indices,
                        IsAgain is_again) {
  ids_.reserve(indices.size());
  indices_.reserve(indices.size());
  size_t size = 1;
  while (size < 2 * indices.size() + 1) size *= 2;
  table_.assign(size, kFree);
  for (const uint32_t i : indices) {
    uint32_t& place = table_[Find(ids[i])];
    if (place != kFree) {
      is_again(i, indices_[place]);
      continue;
    }
    place = static_cast<uint32_t>(ids_.size());
    ids_.push_back(ids[i]);
    indices_.push_back(i);
  }
}

}  // namespace graphd
