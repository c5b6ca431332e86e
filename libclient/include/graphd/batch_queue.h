// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "graphd/export.h"

// An ordered or unordered queue of mini-batches that worker threads make ahead of their use. All
// data loaders are built on it. One queue serves one epoch of batches 0 .. num_batches-1.
// Destroying it in the middle of an epoch stops its workers and frees the batches that they have
// made.
//
//   BatchQueue<Batch> queue(
//       100, [&](int64_t index, const std::stop_token&) { return Make(index); },
//       {.num_workers = 4, .queue_size = 8});
//   while (auto batch = queue.Next()) Use(*batch);

namespace GRAPHD_EXPORT graphd {

// The largest number of workers of a queue.
inline constexpr int kMaxWorkers = 1024;
// The largest size of a queue, in batches.
inline constexpr int64_t kMaxQueueSize = 1 << 20;

// The settings of a BatchQueue.
struct QueueOptions {
  int num_workers = 0;     // worker threads, 0..kMaxWorkers; 0: Next() makes the batches
  int64_t queue_size = 1;  // batches being made or waiting for Next(), 1..kMaxQueueSize
  bool ordered = true;     // true: deliver in order of index; false: in order of completion
};

namespace detail {

// The implementation of BatchQueue, independent of the type of its batches.
class BatchQueueCore {
 public:
  using Make = std::function<std::shared_ptr<void>(int64_t index, const std::stop_token& stop)>;
  BatchQueueCore(int64_t num_batches, Make make, const QueueOptions& options);
  ~BatchQueueCore();
  BatchQueueCore(const BatchQueueCore&) = delete;
  BatchQueueCore& operator=(const BatchQueueCore&) = delete;
  std::shared_ptr<void> Next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace detail

// A queue that makes the batches of one epoch in worker threads and delivers them one at a time.
//
// Next() must be called by one thread at a time. The workers call `make` concurrently, for
// different batches. At any time at most queue_size batches are being made or wait to be delivered.
template <class Batch>
class BatchQueue {
 public:
  // The function that makes the batch of an index. `stop` is requested when nobody waits for the
  // batch any more; a function with several long steps should check it between them and return
  // early. The value that it returns then is dropped.
  using Make = std::function<Batch(int64_t index, const std::stop_token& stop)>;

  // Starts the workers. Throws Error(kInvalid) if an option is outside its bounds, and
  // Error(kOverloaded) if the system provides no more threads.
  BatchQueue(int64_t num_batches, Make make, const QueueOptions& options)
      : core_(
            num_batches,
            [make = std::move(make)](int64_t index, const std::stop_token& stop) {
              return std::static_pointer_cast<void>(std::make_shared<Batch>(make(index, stop)));
            },
            options) {}
  // The destructor waits for the running calls of `make`, at most one per worker, and drops their
  // results. Calls of libgraphclient that wait inside them end at once (graphd/interrupt.h).

  // Waits for the next batch and returns it; returns nothing after the last one. Rethrows the
  // exception, of any type, that `make` threw for this batch; the following call continues with the
  // next batch.
  std::optional<Batch> Next() {
    const auto batch = std::static_pointer_cast<Batch>(core_.Next());
    return batch ? std::optional<Batch>(std::move(*batch)) : std::nullopt;
  }

 private:
  detail::BatchQueueCore core_;
};

}  // namespace graphd
