// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include "base/strings.h"
#include "wire/connection.h"

namespace graphd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A registry that notes what its observer is told.
class JobRegistryTest : public ::testing::Test, public JobRegistry::Observer {
 public:
  void OnJobJoined(const std::string& job) override { told_.push_back("joined " + job); }
  void OnJobLeft(const std::string& job) override { told_.push_back("left " + job); }
  void OnJobEnded(const std::string& job) override { told_.push_back("ended " + job); }
  void TrainerLeft(const std::string&, int) override {}
  void OnAttemptBegun(const std::string& job, uint32_t attempt) override {
    told_.push_back("attempt " + std::to_string(attempt) + " of " + job);
  }

 protected:
  std::unique_ptr<JobRegistry::Membership> Join(const std::string& job, int rank = 0,
                                                int world_size = 1,
                                                std::function<void()> on_end = {},
                                                uint32_t attempt = 0) {
    JobMember member;
    member.attempt = attempt;
    member.job_id = job;
    member.rank = rank;
    member.world_size = world_size;
    return registry_.Join(member, {true, 1, 1000, {}, "unix"}, std::move(on_end));
  }
  // Joins and leaves at once. Returns what that threw.
  std::string Refusal(const std::string& job, int rank = 0, int world_size = 1) {
    try {
      Join(job, rank, world_size);
      return "no error";
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
  }

  std::vector<std::string> told_;
  JobRegistry registry_{false, [] {}, this};
};

TEST_F(JobRegistryTest, RefusesOnlyNewJobsWhileItIsDrained) {
  const auto running = Join("running", 0, 2);
  Join("just-left");
  EXPECT_TRUE(registry_.SetDrained(DrainStatus{"alice@host-1 (uid 1000)", "new disks"}));
  EXPECT_THAT(Refusal("late"),
              AllOf(StartsWith("denied: this server takes no new jobs: alice@host-1 (uid 1000)"),
                    HasSubstr("(new disks)"), HasSubstr("graphctl server undrain")));
  EXPECT_THAT(Refusal(""), StartsWith("denied: "));  // a job without a name is new
  EXPECT_NO_THROW(Join("running", 1, 2));
  EXPECT_EQ(Refusal("just-left"), "no error");
  EXPECT_EQ(Refusal("graphctl-checkpoint-123"), "no error");
  EXPECT_EQ(registry_.drained().value().by, "alice@host-1 (uid 1000)");
  EXPECT_TRUE(registry_.SetDrained(std::nullopt));
  EXPECT_EQ(registry_.drained(), std::nullopt);
  EXPECT_EQ(Refusal("late"), "no error");
}

TEST_F(JobRegistryTest, AJobWithoutANameGetsOneThatNobodyHas) {
  std::vector<std::unique_ptr<JobRegistry::Membership>> others;
  // Each job takes two numbers, so that the jobs below would get names from 121 on.
  for (int i = 130; i < 150; i++) others.push_back(Join(StrCat("anonymous-", i)));
  for (int i = 150; i < 170; i++) Join(StrCat("anonymous-", i));  // these are remembered
  for (int i = 170; i < 190; i++) {
    Join(StrCat("anonymous-", i));
    registry_.End(StrCat("anonymous-", i), "an operator has ended it");
  }
  JobMember member;
  member.world_size = 1;
  for (int i = 0; i < 40; i++) {
    // Another user than that of the jobs above.
    others.push_back(registry_.Join(member, {true, 1, 2000, {}, "unix"}, {}));
  }
  EXPECT_EQ(registry_.num_jobs(), 60u);
}

TEST_F(JobRegistryTest, RefusesMoreMembersOfAJobThanThereMayBe) {
  JobMember member;
  member.job_id = "crowd";
  member.role = JobRole::kBulk;
  member.world_size = JobRegistry::kMaxWorldSize;
  std::vector<std::unique_ptr<JobRegistry::Membership>> crowd;
  const auto join = [&] {
    crowd.push_back(registry_.Join(member, {true, 1, 1000, {}, "unix"}, {}));
  };
  for (size_t i = 0; i < JobRegistry::kMaxMembers; i++) join();
  try {
    join();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_STREQ(error.what(), "job crowd has 196608 members already");
  }
  crowd.pop_back();
  join();
  EXPECT_EQ(Refusal("another"), "no error");
}

TEST_F(JobRegistryTest, SaysWhetherADrainChangesAnything) {
  EXPECT_FALSE(registry_.SetDrained(std::nullopt));
  EXPECT_TRUE(registry_.SetDrained(DrainStatus{"alice", "disks"}));
  EXPECT_FALSE(registry_.SetDrained(DrainStatus{"alice", "disks"}));
  EXPECT_TRUE(registry_.SetDrained(DrainStatus{"bob", "disks"}));
  EXPECT_EQ(registry_.drained().value().by, "bob");
}

TEST_F(JobRegistryTest, AddsTheMappedReadsOfAJobWithoutBeginningAgain) {
  const auto member = Join("day", 0, 2), second = Join("day", 1, 2), other = Join("night");
  member->CountMapped({1, 20, 300, 4000});
  second->CountMapped({1, 1, 1, 1});
  MappedReads reads = registry_.Jobs()[0].mapped_reads;
  EXPECT_EQ(reads.calls, 2U);
  EXPECT_EQ(reads.rows, 21U);
  EXPECT_EQ(reads.bytes, 301U);
  EXPECT_EQ(reads.edges, 4001U);
  for (int i = 0; i < 1000; i++) member->CountMapped({0, 0, kMostToldReads.bytes, 0});
  reads = registry_.Jobs()[0].mapped_reads;
  EXPECT_EQ(reads.bytes, uint64_t{1} << 59);
  EXPECT_EQ(reads.rows, 21U);
  EXPECT_EQ(registry_.Jobs()[1].mapped_reads.calls, 0U);
}

TEST_F(JobRegistryTest, CountsWhatIsDoneForAJobUntilItHasLeft) {
  auto member = Join("day", 0, 2);
  const auto second = Join("day", 1, 2), other = Join("night");
  member->counters()->requests += 2;
  second->counters()->requests += 3;
  second->counters()->rows_served += 40;
  const std::shared_ptr<JobCounters> kept = member->counters();
  member.reset();
  kept->requests++;  // by a request whose client has gone
  EXPECT_EQ(registry_.Jobs()[0].requests, 6U);
  EXPECT_EQ(registry_.Jobs()[0].rows_served, 40U);
  EXPECT_EQ(registry_.Jobs()[1].requests, 0U);
}

TEST_F(JobRegistryTest, ReportsALaterAttemptOnceAndRefusesTrainersOfEarlierOnes) {
  int ended = 0;
  auto outdated = Join(
      "night", 0, 2, [&] { ended++; }, 1);
  told_.clear();
  const auto first = Join("night", 0, 3, {}, 2), second = Join("night", 1, 3, {}, 2);
  EXPECT_THAT(told_, ElementsAre("attempt 2 of night"));
  EXPECT_EQ(ended, 1);
  EXPECT_THROW(Join("night", 1, 2, {}, 1), Error);
  outdated = nullptr;
  EXPECT_THAT(told_, ElementsAre("attempt 2 of night"));
}

// The registry keeps which ranks have left, so the number of ranks has a bound.
TEST_F(JobRegistryTest, RefusesWorldsThatAreTooLarge) {
  constexpr int kMost = JobRegistry::kMaxWorldSize;
  EXPECT_EQ(Refusal("large", kMost - 1, kMost), "no error");
  EXPECT_THAT(Refusal("larger", kMost, kMost + 1),
              HasSubstr("invalid: the job has 65537 trainers; expected 1 to 65536"));
}

TEST_F(JobRegistryTest, BarriersFailWhileATrainerThatHasLeftIsAway) {
  auto io = kj::setupAsyncIo();
  kj::Timer& timer = io.provider->getTimer();
  const auto wait = [&](JobRegistry::Membership& member) -> std::string {
    try {
      member.Barrier(timer, std::chrono::milliseconds(1)).wait(io.waitScope);
      return "no error";
    } catch (const Error& error) {
      return error.what();
    } catch (const kj::Exception& exception) {
      return FromKj(exception, "peer").what();
    }
  };
  const auto first = Join("job", 0, 3);
  for (const int rank : {2, 1, 2}) Join("job", rank, 3);
  EXPECT_EQ(wait(*first), "barrier: trainer 1 has left the job");
  const auto second = Join("job", 1, 3);
  EXPECT_EQ(wait(*first), "barrier: trainer 2 has left the job");
  const auto third = Join("job", 2, 3);
  EXPECT_THAT(wait(*first), StartsWith("barrier: ranks 1, 2 did not come within 1 ms"));
}

// Trainers that enter barriers and lose answers.
class LostAnswers : public JobRegistryTest {
 public:
  ~LostAnswers() noexcept override = default;

 protected:
  using Entered = kj::Promise<uint64_t>;

  Entered Enter(const std::unique_ptr<JobRegistry::Membership>& member, BarrierEntry entry) {
    return member->Barrier(io_.provider->getTimer(), std::chrono::milliseconds(0), entry);
  }
  bool Waits(Entered& promise) { return !promise.poll(io_.waitScope); }
  uint64_t Number(Entered promise) {
    if (Waits(promise)) return 0;
    return promise.wait(io_.waitScope);
  }

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
};

TEST_F(LostAnswers, ATrainerThatEntersAgainPassesAtOnce) {
  auto a = Join("job", 0, 2);
  const auto b = Join("job", 1, 2);
  {
    auto lost = Enter(a, {.id = 7});
    EXPECT_EQ(Number(Enter(b, {.id = 90})), 1U);
  }
  a.reset();
  a = Join("job", 0, 2);
  auto next = Enter(b, {.id = 91, .passed = 1});
  EXPECT_EQ(Number(Enter(a, {.id = 7})), 1U);
  EXPECT_TRUE(Waits(next));
  EXPECT_EQ(Number(Enter(a, {.id = 8, .passed = 1})), 2U);
  EXPECT_EQ(Number(kj::mv(next)), 2U);
}

TEST_F(LostAnswers, ATrainerThatEntersAgainPassesAlsoIfAnotherHasLeft) {
  const auto a = Join("job", 0, 2);
  auto b = Join("job", 1, 2);
  {
    auto lost = Enter(a, {.id = 7});
    EXPECT_EQ(Number(Enter(b, {.id = 90})), 1U);
  }
  b.reset();
  EXPECT_EQ(Number(Enter(a, {.id = 7})), 1U);
  EXPECT_THROW(Enter(a, {.id = 8, .passed = 1}), Error);
}

// The registry is that of a daemon which has restarted, and knows no earlier barrier.
TEST_F(LostAnswers, AfterARestartTrainersOfALaterBarrierLetOthersPass) {
  const auto a = Join("job", 0, 3), b = Join("job", 1, 3), c = Join("job", 2, 3);
  auto waits = Enter(a, {.id = 7, .passed = 4});
  EXPECT_TRUE(Waits(waits));
  auto next = Enter(b, {.id = 90, .passed = 5});
  EXPECT_EQ(Number(kj::mv(waits)), 5U);
  EXPECT_EQ(Number(Enter(c, {.id = 50, .passed = 4})), 5U);
  EXPECT_TRUE(Waits(next));
  auto last = Enter(a, {.id = 8, .passed = 5});
  EXPECT_TRUE(Waits(last));
  EXPECT_EQ(Number(Enter(c, {.id = 51, .passed = 5})), 6U);
  EXPECT_EQ(Number(kj::mv(next)), 6U);
  EXPECT_EQ(Number(kj::mv(last)), 6U);
}

TEST_F(LostAnswers, OthersPassAlsoIfTheTrainerOfALaterBarrierIsRefused) {
  const auto a = Join("job", 0, 3), b = Join("job", 1, 3);
  auto waits = Enter(a, {.id = 7, .passed = 4});
  const auto next = Enter(b, {.id = 90});
  EXPECT_THROW(Enter(b, {.id = 91, .passed = 5}), Error);
  EXPECT_EQ(Number(kj::mv(waits)), 5U);
}

TEST_F(LostAnswers, ATrainerThatAttachesAnewWaitsForTheOthers) {
  auto a = Join("job", 0, 2);
  const auto b = Join("job", 1, 2);
  auto first = Enter(a, {.id = 7});
  EXPECT_EQ(Number(Enter(b, {.id = 90})), 1U);
  a.reset();
  a = Join("job", 0, 2);
  auto anew = Enter(a, {.id = 1000});
  EXPECT_TRUE(Waits(anew));
  EXPECT_EQ(Number(Enter(b, {.id = 91, .passed = 1})), 2U);
  EXPECT_EQ(Number(kj::mv(anew)), 2U);
}

TEST_F(LostAnswers, ClientsOfEarlierVersionsWaitForEachOther) {
  const auto a = Join("job", 0, 2), b = Join("job", 1, 2);
  for (uint64_t number = 1; number <= 3; number++) {
    auto waits = Enter(a, {});
    EXPECT_TRUE(Waits(waits));
    EXPECT_EQ(Number(Enter(b, {})), number);
    EXPECT_EQ(Number(kj::mv(waits)), number);
  }
}

TEST_F(JobRegistryTest, EndsAJobAndRefusesItAfterwards) {
  int ended = 0, other_ended = 0;
  auto first = Join("night", 0, 2, [&] { ended++; });
  auto second = Join("night", 1, 2, [&] { ended++; });
  const auto other = Join("day", 0, 1, [&] { other_ended++; });
  EXPECT_EQ(registry_.End("night", "job night was ended by alice"), 2U);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(other_ended, 0);
  first = nullptr;
  second = nullptr;
  EXPECT_THAT(told_, ElementsAre("joined night", "joined day", "left night", "ended night"));
  EXPECT_THAT(Refusal("night"), AllOf(StartsWith("denied: job night was ended by alice"),
                                      HasSubstr("start it as a new job")));
  EXPECT_EQ(registry_.num_jobs(), 1U);
}

TEST_F(JobRegistryTest, FailsTheBarriersOfAJobThatIsEnded) {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  const auto member = Join("night", 0, 2);
  auto barrier = member->Barrier(io.provider->getTimer(), std::chrono::milliseconds(0));
  registry_.End("night", "job night was ended by alice");
  try {
    barrier.wait(io.waitScope);
    ADD_FAILURE() << "the barrier was passed";
  } catch (const kj::Exception& exception) {
    const Error error = FromKj(exception, "barrier");
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_THAT(error.what(), HasSubstr("ended by alice"));
  }
}

TEST_F(JobRegistryTest, NamesTheJobsThatThereAreIfTheOneToEndIsUnknown) {
  const auto member = Join("day");
  try {
    registry_.End("night", "why");
    ADD_FAILURE() << "an unknown job was ended";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("no job 'night'"), HasSubstr("it has: day")));
  }
}

TEST_F(JobRegistryTest, EndsAJobThatHasJustLeft) {
  Join("gone");
  told_.clear();
  EXPECT_EQ(registry_.End("gone", "an operator has ended job gone"), 0u);
  EXPECT_THAT(told_, ElementsAre("ended gone"));
  EXPECT_THAT(Refusal("gone"), StartsWith("denied: an operator has ended job gone"));
}

}  // namespace
}  // namespace graphd
