// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "graphd/partition_book.h"

namespace graphd {

// The rows of a feature that a call of this process requests from a partition. Other calls get
// copies of them when they are there, instead of requesting them again.
class RowRequest {
 public:
  // Row ids[i] will be row positions[i] of the call's output.
  RowRequest(PartId part, size_t feature, size_t row_bytes, std::span<const int64_t> ids,
             std::span<const int64_t> positions)
      : part_(part),
        feature_(feature),
        row_bytes_(row_bytes),
        ids_(ids.begin(), ids.end()),
        positions_(positions.begin(), positions.end()) {}

  // Returns the ids, which never change. Thread-safe.
  std::span<const int64_t> ids() const noexcept { return ids_; }
  bool IsAboutTheSameAs(const RowRequest& other) const noexcept {
    return part_ == other.part_ && feature_ == other.feature_;
  }
  // Note that the call leaves row ids()[index] to another call, and that it has received the row
  // after all. Called by the call's thread only.
  void LeaveOut(size_t index) { positions_[index] = kLeftOut; }
  void TakeIn(size_t index, int64_t position) { positions_[index] = position; }

  // Rows of a request that another call wants. That call's thread owns this; the thread of the
  // request writes the rows.
  class Awaited {
   public:
    // The rows go to `out`, which outlives this.
    Awaited(std::shared_ptr<RowRequest> request, std::byte* out)
        : request_(std::move(request)), out_(out) {}
    ~Awaited() { Withdraw(); }
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;

    // Adds a row: ids()[index] of the request, which becomes row `position` of the output, and is
    // the id with the number `own` of this call's request. Call this before Begin.
    void Add(uint32_t index, int64_t position, uint32_t own) {
      rows_.push_back({index, own, position});
    }
    // Returns false if the request has ended, so that nothing will come.
    bool Begin();
    // Takes the rows that are in the output by now into this call's request, which gives them to
    // others.
    void TakeWrittenInto(RowRequest& own);
    // Waits until the rows are in the output or the call has ended without them, at most until the
    // deadline. What the thread's InterruptCheck throws leaves it. No row is written later. Returns
    // how many are there; calls is_missing(id, position) for each of the others.
    template <class IsMissing>
    size_t Wait(std::chrono::steady_clock::time_point deadline, IsMissing is_missing) {
      WaitUntilEnded(deadline);
      for (const Row& row : rows_) is_missing(request_->ids_[row.index], row.position);
      return written_.size();
    }

   private:
    friend class RowRequest;
    void WaitUntilEnded(std::chrono::steady_clock::time_point deadline);
    void Withdraw() noexcept;

    struct Row {
      uint32_t index, own;
      int64_t position;
    };
    const std::shared_ptr<RowRequest> request_;
    std::byte* const out_;
    // The rows that are not there, and those that are. The request's mutex guards them from Begin
    // on until it has ended.
    std::vector<Row> rows_, written_;
  };

 private:
  friend class RowRequests;
  static constexpr int64_t kLeftOut = -1;
  // Gives those who wait the rows that are in the call's output; nothing if it is null.
  void End(const std::byte* out) noexcept;

  const PartId part_;
  const size_t feature_, row_bytes_;
  const std::vector<int64_t> ids_;
  std::vector<int64_t> positions_;
  Mutex mutex_;
  CondVar ended_;
  bool has_ended_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::vector<Awaited*> waiting_ GRAPHD_GUARDED_BY(mutex_);
};

// The requests of this process that have not ended. Thread-safe.
class RowRequests {
 public:
  // A request from its begin until this object ends it or is destroyed.
  class Begun {
   public:
    Begun() = default;
    Begun(RowRequests& requests, std::shared_ptr<RowRequest> request)
        : requests_(&requests), request_(std::move(request)) {}
    ~Begun() { End(nullptr); }
    Begun(Begun&& other) noexcept
        : requests_(other.requests_), request_(std::exchange(other.request_, nullptr)) {}
    Begun& operator=(Begun&& other) noexcept {
      if (this == &other) return *this;
      End(nullptr);
      requests_ = other.requests_;
      request_ = std::exchange(other.request_, nullptr);
      return *this;
    }
    // Ends the request: all its rows are in `out`, or, if that is null, the call has failed.
    void End(const std::byte* out) noexcept;
    // Returns null after End.
    RowRequest* get() const noexcept { return request_.get(); }

   private:
    RowRequests* requests_ = nullptr;
    std::shared_ptr<RowRequest> request_;
  };
  using Earlier = std::vector<std::shared_ptr<RowRequest>>;

  // Begins a request. Returns it, and those of its partition and feature that began before, by
  // their begin.
  std::pair<Begun, Earlier> Begin(std::shared_ptr<RowRequest> request);
  // Returns how many requests have ended. If it has changed since a call looked for its rows, they
  // may be in the cache now.
  uint64_t num_ended() const;

 private:
  void End(RowRequest& request, const std::byte* out) noexcept;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<RowRequest>> active_ GRAPHD_GUARDED_BY(mutex_);  // by their begin
  uint64_t num_ended_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd
