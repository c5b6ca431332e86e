// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_data_loader.h"

#include <numeric>

#include "base/rng.h"
#include "base/strings.h"

namespace graphd::detail {
namespace {

constexpr uint64_t kShuffleStream = 0x73687566666c65;  // "shuffle"

}  // namespace

EpochPlan::EpochPlan(int64_t num_items, const DataLoaderOptions& options, const Session* session)
    : options_(options), num_items_(num_items) {
  if (options.batch_size < 1) {
    Throw(ErrorCode::kInvalid, "batch_size ", options.batch_size, ": expected 1 or more");
  }
  if (options.num_workers < -1 || options.num_workers > kMaxWorkers) {
    Throw(ErrorCode::kInvalid, "num_workers ", options.num_workers, ": expected 0..", kMaxWorkers,
          ", or -1 for --num_samplers");
  }
  if (options.queue_size < 0 || options.queue_size > kMaxQueueSize) {
    Throw(ErrorCode::kInvalid, "queue_size ", options.queue_size, ": expected 1..", kMaxQueueSize,
          ", or 0 for 2 per worker");
  }
  queue_.num_workers = options.num_workers;
  if (queue_.num_workers < 0) queue_.num_workers = session ? session->options().num_samplers : 0;
  queue_.queue_size = options.queue_size ? options.queue_size
                                         : std::max<int64_t>(1, int64_t{2} * queue_.num_workers);
  queue_.ordered = options.ordered;
  const bool partial = !options.drop_last && num_items % options.batch_size != 0;
  num_batches_ = num_items / options.batch_size + (partial ? 1 : 0);
}

void EpochPlan::Start(int64_t epoch) {
  epoch_ = epoch;
  if (!options_.shuffle) return;
  order_.resize(static_cast<size_t>(num_items_));
  std::iota(order_.begin(), order_.end(), 0);
  CounterRng random(
      CombineKeys(CombineKeys(options_.seed, kShuffleStream), static_cast<uint64_t>(epoch)));
  for (size_t i = order_.size(); i > 1; i--) {  // Fisher-Yates shuffle
    std::swap(order_[i - 1], order_[random.Below(i)]);
  }
}

std::pair<int64_t, int64_t> EpochPlan::Places(int64_t index) const noexcept {
  const int64_t begin = index * options_.batch_size;
  return {begin, begin + std::min(options_.batch_size, num_items_ - begin)};
}

BatchInfo EpochPlan::Info(int64_t index, const std::stop_token& stop) const {
  const uint64_t seed = CombineKeys(CombineKeys(options_.seed, static_cast<uint64_t>(epoch_)),
                                    static_cast<uint64_t>(index));
  return {epoch_, index, seed, stop};
}

void ThrowNoEpoch() {
  Throw(ErrorCode::kInvalid, "Next() of a loader without an epoch; call StartEpoch(epoch) first");
}

}  // namespace graphd::detail
