// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "daemon/requests/durations.h"
#include "graphd/error.h"
#include "wire/status.h"

namespace graphd {

// The kinds of requests whose times are measured separately.
enum class RequestKind {
  kSample,
  kGather,
  kEdges,
  kReadRows,
  kChangeRows,
  kStep,  // synchronous steps, which wait for the changes of all trainers
  kBarrier,
  kOther,
};
inline constexpr std::array<const char*, 8> kRequestKinds{
    "sample", "gather", "edges", "read_rows", "change_rows", "step", "barrier", "other"};

// The daemon's statistics of all requests since its start. Any thread may change them; they have
// cache lines of their own.
struct alignas(64) RequestCounters {
  std::atomic<uint64_t> requests{0}, rows_served{0}, edges_sampled{0}, bytes_sent{0};
  std::atomic<uint64_t> rows_cached{0}, rows_not_cached{0};  // by the caches of clients
  // The reads of clients in mapped memory, as in graphd::MappedReads.
  std::atomic<uint64_t> mapped_calls{0}, mapped_rows{0}, mapped_bytes{0}, mapped_edges{0};
  std::atomic<uint64_t> checkpoints{0};  // shares of checkpoints that were written
  // Requests that failed, by ErrorCode.
  std::array<std::atomic<uint64_t>, static_cast<size_t>(ErrorCode::kInternal) + 1> errors{};
  // The times of requests that have ended, by RequestKind. `durations` has the times from their
  // arrival until they were answered or cancelled, and `queued` the part of these times in which
  // they waited for a thread or for their turn.
  std::array<Durations, kRequestKinds.size()> durations, queued;

  // Returns the times by operation.
  std::vector<OperationTimes> Operations() const {
    std::vector<OperationTimes> operations;
    for (size_t i = 0; i < kRequestKinds.size(); i++) {
      operations.push_back({kRequestKinds[i], durations[i].Read(), queued[i].Read()});
    }
    return operations;
  }
  void CountError(ErrorCode code) noexcept {
    errors[static_cast<size_t>(code)].fetch_add(1, std::memory_order_relaxed);
  }
  // Counts the rows that a client has looked for in its cache.
  void CountCached(uint64_t found, uint64_t not_found) noexcept {
    if (found != 0) rows_cached.fetch_add(found, std::memory_order_relaxed);
    if (not_found != 0) rows_not_cached.fetch_add(not_found, std::memory_order_relaxed);
  }
  void CountMapped(const MappedReads& reads) noexcept {
    AddTo(mapped_calls, reads.calls);
    AddTo(mapped_rows, reads.rows);
    AddTo(mapped_bytes, reads.bytes);
    AddTo(mapped_edges, reads.edges);
  }
  // Counts a request. If a wait ends just now on another thread, `waited` may exceed `time`; only
  // `time` is then counted as waited.
  void CountEnded(RequestKind kind, Clock::duration time, Clock::duration waited) noexcept {
    durations[static_cast<size_t>(kind)].Add(time);
    queued[static_cast<size_t>(kind)].Add(std::min(waited, time));
  }

 private:
  static void AddTo(std::atomic<uint64_t>& count, uint64_t more) noexcept {
    uint64_t now = count.load(std::memory_order_relaxed);
    while (!count.compare_exchange_weak(now, SumOfReads(now, more), std::memory_order_relaxed)) {
    }
  }
};

}  // namespace graphd
