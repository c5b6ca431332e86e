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

// Iterating over a dataset of any kind in mini-batches; DistNodeDataLoader (graphd/data_loader.h)
// is one whose items are nodes.

namespace GRAPHD_EXPORT graphd {

struct DataLoaderOptions {
  int64_t batch_size = 1000;
  bool shuffle = false;    // another order each epoch, from `seed` and the epoch's number
  bool drop_last = false;  // drop an incomplete last batch
  uint64_t seed = 0;       // of order and batches; the same seed gives the same ones
  int num_workers = -1;    // threads; 0: batches are made in Next(); -1: Options::num_samplers
  int64_t queue_size =
      0;                // batches being made or waiting, which bounds the memory; 0: 2 per worker
  bool ordered = true;  // false: batches are delivered as they get done
};

// What a batch is told about itself.
struct BatchInfo {
  int64_t epoch = 0;
  int64_t index = 0;     // position in the epoch
  uint64_t seed = 0;     // for the batch's own draws: of options.seed, epoch and index
  std::stop_token stop;  // requested when nobody waits for the batch any more
};

namespace detail {

// Which items make which batch of an epoch.
class EpochPlan {
 public:
  // Throws Error(kInvalid) on a batch size below 1 and other options out of bounds.
  EpochPlan(int64_t num_items, const DataLoaderOptions& options, const Session* session);
  int64_t num_batches() const noexcept { return num_batches_; }
  const QueueOptions& queue() const noexcept { return queue_; }

  void Start(int64_t epoch);
  // The items of a batch are those at places [begin, end) of the epoch.
  std::pair<int64_t, int64_t> Places(int64_t index) const noexcept;
  bool is_shuffled() const noexcept { return options_.shuffle; }
  // Requires: is_shuffled().
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

// Cuts `dataset` into batches and gives each to `collate`, on threads, ahead of the caller. Matches
// dgl.distributed.DistDataLoader(dataset, batch_size, shuffle, collate_fn, drop_last, queue_size).
//
//   DistDataLoader loader(session, ids, [&](std::span<const int64_t> some, const BatchInfo& info) {
//     return MyBatch(graph, some, info.seed);
//   }, {.batch_size = 100, .shuffle = true});
//   for (loader.StartEpoch(epoch); auto batch = loader.Next();) Train(*batch);
//
// Items are of any type that can be copied (ids, pairs of type and id). Different from DGL: batches
// come in order unless `ordered` is false; the same seed gives the same epochs; num_batches() is
// known; leaving an epoch in the middle leaves nothing behind; what `collate` throws is thrown by
// the Next() whose batch it concerns, after which the loader goes on; collate runs in threads of
// this process and so may use everything that is thread-safe.
//
// Used by one thread. Destroying it stops the workers, waiting for the calls of collate under way.
template <class Item, class Batch>
class DistDataLoader {
  static_assert(!std::is_same_v<Item, bool>, "std::vector<bool> has no items to give a span of");

 public:
  using Collate = std::function<Batch(std::span<const Item>, const BatchInfo&)>;

  // `session` gives the number of threads and is kept alive; null counts as one without samplers.
  // Throws Error(kInvalid) on a batch size below 1, and on threads or a queue size out of bounds.
  DistDataLoader(std::shared_ptr<Session> session, std::vector<Item> dataset, Collate collate,
                 const DataLoaderOptions& options = {})
      : state_(std::make_unique<State>(std::move(session), std::move(dataset), std::move(collate),
                                       options)) {}
  DistDataLoader(DistDataLoader&&) noexcept = default;
  DistDataLoader& operator=(DistDataLoader&&) noexcept = default;

  // Batches of an epoch.
  int64_t num_batches() const noexcept { return state_->plan.num_batches(); }

  // Begins an epoch; what is left of the one before is dropped. Throws Error(kOverloaded) if the
  // system gives no threads.
  void StartEpoch(int64_t epoch) {
    state_->queue.reset();  // its workers read the plan
    state_->plan.Start(epoch);
    state_->queue.emplace(
        num_batches(),
        [state = state_.get()](int64_t index, const std::stop_token& stop) {
          return state->MakeBatch(index, stop);
        },
        state_->plan.queue());
  }

  // The next batch, or none at the epoch's end. Throws Error(kInvalid) before the first epoch.
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
    std::optional<BatchQueue<Batch>> queue;  // last: its workers use the others
  };
  std::unique_ptr<State> state_;
};

template <class Item, class F>
DistDataLoader(std::shared_ptr<Session>, std::vector<Item>, F, DataLoaderOptions = {})
    -> DistDataLoader<Item, std::invoke_result_t<F&, std::span<const Item>, const BatchInfo&>>;

}  // namespace graphd
