// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "graphd/export.h"

// Batches 0 .. num_batches-1, made ahead by threads and delivered one by one: what every loader
// stands on. One queue is one epoch; destroying it in the middle leaves nothing behind.
//
//   BatchQueue<Batch> queue(100, [&](int64_t index, const std::stop_token&) { return Make(index);
//   },
//                           {.num_workers = 4, .queue_size = 8});
//   while (auto batch = queue.Next()) Use(*batch);

namespace GRAPHD_EXPORT graphd {

inline constexpr int kMaxWorkers = 1024;
inline constexpr int64_t kMaxQueueSize = 1 << 20;

struct QueueOptions {
  int num_workers = 0;     // threads that make batches, up to kMaxWorkers; 0: Next() makes them
  int64_t queue_size = 1;  // batches being made or waiting for Next(); 1..kMaxQueueSize
  bool ordered = true;     // deliver by index; otherwise as they get done
};

namespace detail {

// BatchQueue without its type.
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

// Next() is for one thread; `make` is called by the workers, at the same time for different
// batches. It is not called for more than queue_size batches beyond those delivered.
template <class Batch>
class BatchQueue {
 public:
  // `stop` tells that nobody waits for the batch any more: a `make` of several long steps returns
  // between them, with whatever it has.
  using Make = std::function<Batch(int64_t index, const std::stop_token& stop)>;

  // Starts the workers. Throws Error(kInvalid) on options outside the bounds above, and
  // Error(kOverloaded) if the system gives no more threads.
  BatchQueue(int64_t num_batches, Make make, const QueueOptions& options)
      : core_(
            num_batches,
            [make = std::move(make)](int64_t index, const std::stop_token& stop) {
              return std::static_pointer_cast<void>(std::make_shared<Batch>(make(index, stop)));
            },
            options) {}
  // The destructor waits for the calls of `make` that are under way, one per worker, and drops what
  // was made. Calls of libgraphclient in them that wait end at once (graphd/interrupt.h).

  // The next batch, or none when all were delivered. Waits for it. Rethrows what `make` threw for
  // this batch, whatever its type; the call after that goes on with the batch after.
  std::optional<Batch> Next() {
    const auto batch = std::static_pointer_cast<Batch>(core_.Next());
    return batch ? std::optional<Batch>(std::move(*batch)) : std::nullopt;
  }

 private:
  detail::BatchQueueCore core_;
};

}  // namespace graphd
