// SPDX-License-Identifier: Apache-2.0
#include "graphd/data_loader.h"

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "base/rng.h"
#include "base/strings.h"

namespace graphd {

// Workers take the next batch number, make the batch, and put it where Next() finds it. They stay
// at most workers * prefetch batches ahead of what was delivered.
struct DistNodeDataLoader::Impl {
  Impl(DistGraph g, std::vector<int64_t> ids, NeighborSampler s, LoaderOptions o)
      : graph(std::move(g)), nids(std::move(ids)), sampler(std::move(s)), options(std::move(o)) {}

  struct Result {
    MiniBatch batch;
    std::exception_ptr failure;
  };

  MiniBatch Make(int64_t index) const;
  void Work();
  void StopWorkers();

  const DistGraph graph;
  const std::vector<int64_t> nids;
  const NeighborSampler sampler;
  LoaderOptions options;
  std::vector<DistTensor> input_tensors, seed_tensors;

  // Of the current epoch; written while no worker runs.
  std::vector<int64_t> order;
  int64_t epoch = 0, num_batches = 0;

  std::mutex mutex;  // guards what follows
  std::condition_variable room, ready;
  int64_t next_to_make = 0, next_to_deliver = 0;
  bool stopping = false;
  std::map<int64_t, Result> results;
  std::vector<std::thread> workers;
};

MiniBatch DistNodeDataLoader::Impl::Make(int64_t index) const {
  const auto begin = index * options.batch_size;
  const auto end = begin + std::min(options.batch_size, static_cast<int64_t>(order.size()) - begin);
  std::vector<std::vector<int64_t>> seeds(static_cast<size_t>(options.ntype) + 1);
  seeds.back().assign(order.begin() + begin, order.begin() + end);
  const uint64_t seed = CombineKeys(CombineKeys(options.seed, static_cast<uint64_t>(epoch)),
                                    static_cast<uint64_t>(index));
  MiniBatch batch = sampler.Sample(graph, std::move(seeds), seed);
  batch.index = index;
  for (const DistTensor& tensor : input_tensors) {
    batch.input_features.push_back(tensor.Read(batch.input_nodes(options.ntype)));
  }
  for (const DistTensor& tensor : seed_tensors) {
    batch.seed_features.push_back(tensor.Read(batch.seeds[static_cast<size_t>(options.ntype)]));
  }
  return batch;
}

void DistNodeDataLoader::Impl::Work() {
  const int64_t window = static_cast<int64_t>(options.num_workers) * options.prefetch;
  std::unique_lock lock(mutex);
  for (;;) {
    room.wait(lock, [&] {
      return stopping || next_to_make == num_batches || next_to_make < next_to_deliver + window;
    });
    if (stopping || next_to_make == num_batches) return;
    const int64_t index = next_to_make++;
    lock.unlock();
    Result result;
    try {
      result.batch = Make(index);
    } catch (...) {
      result.failure = std::current_exception();
    }
    lock.lock();
    results.emplace(index, std::move(result));
    ready.notify_one();
  }
}

void DistNodeDataLoader::Impl::StopWorkers() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  room.notify_all();
  for (std::thread& worker : workers) worker.join();
  workers.clear();
  results.clear();
  stopping = false;
}

DistNodeDataLoader::DistNodeDataLoader(DistGraph graph, std::vector<int64_t> nids,
                                       NeighborSampler sampler, LoaderOptions options) {
  if (options.batch_size < 1) {
    Throw(ErrorCode::kInvalid, "batch_size ", options.batch_size, ": expected 1 or more");
  }
  if (options.prefetch < 1) {
    Throw(ErrorCode::kInvalid, "prefetch ", options.prefetch, ": expected 1 or more");
  }
  if (options.num_workers < 0) options.num_workers = graph.session()->options().num_samplers;
  const int64_t count = graph.num_nodes(options.ntype);
  for (int64_t id : nids) {
    if (id < 0 || id >= count) {
      Throw(ErrorCode::kInvalid, "node ", id, " is outside 0..", count - 1);
    }
  }
  impl_ = std::make_unique<Impl>(std::move(graph), std::move(nids), std::move(sampler),
                                 std::move(options));
  const LoaderOptions& o = impl_->options;
  for (const auto& name : o.input_features) {
    impl_->input_tensors.push_back(impl_->graph.ndata(name, o.ntype));
  }
  for (const auto& name : o.seed_features) {
    impl_->seed_tensors.push_back(impl_->graph.ndata(name, o.ntype));
  }
  const auto size = static_cast<int64_t>(impl_->nids.size());
  const bool partial = !o.drop_last && size % o.batch_size != 0;
  impl_->num_batches = size / o.batch_size + (partial ? 1 : 0);
  impl_->next_to_deliver = impl_->next_to_make = impl_->num_batches;  // until StartEpoch
}

DistNodeDataLoader::~DistNodeDataLoader() {
  if (impl_) impl_->StopWorkers();
}

DistNodeDataLoader::DistNodeDataLoader(DistNodeDataLoader&&) noexcept = default;

int64_t DistNodeDataLoader::num_batches() const noexcept { return impl_->num_batches; }

void DistNodeDataLoader::StartEpoch(int64_t epoch) {
  impl_->StopWorkers();
  impl_->epoch = epoch;
  impl_->order = impl_->nids;
  if (impl_->options.shuffle) {  // Fisher and Yates
    CounterRng random(CombineKeys(CombineKeys(impl_->options.seed, 0x73687566666c65),
                                  static_cast<uint64_t>(epoch)));
    for (size_t i = impl_->order.size(); i > 1; i--) {
      std::swap(impl_->order[i - 1], impl_->order[random.Below(i)]);
    }
  }
  impl_->next_to_make = impl_->next_to_deliver = 0;
  for (int i = 0; i < impl_->options.num_workers; i++) {
    impl_->workers.emplace_back([impl = impl_.get()] { impl->Work(); });
  }
}

std::optional<MiniBatch> DistNodeDataLoader::Next() {
  Impl& impl = *impl_;
  if (impl.next_to_deliver == impl.num_batches) return std::nullopt;
  if (impl.workers.empty()) return impl.Make(impl.next_to_deliver++);
  std::unique_lock lock(impl.mutex);
  impl.ready.wait(lock, [&] { return impl.results.contains(impl.next_to_deliver); });
  auto found = impl.results.find(impl.next_to_deliver++);
  Impl::Result result = std::move(found->second);
  impl.results.erase(found);
  lock.unlock();
  impl.room.notify_all();
  if (result.failure) std::rethrow_exception(result.failure);
  return std::move(result.batch);
}

}  // namespace graphd
