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
// copies of these rows when they have arrived, instead of requesting them again.
class RowRequest {
 public:
  // The row of ids[i] will be row positions[i] of the call's output.
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
  // LeaveOut notes that the call leaves row ids()[index] to another call; TakeIn notes that the
  // call has received this row after all. Only the call's thread calls them.
  void LeaveOut(size_t index) { positions_[index] = kLeftOut; }
  void TakeIn(size_t index, int64_t position) { positions_[index] = position; }

  // The rows of a request that another call waits for. The waiting call's thread owns this object;
  // the requesting call's thread writes the rows.
  class Awaited {
   public:
    // The rows are written to `out`, which must outlive this object.
    Awaited(std::shared_ptr<RowRequest> request, std::byte* out)
        : request_(std::move(request)), out_(out) {}
    ~Awaited() { Withdraw(); }
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;

    // Adds the row of ids()[index] of the request, which becomes row `position` of the output. The
    // waiting call's own request has its id at index `own`. Must be called before Begin.
    void Add(uint32_t index, int64_t position, uint32_t own) {
      rows_.push_back({index, own, position});
    }
    // Returns false if the request has ended, so that nothing will come.
    bool Begin();
    // Moves the rows that have been written by now to the waiting call's own request, so that calls
    // that wait for that request get them, too.
    void TakeWrittenInto(RowRequest& own);
    // Waits until the rows are in the output, the requesting call has ended without them, or the
    // deadline has passed. Afterwards no row is written any more. Returns how many rows are in the
    // output, and calls is_missing(id, position) for each row that is not. Passes on what the
    // thread's InterruptCheck throws.
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
    // The rows that are not in the output yet, and the rows that are. The request's mutex guards
    // them from Begin until the request has ended.
    std::vector<Row> rows_, written_;
  };

 private:
  friend class RowRequests;
  static constexpr int64_t kLeftOut = -1;
  // Ends the request: copies the rows from the call's output to the calls that wait for them. If
  // `out` is null, these calls get no rows.
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
  // A request that has begun, and that ends when End is called or this object is destroyed.
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
    // Ends the request. `out` has all its rows, or is null if the call has failed.
    void End(const std::byte* out) noexcept;
    // Returns null after End.
    RowRequest* get() const noexcept { return request_.get(); }

   private:
    RowRequests* requests_ = nullptr;
    std::shared_ptr<RowRequest> request_;
  };
  using Earlier = std::vector<std::shared_ptr<RowRequest>>;

  // Begins a request. Returns it, and the requests of the same partition and feature that began
  // earlier, in the order in which they began.
  std::pair<Begun, Earlier> Begin(std::shared_ptr<RowRequest> request);
  // Returns how many requests have ended. If the number has changed since a call looked for its
  // rows in the cache, the cache may have these rows now.
  uint64_t num_ended() const;

 private:
  void End(RowRequest& request, const std::byte* out) noexcept;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<RowRequest>> active_ GRAPHD_GUARDED_BY(mutex_);  // by their begin
  uint64_t num_ended_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd
