// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_data_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "graphd/error.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using Ids = std::vector<int64_t>;

Ids Tens(int64_t count) {
  Ids ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int64_t>(i) * 10;
  return ids;
}

Ids Copy(std::span<const int64_t> items, const BatchInfo&) { return {items.begin(), items.end()}; }

// Returns all batches of an epoch.
template <class Loader>
auto Epoch(Loader& loader, int64_t epoch) {
  std::vector<typename decltype(loader.Next())::value_type> batches;
  for (loader.StartEpoch(epoch); auto batch = loader.Next();) batches.push_back(std::move(*batch));
  return batches;
}

Ids Flat(const std::vector<Ids>& batches) {
  Ids all;
  for (const Ids& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

class DataLoaderWorkers : public ::testing::TestWithParam<int> {
 protected:
  static DataLoaderOptions With(DataLoaderOptions options) {
    options.num_workers = GetParam();
    return options;
  }
};

TEST_P(DataLoaderWorkers, CutTheDatasetInOrder) {
  DistDataLoader loader(nullptr, Tens(10), Copy, With({.batch_size = 4}));
  EXPECT_EQ(loader.num_batches(), 3);
  const std::vector<Ids> expected{{0, 10, 20, 30}, {40, 50, 60, 70}, {80, 90}};
  EXPECT_EQ(Epoch(loader, 0), expected);
  EXPECT_EQ(Epoch(loader, 1), expected);
  EXPECT_FALSE(loader.Next());
}

TEST_P(DataLoaderWorkers, DropAnIncompleteLastBatch) {
  DistDataLoader loader(nullptr, Tens(10), Copy, With({.batch_size = 4, .drop_last = true}));
  EXPECT_EQ(loader.num_batches(), 2);
  EXPECT_EQ(Flat(Epoch(loader, 0)), Tens(8));
  DistDataLoader exact(nullptr, Tens(8), Copy, With({.batch_size = 4, .drop_last = true}));
  EXPECT_EQ(exact.num_batches(), 2);
}

TEST_P(DataLoaderWorkers, ShuffleEachEpochReproducibly) {
  const auto options = With({.batch_size = 7, .shuffle = true, .seed = 5});
  DistDataLoader loader(nullptr, Tens(100), Copy, options);
  DistDataLoader again(nullptr, Tens(100), Copy, options);
  std::set<Ids> orders;
  for (int64_t epoch = 0; epoch < 20; epoch++) {
    Ids order = Flat(Epoch(loader, epoch));
    EXPECT_EQ(order, Flat(Epoch(again, epoch)));
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, Tens(100));
  }
  EXPECT_EQ(orders.size(), 20u);
  EXPECT_EQ(orders.count(Flat(Epoch(loader, 3))), 1u);  // an epoch can be repeated
}

TEST_P(DataLoaderWorkers, DropTheRestOfAnAbandonedEpoch) {
  DistDataLoader loader(nullptr, Tens(100), Copy, With({.batch_size = 10, .queue_size = 4}));
  for (int64_t epoch = 0; epoch < 30; epoch++) {
    loader.StartEpoch(epoch);
    for (int64_t i = 0; i < epoch % 10; i++) EXPECT_EQ(loader.Next()->front(), i * 100);
  }
  EXPECT_EQ(Flat(Epoch(loader, 30)), Tens(100));
}

TEST_P(DataLoaderWorkers, RethrowExceptionsOfCollateAndContinue) {
  DistDataLoader loader(
      nullptr, Tens(50),
      [](std::span<const int64_t> items, const BatchInfo& info) -> Ids {
        if (info.index == 2 && info.epoch == 0) throw std::string("not an exception class");
        return {items.begin(), items.end()};
      },
      With({.batch_size = 10}));
  loader.StartEpoch(0);
  EXPECT_EQ(loader.Next()->front(), 0);
  EXPECT_EQ(loader.Next()->front(), 100);
  EXPECT_THROW(loader.Next(), std::string);
  EXPECT_EQ(loader.Next()->front(), 300);
  EXPECT_EQ(Flat(Epoch(loader, 1)), Tens(50));
}

TEST_P(DataLoaderWorkers, GiveEachBatchItsIndexAndItsOwnSeed) {
  DistDataLoader loader(
      nullptr, Tens(100), [](std::span<const int64_t>, const BatchInfo& info) { return info; },
      With({.batch_size = 10, .shuffle = true, .seed = 1}));
  std::map<uint64_t, int> seeds;
  for (int64_t epoch : {0, 1, 1}) {
    int64_t index = 0;
    for (const BatchInfo& info : Epoch(loader, epoch)) {
      EXPECT_EQ(info.epoch, epoch);
      EXPECT_EQ(info.index, index++);
      seeds[info.seed]++;
    }
  }
  EXPECT_EQ(seeds.size(), 20u);  // 10 batches in each of two epochs, one of which is repeated
  for (const auto& [seed, times] : seeds) EXPECT_LE(times, 2);
}

TEST_P(DataLoaderWorkers, TakeItemsOfAnyKind) {
  using Typed = std::pair<int, int64_t>;
  const std::vector<Typed> items{{0, 5}, {1, 5}, {1, 6}, {2, 0}, {2, 1}};
  DistDataLoader loader(
      nullptr, items,
      [](std::span<const Typed> some, const BatchInfo&) {
        return std::make_unique<std::vector<Typed>>(some.begin(), some.end());
      },
      With({.batch_size = 2, .ordered = false}));
  std::multiset<Typed> seen;
  for (const auto& batch : Epoch(loader, 0)) seen.insert(batch->begin(), batch->end());
  EXPECT_EQ(seen, std::multiset<Typed>(items.begin(), items.end()));
}

TEST_P(DataLoaderWorkers, MakeNoBatchesOfAnEmptyDataset) {
  DistDataLoader loader(nullptr, Ids{}, Copy, With({.shuffle = true}));
  EXPECT_EQ(loader.num_batches(), 0);
  EXPECT_TRUE(Epoch(loader, 0).empty());
  DistDataLoader dropped(nullptr, Tens(3), Copy, With({.batch_size = 4, .drop_last = true}));
  EXPECT_TRUE(Epoch(dropped, 0).empty());
}

TEST_P(DataLoaderWorkers, MayBeMovedInTheMiddleOfAnEpoch) {
  DistDataLoader first(nullptr, Tens(30), Copy, With({.batch_size = 1}));
  first.StartEpoch(0);
  EXPECT_EQ(first.Next(), Ids{0});
  DistDataLoader second = std::move(first);
  for (int64_t i = 1; i < 30; i++) EXPECT_EQ(second.Next(), Ids{i * 10});
  EXPECT_FALSE(second.Next());
}

INSTANTIATE_TEST_SUITE_P(Workers, DataLoaderWorkers, ::testing::Values(0, 1, 4));

TEST(DistDataLoader, HasAsManyWorkersAsTheSessionHasSamplers) {
  ServedGraphFixture files({});
  Options session_options = files.StandaloneOptions();
  session_options.num_samplers = 3;
  auto session = Initialize(session_options);
  std::mutex mutex;
  std::condition_variable all_there;
  std::set<std::thread::id> threads;
  DistDataLoader loader(session, Tens(6),
                        [&](std::span<const int64_t>, const BatchInfo&) {
                          std::unique_lock lock(mutex);
                          threads.insert(std::this_thread::get_id());
                          all_there.notify_all();
                          return all_there.wait_for(lock, std::chrono::seconds(60),
                                                    [&] { return threads.size() >= 3; });
                        },
                        {.batch_size = 1});
  session.reset();  // the loader keeps it alive
  for (bool three : Epoch(loader, 0)) EXPECT_TRUE(three);
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

TEST(DistDataLoader, RejectsOptionsOutOfBoundsAndNextWithoutAnEpoch) {
  for (const DataLoaderOptions& options :
       std::vector<DataLoaderOptions>{{.batch_size = 0},
                                      {.batch_size = -5},
                                      {.num_workers = -2},
                                      {.num_workers = 5000},
                                      {.queue_size = -1},
                                      {.queue_size = int64_t{1} << 50}}) {
    EXPECT_THROW(DistDataLoader(nullptr, Tens(3), Copy, options), Error);
  }
  DistDataLoader loader(nullptr, Tens(3), Copy);
  EXPECT_THROW(loader.Next(), Error);
  DistDataLoader large(nullptr, Tens(3), Copy, DataLoaderOptions{.batch_size = INT64_MAX});
  EXPECT_EQ(Flat(Epoch(large, 0)), Tens(3));
}

}  // namespace
}  // namespace graphd::testing
