// SPDX-License-Identifier: Apache-2.0
#include "store/tensor_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"
#include "tests/support/small_disk.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::store {
namespace {

// Ten users and six edges in two partitions.
std::shared_ptr<const GraphMeta> SmallMeta() {
  GraphMeta meta{"small", Schema({"user"}, {{"user", "knows", "user"}}),
                 PartitionBook(IdMap::FromRanges("node", {{{0, 4}, {4, 10}}}),
                               IdMap::FromRanges("edge", {{{0, 3}, {3, 6}}})),
                 "", 1};
  return std::make_shared<const GraphMeta>(std::move(meta));
}

// Eight users and no ranges: the owner of each is told one by one.
std::shared_ptr<const GraphMeta> MappedMeta() {
  GraphMeta meta{"small", Schema({"user"}, {{"user", "knows", "user"}}),
                 PartitionBook(IdMap::FromOwners("node", {1, 0, 1, 0, 1, 1, 0, 1}, 2),
                               IdMap::FromRanges("edge", {{{0, 3}, {3, 6}}})),
                 "", 1};
  return std::make_shared<const GraphMeta>(std::move(meta));
}

// Ten users as in SmallMeta, of which other partitions own other ones.
std::shared_ptr<const GraphMeta> OtherCutMeta() {
  GraphMeta meta{"small", Schema({"user"}, {{"user", "knows", "user"}}),
                 PartitionBook(IdMap::FromRanges("node", {{{0, 5}, {5, 10}}}),
                               IdMap::FromRanges("edge", {{{0, 3}, {3, 6}}})),
                 "", 1};
  return std::make_shared<const GraphMeta>(std::move(meta));
}

class TensorHostTest : public ::testing::Test {
 protected:
  // Returns a host to which jobs a and b are connected.
  std::unique_ptr<TensorHost> NewHost(double lease = 0.3, double orphan = 0.6) {
    auto host = NewEmptyHost(lease, orphan);
    for (const char* job : {"a", "b"}) host->OnJobJoined(job);
    return host;
  }
  std::unique_ptr<TensorHost> NewEmptyHost(double lease, double orphan) {
    TensorHost::Options options;
    options.store.directory = directory_.path() + "/store";
    options.lease_seconds = lease;
    options.orphan_seconds = orphan;
    return std::make_unique<TensorHost>(SmallMeta(), std::vector<PartId>{1}, std::move(options));
  }
  static TensorSpec Spec(const std::string& name, bool persistent) {
    TensorSpec spec;
    spec.name = name;
    spec.persistent = persistent;
    spec.row_shape = {2};
    return spec;
  }
  static ErrorCode CodeOf(const std::function<void()>& f, std::string* text = nullptr) {
    try {
      f();
    } catch (const Error& error) {
      if (text != nullptr) *text = error.what();
      return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::kInternal;
  }
  graphd::testing::ScratchDirectory directory_;
};

TEST_F(TensorHostTest, AShareHasTheRowsOfItsPartition) {
  auto host = NewHost();
  EXPECT_FALSE(host->status().has_value());  // no tensor, no store
  const auto opened = host->Open({"a", 1}, 1, Spec("x", false), true, false);
  EXPECT_EQ(opened.share.stored_rows, 6);
  EXPECT_EQ(opened.share.info.spec.rows, 10);
  EXPECT_EQ(opened.share.info.job_id, "a");
  EXPECT_FALSE(opened.fill || opened.filling);
  EXPECT_TRUE(host->status().has_value());
  EXPECT_EQ(CodeOf([&] {
              host->Open({"a", 1}, 0, Spec("x", false), true, false);
            }),
            ErrorCode::kNotFound);
}

// The names of this process's threads, as the kernel has them, except for those of RocksDB's pools.
struct Threads {
  std::vector<std::string> names;
  int unnamed = 0;  // those with the name of the thread that has started them, the program's
};

Threads ListThreads() {
  const auto name_of = [](const std::string& task) {
    std::ifstream file(StrCat("/proc/self/", task, "comm"));
    std::string name;
    std::getline(file, name);
    return name;
  };
  const std::string program = name_of("");
  Threads threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = name_of(StrCat("task/", task.path().filename().string(), "/"));
    if (name == program) {
      threads.unnamed++;
    } else if (!name.empty() && !name.starts_with("rocksdb:")) {  // empty: it has just ended
      threads.names.push_back(name);
    }
  }
  return threads;
}

TEST_F(TensorHostTest, EachOfItsThreadsIsWatchedUnderItsName) {
  std::thread([] {}).join();  // ThreadSanitizer's own thread begins with the first one
  const int unnamed = ListThreads().unnamed;
  TensorHost::Options options;
  options.store.directory = directory_.path() + "/store";
  options.store.memory_dir = "/dev/shm";
  options.store.threads = 2;
  TensorHost host(SmallMeta(), std::vector<PartId>{1}, std::move(options));
  host.OnJobJoined("a");
  host.Open({"a", 1}, 1, Spec("x", true), true, false);
  const auto hold = host.store().HoldPushes();
  const std::vector<std::string> watched = {"pushes 0", "pushes 1",     "push log",   "write-back",
                                            "leases",   "table memory", "huge pages", "hold"};
  const auto names_watched = [] {
    std::vector<std::string> names;
    for (const WatchedThread::State& state : WatchedThread::All()) names.push_back(state.name);
    return names;
  };
  // A thread gets its name after it has begun to run.
  const Clock::time_point begin = Clock::now();
  while (
      (names_watched().size() < watched.size() || ListThreads().names.size() != watched.size()) &&
      SecondsSince(begin) < 30) {
    std::this_thread::yield();
  }
  EXPECT_THAT(names_watched(), ::testing::UnorderedElementsAreArray(watched));
  const Threads now = ListThreads();
  EXPECT_THAT(now.names, ::testing::UnorderedElementsAreArray(watched));
  EXPECT_LE(now.unnamed, unnamed + 1) << "only RocksDB's timer has no name";
}

TEST_F(TensorHostTest, AJobGetsTheRowsOfItsVersionOfTheGraph) {
  auto host = NewHost();
  host->Open({"a", 1}, 1, Spec("mine", false), true, false);
  const auto opened = host->Open({"b", 2, MappedMeta()}, 1, Spec("mine", false), true, false);
  EXPECT_EQ(opened.share.stored_rows, 5);
  EXPECT_EQ(opened.share.info.spec.rows, 8);
  const auto share = host->FindToRead("b", opened.share.table);
  EXPECT_EQ(*share->table->row_ids(), (std::vector<int64_t>{0, 2, 4, 5, 7}));
}

TEST_F(TensorHostTest, ATensorWithRowsOfAnotherVersionIsRefusedByName) {
  auto host = NewHost();
  host->Open({"a", 1}, 1, Spec("x", true), true, false);
  for (const auto& meta : {MappedMeta(), OtherCutMeta()}) {
    const TensorHost::Caller caller{"b", 2, meta};
    std::string text;
    EXPECT_EQ(CodeOf([&] { host->Open(caller, 1, Spec("x", true), true, false); }, &text),
              ErrorCode::kInvalid);
    EXPECT_NE(text.find("tensor 'x' does not suit the version"), std::string::npos) << text;
    // It can be opened in order to drop it, and says what is wrong.
    const auto opened = host->Open(caller, 1, Spec("x", true), false, false);
    EXPECT_NE(opened.share.trouble, "");
    EXPECT_NE(host->List("b", meta).at(0).trouble, "");
    EXPECT_NE(host->ListAll(meta).at(0).trouble, "");
  }
  EXPECT_EQ(host->ListAll().at(0).trouble, "");
  // The same rows in another version are the same tensor.
  EXPECT_EQ(host->Open({"b", 2, SmallMeta()}, 1, Spec("x", true), true, false).share.trouble, "");
  host->Drop("b",
             host->Open({"b", 2, OtherCutMeta()}, 1, Spec("x", true), false, false).share.table);
  EXPECT_TRUE(host->ListAll().empty());
}

// After a restart, too, though the share has as many rows in both versions.
TEST_F(TensorHostTest, AStoredShareWithOtherRowsIsNotAdopted) {
  using Ranges = std::vector<std::vector<IdMap::Range>>;
  const auto meta_of = [](const std::vector<std::string>& ntypes, IdMap nodes) {
    const Ranges edges = {{{0, 3}, {3, 6}, {6, 9}}};
    GraphMeta meta{"small", Schema(ntypes, {{"user", "knows", "user"}}),
                   PartitionBook(std::move(nodes), IdMap::FromRanges("edge", edges)), "", 1};
    return std::make_shared<const GraphMeta>(std::move(meta));
  };
  const auto ranges = [](Ranges of) { return IdMap::FromRanges("node", std::move(of)); };
  const auto owners = [](std::vector<int32_t> of) {
    return IdMap::FromOwners("node", std::move(of), 3);
  };
  const Ranges two = {{{0, 2}, {4, 6}, {8, 10}}, {{2, 4}, {6, 8}, {10, 12}}};
  struct Case {
    std::shared_ptr<const GraphMeta> before, after;
    std::string why;  // empty: the same rows
  };
  const std::vector<Case> cases = {
      {meta_of({"user"}, ranges({{{0, 2}, {2, 5}, {5, 9}}})),
       meta_of({"user"}, ranges({{{0, 3}, {3, 6}, {6, 9}}})), "other ids of node type 'user'"},
      {meta_of({"user"}, owners({1, 0, 1, 2})), meta_of({"user"}, owners({0, 1, 1, 2})),
       "other ids of node type 'user'"},
      {meta_of({"user"}, ranges({{{0, 1}, {1, 3}, {3, 4}}})),
       meta_of({"user"}, owners({0, 1, 1, 2})), "other ids of node type 'user'"},
      {meta_of({"user", "item"}, ranges(two)), meta_of({"item", "user"}, ranges(two)),
       "it is of node type 'user'"},
      {meta_of({"user"}, owners({1, 0, 1, 2})), meta_of({"user"}, owners({1, 0, 1, 2})), ""},
      {meta_of({"user", "item"}, ranges(two)), meta_of({"user", "item"}, ranges(two)), ""},
  };
  for (size_t i = 0; i < cases.size(); i++) {
    SCOPED_TRACE(i);
    TensorHost::Options options;
    options.store.directory = StrCat(directory_.path(), "/store", i);
    const auto host_for = [&](const std::shared_ptr<const GraphMeta>& meta) {
      return std::make_unique<TensorHost>(meta, std::vector<PartId>{1}, options);
    };
    host_for(cases[i].before)->Open({"a", 1}, 1, Spec("x", true), true, false);
    {
      const TensorShare found = host_for(cases[i].after)->ListAll().at(0);
      EXPECT_EQ(found.trouble.empty(), cases[i].why.empty()) << found.trouble;
      EXPECT_NE(found.trouble.find(cases[i].why), std::string::npos) << found.trouble;
      EXPECT_EQ(found.of_other_version, !cases[i].why.empty());
    }
    EXPECT_EQ(host_for(cases[i].before)->ListAll().at(0).trouble, "");
  }
}

TEST_F(TensorHostTest, AMismatchNamesTheDifferences) {
  auto host = NewHost();
  host->Open({"a", 1}, 1, Spec("x", true), true, false);
  TensorSpec other = Spec("x", true);
  other.row_shape = {3};
  other.writers = TensorWriters::kMany;
  std::string text;
  EXPECT_EQ(CodeOf(
                [&] {
                  host->Open({"a", 1}, 1, other, true, false);
                },
                &text),
            ErrorCode::kInvalid);
  EXPECT_NE(text.find("[10, 2], not float32 [10, 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("exclusive, not many"), std::string::npos) << text;
}

TEST_F(TensorHostTest, NamesThatJsonCanNotRepresentAreRefused) {
  auto host = NewHost();
  const auto create = [&] { host->Open({"a", 1}, 1, Spec("x\xe7", false), true, false); };
  std::string text;
  EXPECT_EQ(CodeOf(create, &text), ErrorCode::kInvalid);
  EXPECT_NE(text.find("not UTF-8"), std::string::npos) << text;
}

TEST_F(TensorHostTest, JobsDoNotSeeEachOthersTensors) {
  auto host = NewHost();
  const uint32_t mine = host->Open({"a", 1}, 1, Spec("x", false), true, false).share.table;
  const uint32_t other = host->Open({"b", 2}, 1, Spec("x", false), true, false).share.table;
  EXPECT_NE(mine, other);
  EXPECT_EQ(CodeOf([&] { host->FindToRead("b", mine); }), ErrorCode::kNotFound);
  EXPECT_EQ(host->List("a").size(), 1U);
  EXPECT_EQ(host->ListAll().size(), 2U);
  EXPECT_EQ(CodeOf([&] { host->Drop("a", other); }), ErrorCode::kNotFound);
}

TEST_F(TensorHostTest, OneJobWritesAPersistentTensorAtATime) {
  auto host = NewHost();
  const uint32_t table = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  EXPECT_EQ(CodeOf([&] { host->FindToWrite("a", table); }), ErrorCode::kDenied);  // no lease
  host->Lease("a", table, true);
  EXPECT_NO_THROW(host->FindToWrite("a", table));
  std::string text;
  EXPECT_EQ(CodeOf([&] { host->Lease("b", table, true); }, &text), ErrorCode::kDenied);
  EXPECT_NE(text.find("job a writes tensor 'x'"), std::string::npos) << text;
  EXPECT_EQ(CodeOf([&] { host->FindToWrite("b", table); }), ErrorCode::kDenied);
  EXPECT_EQ(CodeOf([&] { host->Drop("b", table); }), ErrorCode::kDenied);
  EXPECT_NO_THROW(host->FindToRead("b", table));
  host->Lease("a", table, false);
  host->Lease("b", table, true);
  EXPECT_EQ(host->ListAll()[0].info.holder, "b");
}

TEST_F(TensorHostTest, ALeaseOutlivesItsJobForSomeSeconds) {
  auto host = NewHost(/*lease=*/0.5, /*orphan=*/100);
  const uint32_t table = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  host->Lease("a", table, true);
  host->OnJobLeft("a");
  EXPECT_EQ(CodeOf([&] { host->Lease("b", table, true); }), ErrorCode::kUnavailable);
  host->OnJobJoined("a");
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_EQ(CodeOf([&] { host->Lease("b", table, true); }), ErrorCode::kDenied);
  host->OnJobLeft("a");
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_NO_THROW(host->Lease("b", table, true));
}

// Pushes wait while a checkpoint is taken. None may be applied after the first push of the next
// writer.
TEST_F(TensorHostTest, ALeaseDoesNotChangeHandsWhilePushesAreUnderWay) {
  auto host = NewHost(/*lease=*/0, /*orphan=*/100);
  const uint32_t table = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  EXPECT_TRUE(host->Lease("a", table, true));
  EXPECT_FALSE(host->Lease("a", table, true));
  const auto share = host->FindToWrite("a", table);
  const std::vector<int64_t> rows = {2};
  const std::vector<float> values = {1, 2};
  Push push;
  push.rule.kind = UpdateKind::kSet;
  push.client = {1, 1};
  push.sequence = 1;
  push.rows = rows;
  push.payload = std::as_bytes(std::span(values));
  auto hold = host->store().HoldPushes();
  std::promise<void> done;
  host->Submit("a", share, push, [&](const Error* error) {
    EXPECT_EQ(error, nullptr);
    done.set_value();
  });
  EXPECT_TRUE(host->Lease("a", table, false));
  EXPECT_EQ(CodeOf([&] { host->Lease("b", table, true); }), ErrorCode::kUnavailable);
  hold.reset();
  done.get_future().get();
  EXPECT_TRUE(host->Lease("b", table, true));
  push.sequence = 2;
  EXPECT_EQ(CodeOf([&] { host->Submit("a", share, push, [](const Error*) {}); }),
            ErrorCode::kDenied);
}

// A job whose lease has ended may push until another job has it. To give it to that job takes time,
// because the disk must have it.
TEST_F(TensorHostTest, NoPushIsUnderWayWhenALeaseHasChangedHands) {
  auto host = NewHost(/*lease=*/0, /*orphan=*/100);
  const uint32_t table = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  const std::vector<int64_t> rows = {2};
  const std::vector<float> values = {1, 2};
  Push push;
  push.rule.kind = UpdateKind::kSet;
  push.client = {1, 1};
  push.rows = rows;
  push.payload = std::as_bytes(std::span(values));
  for (int round = 0; round < 20; round++) {
    host->OnJobJoined("a");
    host->Lease("a", table, true);
    host->OnJobLeft("a");
    std::atomic<bool> is_taken = false, is_refused = false;
    std::atomic<int> late = 0, accepted = 0;
    std::thread writer([&] {
      const auto share = host->FindToRead("a", table);
      try {
        while (true) {
          std::promise<void> done;
          push.sequence++;
          host->Submit("a", share, push, [&](const Error*) {
            if (is_taken) late++;
            done.set_value();
          });
          accepted++;
          done.get_future().get();
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kDenied) << error.what();
        is_refused = true;
      }
    });
    while (accepted < 10 && !is_refused) ::usleep(100);
    while (!is_taken) {
      try {
        is_taken = host->Lease("b", table, true);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
      }
    }
    writer.join();
    ASSERT_EQ(late, 0) << "round " << round;
    host->Lease("b", table, false);
  }
}

TEST_F(TensorHostTest, OneJobCannotCreateAllTables) {
  TensorHost::Options options;
  options.store.directory = directory_.path() + "/store";
  options.max_shares_of_job = 3;
  TensorHost host(SmallMeta(), {1}, std::move(options));
  host.OnJobJoined("a");
  host.OnJobJoined("b");
  for (int i = 0; i < 3; i++) {
    host.Open({"a", 1}, 1, Spec("x" + std::to_string(i), i == 0), true, false);
  }
  std::string text;
  const auto make = [&](const char* job, bool persistent) {
    return host.Open({job, 1}, 1, Spec("y", persistent), true, false).share.table;
  };
  for (const bool persistent : {true, false}) {
    EXPECT_EQ(CodeOf([&] { make("a", persistent); }, &text), ErrorCode::kOverloaded);
    EXPECT_NE(text.find("job a has made 3 tensors"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(host.Open({"a", 1}, 1, Spec("x1", false), true, false));  // it exists already
  EXPECT_NO_THROW(make("b", false));
}

TEST_F(TensorHostTest, TensorsAndLeasesSurviveARestart) {
  uint32_t persistent = 0, own = 0;
  {
    auto host = NewHost();
    persistent = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
    own = host->Open({"a", 1}, 1, Spec("y", false), true, false).share.table;
    host->Lease("a", persistent, true);
    host->PrepareState("a", persistent, OptimizerState::kAdagrad);
  }
  const auto start = Clock::now();
  auto host = NewEmptyHost(/*lease=*/1, /*orphan=*/2);
  EXPECT_NO_THROW(host->FindToWrite("a", persistent));  // it still holds the lease
  EXPECT_NO_THROW(host->FindToRead("a", own));
  EXPECT_EQ(host->Open({"b", 2}, 1, Spec("x", true), false, false).share.info.state,
            OptimizerState::kAdagrad);
  // Job a never comes back.
  while (host->ListAll().size() > 1 && SecondsSince(start) < 30) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_EQ(host->ListAll().size(), 1U);
  EXPECT_GE(SecondsSince(start), 1.5);
  EXPECT_EQ(host->ListAll()[0].info.holder, "");
}

TEST_F(TensorHostTest, TensorsAndLeasesTakenAfterAJobLeftEndToo) {
  auto host = NewHost();
  const uint32_t shared = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  host->OnJobJoined("late");
  host->OnJobLeft("late");
  host->Open({"late", 9}, 1, Spec("y", false), true, false);
  host->Lease("late", shared, true);
  const auto start = Clock::now();
  while (host->ListAll().size() > 1 && SecondsSince(start) < 30) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_EQ(host->ListAll().size(), 1U);
  EXPECT_NO_THROW(host->Lease("a", shared, true));
}

TEST_F(TensorHostTest, ALeaseThatIsTakenWhileItsJobLeavesEndsToo) {
  auto host = NewHost(/*lease=*/0, /*orphan=*/100);
  const uint32_t table = host->Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  for (int i = 0; i < 50; i++) {
    host->OnJobJoined("a");
    std::thread taker([&] { host->Lease("a", table, true); });
    ::usleep(static_cast<useconds_t>(100 * (i % 20)));
    host->OnJobLeft("a");
    taker.join();
    const auto start = Clock::now();
    bool is_taken = false;
    while (!is_taken && SecondsSince(start) < 5) {
      try {
        host->Lease("b", table, true);
        is_taken = true;
      } catch (const Error&) {  // the lease of the other job has not ended yet
      }
      ::usleep(1000);
    }
    ASSERT_TRUE(is_taken) << "round " << i;
    host->Lease("b", table, false);
  }
}

TEST_F(TensorHostTest, ATensorTooLargeForTheMachineIsRejected) {
  auto host = NewHost();
  TensorSpec huge = Spec("x", false);
  huge.policy = TensorPolicy::kRange;
  huge.rows = int64_t{1} << 46;
  huge.row_shape = {};
  huge.dtype = DType::kUInt8;
  EXPECT_EQ(CodeOf([&] { host->Open({"a", 1}, 1, huge, true, false); }), ErrorCode::kOverloaded);
}

TEST_F(TensorHostTest, AnotherCallerFillsWhenTheFirstGivesUp) {
  auto host = NewHost();
  const auto first = host->Open({"a", 1}, 1, Spec("x", false), true, true);
  EXPECT_TRUE(first.fill);
  EXPECT_TRUE(host->Open({"a", 2}, 1, Spec("x", false), true, true).filling);
  EXPECT_EQ(CodeOf([&] { host->Filled({"a", 2}, first.share.table); }), ErrorCode::kDenied);
  host->OnCallerLeft(1);
  EXPECT_TRUE(host->Open({"a", 2}, 1, Spec("x", false), true, true).fill);
  host->GiveUpFilling({"a", 1}, first.share.table);  // it no longer fills the tensor
  EXPECT_TRUE(host->Open({"a", 3}, 1, Spec("x", false), true, true).filling);
  host->GiveUpFilling({"a", 2}, first.share.table);
  EXPECT_TRUE(host->Open({"a", 3}, 1, Spec("x", false), true, true).fill);
  host->OnCallerLeft(3);  // it comes back with another key
  host->Filled({"a", 4}, first.share.table);
  const auto last = host->Open({"a", 3}, 1, Spec("x", false), true, true);
  EXPECT_FALSE(last.fill || last.filling);
}

TEST_F(TensorHostTest, TensorsOfAnotherPartitioningAreKeptButUnusable) {
  TensorHost::Options options;
  options.store.directory = directory_.path() + "/store";
  {
    GraphMeta whole{"small", Schema({"user"}, {{"user", "knows", "user"}}),
                    PartitionBook(IdMap::FromRanges("node", {{{0, 10}}}),
                                  IdMap::FromRanges("edge", {{{0, 6}}})),
                    "", 1};
    TensorHost host(std::make_shared<const GraphMeta>(std::move(whole)), {0}, options);
    host.Open({"a", 1}, 0, Spec("x", true), true, false);
  }
  TensorHost host(SmallMeta(), {0}, options);
  ASSERT_EQ(host.ListAll().size(), 1U);
  EXPECT_NE(host.ListAll()[0].trouble, "");
  EXPECT_EQ(CodeOf([&] { host.FindToRead("a", host.ListAll()[0].table); }), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf([&] {
              host.Open({"a", 1}, 0, Spec("x", true), true, false);
            }),
            ErrorCode::kCorrupt);
  const auto told = host.Open({"a", 1}, 0, Spec("x", true), false, false);
  EXPECT_NE(told.share.trouble, "");
  host.Drop("a", told.share.table);
  EXPECT_NO_THROW(host.Open({"a", 1}, 0, Spec("x", true), true, false));
}

// Otherwise pushes to it would be acknowledged and lost.
TEST_F(TensorHostTest, ATensorWhoseRemovalIsNotOnTheDiskIsGone) {
  const graphd::testing::SmallDisk disk(64);
  TensorHost::Options options;
  options.store.directory = disk / "store";
  TensorHost host(SmallMeta(), std::vector<PartId>{1}, std::move(options));
  host.OnJobJoined("a");
  const uint32_t table = host.Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  disk.Fill();
  std::string why;
  EXPECT_EQ(CodeOf([&] { host.Drop("a", table); }, &why), ErrorCode::kOverloaded);
  EXPECT_THAT(why, ::testing::HasSubstr("was dropped, but"));
  disk.MakeRoom();
  EXPECT_TRUE(host.ListAll().empty());
  EXPECT_EQ(CodeOf([&] { host.FindToWrite("a", table); }), ErrorCode::kNotFound);
}

TEST_F(TensorHostTest, ALeaseThatAFullDiskRefusesStaysWithItsJob) {
  const graphd::testing::SmallDisk disk(64);
  TensorHost::Options options;
  options.store.directory = disk / "store";
  options.lease_seconds = 0;
  TensorHost host(SmallMeta(), std::vector<PartId>{1}, std::move(options));
  for (const char* job : {"a", "b"}) host.OnJobJoined(job);
  const uint32_t table = host.Open({"a", 1}, 1, Spec("x", true), true, false).share.table;
  EXPECT_TRUE(host.Lease("a", table, true));
  disk.Fill();
  EXPECT_EQ(CodeOf([&] { host.Lease("a", table, false); }), ErrorCode::kOverloaded);
  EXPECT_EQ(host.ListAll()[0].info.holder, "a");
  EXPECT_NO_THROW(host.FindToWrite("a", table));
  disk.MakeRoom();
  const auto start = Clock::now();
  bool is_free = false;
  while (!is_free && SecondsSince(start) < 30) {
    try {
      is_free = host.Lease("a", table, false);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
      ::usleep(10'000);
    }
  }
  EXPECT_TRUE(host.Lease("b", table, true));
}

}  // namespace
}  // namespace graphd::store
