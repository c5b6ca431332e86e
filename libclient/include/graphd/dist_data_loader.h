// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "graphd/batch_queue.h"
#include "graphd/export.h"
#include "graphd/initialize.h"

// A data loader for items of any kind. For items that are nodes there is DistNodeDataLoader
// (graphd/data_loader.h).

namespace GRAPHD_EXPORT graphd {

// The settings of a DistDataLoader.
struct DataLoaderOptions {
  int64_t batch_size = 1000;  // items per batch, at least 1
  bool shuffle = false;       // visit the items in a random order, another one in each epoch
  bool drop_last = false;     // drop the last batch if it is incomplete
  uint64_t seed = 0;       // random seed of order and batches; the same seed gives the same batches
  int num_workers = -1;    // worker threads; 0: Next() makes the batches; -1: Options::num_samplers
  int64_t queue_size = 0;  // batches being made or waiting for Next(); 0: 2 per worker
  bool ordered = true;     // true: deliver in order of index; false: in order of completion
};

// The identity of a batch, which is passed to `collate`.
struct BatchInfo {
  int64_t epoch = 0;
  int64_t index = 0;     // position in the epoch
  uint64_t seed = 0;     // random seed of the batch, a function of options.seed, epoch and index
  std::stop_token stop;  // requested when nobody waits for the batch any more
};

namespace detail {

// The assignment of items to the batches of an epoch.
class EpochPlan {
 public:
  // Throws Error(kInvalid) on options out of bounds; `session` may be null.
  EpochPlan(int64_t num_items, const DataLoaderOptions& options, const Session* session);
  int64_t num_batches() const noexcept { return num_batches_; }
  const QueueOptions& queue() const noexcept { return queue_; }

  // Starts an epoch; with shuffling it draws the order of its items.
  void Start(int64_t epoch);
  // Returns the half-open range of places in the epoch whose items form a batch.
  std::pair<int64_t, int64_t> Places(int64_t index) const noexcept;
  bool is_shuffled() const noexcept { return options_.shuffle; }
  // Returns the item at a place. Requires is_shuffled().
  int64_t ItemAt(int64_t place) const noexcept { return order_[static_cast<size_t>(place)]; }
  BatchInfo Info(int64_t index, const std::stop_token& stop) const;

 private:
  DataLoaderOptions options_;
  QueueOptions queue_;
  int64_t num_items_, num_batches_;
  int64_t epoch_ = 0;
  std::vector<int64_t> order_;  // empty unless shuffled
};

[[noreturn]] void ThrowNoEpoch();

}  // namespace detail

// Divides a dataset into batches and calls `collate` for each of them, in worker threads, ahead of
// the caller. Matches dgl.distributed.DistDataLoader(dataset, batch_size, shuffle, collate_fn,
// drop_last, queue_size).
//
//   DistDataLoader loader(session, ids, [&](std::span<const int64_t> some, const BatchInfo& info) {
//     return MyBatch(graph, some, info.seed);
//   }, {.batch_size = 100, .shuffle = true});
//   for (loader.StartEpoch(epoch); auto batch = loader.Next();) Train(*batch);
//
// Items are of any copyable type, for example ids, or pairs of type and id. Differences from DGL:
// - Batches come in order unless `ordered` is false.
// - The same seed gives the same epochs.
// - num_batches() is known.
// - An epoch may be abandoned in the middle.
// - An exception in `collate` is rethrown by the call of Next() for the batch concerned, and the
//   loader remains usable.
// - `collate` runs in threads of this process, concurrently, and may use everything that is
//   thread-safe.
//
// An object must be used by one thread at a time. Destroying it stops the workers; it waits for the
// running calls of `collate`.
template <class Item, class Batch>
class DistDataLoader {
  static_assert(!std::is_same_v<Item, bool>, "std::vector<bool> has no items to give a span of");

 public:
  // The function that makes a batch of items.
  using Collate = std::function<Batch(std::span<const Item>, const BatchInfo&)>;

  // Keeps `session` alive. The default number of workers is the session's num_samplers, and 0 if
  // `session` is null. Throws Error(kInvalid) on a batch size below 1 and on a number of workers
  // or a queue size out of bounds.
  DistDataLoader(std::shared_ptr<Session> session, std::vector<Item> dataset, Collate collate,
                 const DataLoaderOptions& options = {})
      : state_(std::make_unique<State>(std::move(session), std::move(dataset), std::move(collate),
                                       options)) {}
  DistDataLoader(DistDataLoader&&) noexcept = default;
  DistDataLoader& operator=(DistDataLoader&&) noexcept = default;

  // Returns the number of batches of an epoch.
  int64_t num_batches() const noexcept { return state_->plan.num_batches(); }

  // Starts an epoch; the remaining batches of the previous epoch are dropped. Throws
  // Error(kOverloaded) if the system provides no more threads.
  void StartEpoch(int64_t epoch) {
    state_->queue.reset();  // first, because its workers read the plan
    state_->plan.Start(epoch);
    state_->queue.emplace(
        num_batches(),
        [state = state_.get()](int64_t index, const std::stop_token& stop) {
          return state->MakeBatch(index, stop);
        },
        state_->plan.queue());
  }

  // Waits for the next batch and returns it; returns nothing at the end of the epoch. Throws
  // Error(kInvalid) before the first epoch, and rethrows the exception of `collate`.
  std::optional<Batch> Next() {
    if (!state_->queue) detail::ThrowNoEpoch();
    return state_->queue->Next();
  }

 private:
  struct State {
    State(std::shared_ptr<Session> s, std::vector<Item> items, Collate c,
          const DataLoaderOptions& options)
        : session(std::move(s)),
          dataset(std::move(items)),
          collate(std::move(c)),
          plan(static_cast<int64_t>(dataset.size()), options, session.get()) {}
    Batch MakeBatch(int64_t index, const std::stop_token& stop) const {
      const auto [begin, end] = plan.Places(index);
      const BatchInfo info = plan.Info(index, stop);
      if (!plan.is_shuffled()) {
        return collate(std::span<const Item>(dataset).subspan(static_cast<size_t>(begin),
                                                              static_cast<size_t>(end - begin)),
                       info);
      }
      std::vector<Item> some;
      some.reserve(static_cast<size_t>(end - begin));
      for (int64_t place = begin; place < end; place++) {
        some.push_back(dataset[static_cast<size_t>(plan.ItemAt(place))]);
      }
      return collate(some, info);
    }
    std::shared_ptr<Session> session;
    std::vector<Item> dataset;
    Collate collate;
    detail::EpochPlan plan;
    std::optional<BatchQueue<Batch>> queue;  // last, because its workers use the other members
  };
  std::unique_ptr<State> state_;
};

template <class Item, class F>
DistDataLoader(std::shared_ptr<Session>, std::vector<Item>, F, DataLoaderOptions = {})
    -> DistDataLoader<Item, std::invoke_result_t<F&, std::span<const Item>, const BatchInfo&>>;

}  // namespace graphd
