// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_board.h"

#include <capnp/any.h>
#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>

#include "base/strings.h"
#include "daemon/requests/job_registry.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Peer UserWith(uid_t uid) {
  Peer peer;
  peer.uid = uid;
  peer.text = "unix";
  return peer;
}

JobRecord RecordOf(const std::string& job, uint32_t host, uint64_t sequence,
                   JobPhase phase = JobPhase::kRunning) {
  JobRecord record{job, "train", 2, 1, 0, {}};
  JobHost said;
  said.host = host;
  said.sequence = sequence;
  said.phase = phase;
  record.hosts = {said};
  return record;
}

template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
    return "no error";
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
}

TEST(JobBoard, HostsLearnFromOneAnother) {
  JobBoard board;
  EXPECT_EQ(board.Report(RecordOf("a", 0, 1), "s", UserWith(1)).size(), 1u);
  const auto hosts = board.Report(RecordOf("a", 1, 1, JobPhase::kFailed), "s", UserWith(1));
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[1].phase, JobPhase::kFailed);
  // A report without news asks only.
  JobRecord question = RecordOf("a", 0, 1);
  question.hosts.clear();
  EXPECT_EQ(board.Report(question, "s", UserWith(1)).size(), 2u);
}

TEST(JobBoard, AnEarlierReportDoesNotReplaceALaterOne) {
  JobBoard board;
  board.Report(RecordOf("a", 0, 5, JobPhase::kOver), "s", UserWith(1));
  const auto hosts = board.Report(RecordOf("a", 0, 4, JobPhase::kRunning), "s", UserWith(1));
  EXPECT_EQ(hosts[0].phase, JobPhase::kOver);
}

TEST(JobBoard, TellsOfReportsWithNewsOnly) {
  JobBoard board;
  int changes = 0;
  board.SetOnChange([&changes] { changes++; });
  const auto report = [&](uint32_t host, uint64_t sequence, JobPhase phase) {
    const int before = changes;
    board.Report(RecordOf("a", host, sequence, phase), "s", UserWith(1));
    return changes > before;
  };
  EXPECT_TRUE(report(0, 1, JobPhase::kRunning));
  for (uint64_t sequence = 1; sequence < 10; sequence++) {
    EXPECT_FALSE(report(0, sequence, JobPhase::kRunning));
  }
  EXPECT_FALSE(report(0, 5, JobPhase::kOver));  // it is older
  EXPECT_TRUE(report(0, 10, JobPhase::kOver));
  EXPECT_TRUE(report(1, 1, JobPhase::kOver));
}

TEST(JobBoard, RestoresAllJobsOrNone) {
  JobBoard before;
  before.Report(RecordOf("a", 0, 1, JobPhase::kOver), "s", UserWith(1));
  before.Report(RecordOf("b", 1, 1), "", UserWith(2));
  std::vector<JobBoard::Kept> jobs = before.Jobs();
  jobs[0].reported_at -= 3600;
  jobs[1].reported_at += 3600;  // the clock was set back
  JobBoard board;
  board.Restore(jobs);
  const std::vector<JobRecord> records = board.Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].hosts[0].phase, JobPhase::kOver);
  EXPECT_NEAR(records[0].silent_seconds, 3600, 60);
  EXPECT_NEAR(records[1].silent_seconds, 0, 60);
  jobs.push_back(jobs[0]);
  JobBoard twice;
  EXPECT_THAT(ErrorOf([&] { twice.Restore(jobs); }), HasSubstr("job a is there twice"));
  EXPECT_THAT(twice.Records(), IsEmpty());
  jobs.back().record = RecordOf("c", 2, 1);
  EXPECT_THAT(ErrorOf([&] { twice.Restore(jobs); }), HasSubstr("host 2 of 2"));
  EXPECT_THAT(twice.Records(), IsEmpty());
}

TEST(JobBoard, OnlyWhoKnowsTheSecretReports) {
  JobBoard board;
  board.Report(RecordOf("a", 0, 1), "s", UserWith(1));
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf("a", 0, 2), "t", UserWith(1)); }),
              HasSubstr("denied: job a has another secret or another user"));
  // A process that knows it is of the job, by any connection.
  board.Report(RecordOf("a", 1, 2), "s", UserWith(2));
  board.Report(RecordOf("b", 0, 1), "", UserWith(1));
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf("b", 0, 2), "", UserWith(2)); }),
              HasSubstr("denied: "));
}

TEST(JobBoard, RefusesReportsThatCanNotBe) {
  JobBoard board;
  const Peer user = UserWith(1);
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf("", 0, 1), "", user); }), HasSubstr("invalid: "));
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf(std::string(257, 'a'), 0, 1), "", user); }),
              HasSubstr("this id has 257 bytes"));
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf("a", 2, 1), "", user); }),
              HasSubstr("host 2 of 2"));
  JobRecord many = RecordOf("a", 0, 1);
  many.num_hosts = JobBoard::kMaxHosts + 1;
  EXPECT_THAT(ErrorOf([&] { board.Report(many, "", user); }), HasSubstr("1 to 1024"));
  EXPECT_THAT(ErrorOf([&] {
                board.Report(RecordOf("a", 0, 1), std::string(JobRegistry::kMaxSecret + 1, 's'),
                             user);
              }),
              HasSubstr("the job's secret has 257 bytes"));
  board.Report(RecordOf("a", 0, 1), "", user);
  JobRecord other = RecordOf("a", 0, 2);
  other.num_hosts = 3;
  EXPECT_THAT(ErrorOf([&] { board.Report(other, "", user); }),
              HasSubstr("job a is on 2 hosts, but a report says 3"));
}

TEST(JobBoard, TruncatesTextsBetweenCharacters) {
  JobBoard board;
  JobRecord record = RecordOf("a", 0, 1);
  record.hosts[0].reason = std::string(JobBoard::kMaxReason - 1, 'x') + "é";
  record.hosts[0].name = std::string(1000, 'n');
  const auto hosts = board.Report(record, "", UserWith(1));
  EXPECT_EQ(hosts[0].reason, std::string(JobBoard::kMaxReason - 1, 'x'));
  EXPECT_EQ(hosts[0].name.size(), JobBoard::kMaxName);
}

TEST(JobBoard, AUserWithManyJobsDisplacesNoOtherUsers) {
  JobBoard board;
  board.Report(RecordOf("theirs", 0, 1), "s", UserWith(2));
  for (size_t i = 0; i < JobBoard::kMaxJobs; i++) {
    board.Report(RecordOf(StrCat("job-", i), 0, 1), "s", UserWith(1));
  }
  EXPECT_THAT(
      ErrorOf([&] { board.Report(RecordOf("more", 0, 1), "s", UserWith(1)); }),
      HasSubstr("overloaded: this graphd keeps the records of at most 64 jobs of this user"));
  board.Report(RecordOf("job-0", 1, 1), "s", UserWith(1));  // known jobs go on
  EXPECT_EQ(board.Records().size(), JobBoard::kMaxJobs + 1);
}

TEST(JobBoard, BoundsTheHostsOfAUserAndOfAll) {
  JobBoard board;
  const auto large = [](const std::string& job) {
    JobRecord record = RecordOf(job, 0, 1);
    record.num_hosts = JobBoard::kMaxHosts;
    return record;
  };
  for (uid_t user = 1; user <= 4; user++) {
    board.Report(large(StrCat("a-", user)), "s", UserWith(user));
    board.Report(large(StrCat("b-", user)), "s", UserWith(user));
  }
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf("more", 0, 1), "s", UserWith(1)); }),
              HasSubstr("overloaded: this graphd keeps the records of at most this user's jobs on "
                        "2048 hosts"));
  EXPECT_THAT(ErrorOf([&] { board.Report(RecordOf("more", 0, 1), "s", UserWith(5)); }),
              HasSubstr("at most jobs on 8192 hosts"));
  board.Report(large("a-1"), "s", UserWith(1));  // known jobs go on
  EXPECT_EQ(board.Records().size(), 8u);
}

TEST(JobBoard, KeepsNoTextThatATerminalWouldObey) {
  JobBoard board;
  JobRecord record = RecordOf("a", 0, 1);
  record.command = "train\x1b[2J\n\x7f é";
  record.hosts[0].name = "host\xff";
  record.hosts[0].reason = "a\tb";
  const auto hosts = board.Report(record, "", UserWith(1));
  EXPECT_EQ(board.Records()[0].command, "train?[2J?? é");
  EXPECT_EQ(hosts[0].name, "?");
  EXPECT_EQ(hosts[0].reason, "a?b");
}

// The memory that this process has allocated; 0 with a sanitizer, which allocates in its own way.
size_t AllocatedBytes() {
  const auto use = ::mallinfo2();
  return use.uordblks + use.hblkhd;
}

TEST(JobBoard, KeepsNoMemoryOfLongTextsThatItReplaces) {
  JobBoard board;
  const size_t before = AllocatedBytes();
  JobRecord record = RecordOf("a", 0, 1);
  record.hosts[0].reason = std::string(size_t{8} << 20, '\x80');
  record.command = record.hosts[0].reason;
  EXPECT_EQ(board.Report(std::move(record), "", UserWith(1))[0].reason, "?");
  EXPECT_LT(AllocatedBytes(), before + (size_t{1} << 20));
}

// A message can have a text once, with pointers of all hosts to it.
TEST(JobReports, CopyLittleOfWhatAllHostsOfAMessageShare) {
  constexpr uint32_t kHosts = 200;
  constexpr kj::uint kReason = 1;  // the number of its pointer in JobHost
  std::vector<uint64_t> shared(size_t{1} << 17, 0x7878787878787878);  // 1 MiB of 'x'
  shared.back() = 0;
  const capnp::Data::Reader bytes(reinterpret_cast<const kj::byte*>(shared.data()),
                                  shared.size() * 8);
  capnp::MallocMessageBuilder message;
  const auto adopt = [&](wire::JobHost::Builder host) {
    auto pointers = capnp::AnyStruct::Builder(kj::mv(host)).getPointerSection();
    pointers[kReason].adopt(message.getOrphanage().referenceExternalData(bytes));
  };
  auto written = message.initRoot<wire::JobRecord>();
  written.setJobId("a");
  auto hosts = written.initHosts(kHosts);
  for (auto host : hosts) adopt(host);
  const JobRecord record = ReadRecord(written.asReader());
  ASSERT_EQ(record.hosts.size(), kHosts);
  for (const JobHost& host : record.hosts) {
    ASSERT_EQ(host.reason.size(), JobBoard::kMaxReason);
    ASSERT_LT(host.reason.capacity(), 2 * JobBoard::kMaxReason);
  }

  hosts[0].initAway(JobBoard::kMaxHosts + 1);
  EXPECT_THAT(ErrorOf([&] { ReadRecord(written.asReader()); }),
              HasSubstr("invalid: a report of a job has 1025 hosts that are away"));
  hosts[0].initAway(0);
  hosts[0].initTrainers(JobBoard::kMaxSlots + 1);
  EXPECT_THAT(ErrorOf([&] { ReadRecord(written.asReader()); }),
              HasSubstr("invalid: a report of a job has 4097 numbers of trainers"));
  written.initHosts(JobBoard::kMaxHosts + 1);
  EXPECT_THAT(ErrorOf([&] { ReadRecord(written.asReader()); }),
              HasSubstr("invalid: a report of a job has 1025 hosts"));
  written.setJobId(std::string(257, 'a'));
  written.initHosts(0);
  EXPECT_THAT(ErrorOf([&] { ReadRecord(written.asReader()); }),
              HasSubstr("invalid: the job id has 257 bytes"));
}

TEST(JobReports, HaveTimesThatCanBe) {
  const auto read = [](double grace, double ended_at) {
    return ErrorOf([&] {
      capnp::MallocMessageBuilder message;
      auto host = message.initRoot<wire::JobHost>();
      host.setGrace(grace);
      host.setEndedAt(ended_at);
      ReadHost(host.asReader());
    });
  };
  EXPECT_EQ(read(86400, 1.7e9), "no error");
  for (const double grace : {-1.0, 86401.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(read(grace, 0), HasSubstr("invalid: ")) << grace;
  }
  EXPECT_THAT(read(0, std::nan("")), HasSubstr("invalid: "));
  EXPECT_THAT(read(0, -HUGE_VAL), HasSubstr("invalid: "));
}

TEST(JobReports, KeepThePlanOfTheFirstHost) {
  capnp::MallocMessageBuilder message;
  JobHost said;
  said.trainers = {3, 0};
  said.away = {1};
  said.uncounted = 2;
  WriteHost(said, message.initRoot<wire::JobHost>());
  const JobHost read = ReadHost(message.getRoot<wire::JobHost>());
  EXPECT_THAT(read.trainers, ElementsAre(3u, 0u));
  EXPECT_THAT(read.away, ElementsAre(1u));
  EXPECT_EQ(read.uncounted, 2u);
}

TEST(JobBoard, APlanIsTheFirstHostsAndFitsTheJob) {
  JobBoard board;
  const auto report = [&](uint32_t host, size_t slots, std::vector<uint32_t> away) {
    JobRecord record = RecordOf("a", host, 1);
    record.hosts[0].trainers.assign(slots, 1);
    record.hosts[0].away = std::move(away);
    return ErrorOf([&] { board.Report(record, "s", UserWith(1)); });
  };
  EXPECT_EQ(report(0, JobBoard::kMaxSlots, {1}), "no error");
  EXPECT_THAT(report(1, 2, {}), HasSubstr("has a plan of host 1"));
  EXPECT_THAT(report(1, 0, {0}), HasSubstr("has a plan of host 1"));
  EXPECT_THAT(report(0, JobBoard::kMaxSlots + 1, {}), HasSubstr("invalid: "));
  EXPECT_THAT(report(0, 2, {1, 1, 1}), HasSubstr("without 3 hosts"));
}

TEST(JobReports, NeedTheSecretOfAnAttachedOrRememberedJob) {
  JobRegistry jobs(false, [] {});
  const auto check = [&](const std::string& secret, uid_t uid) {
    return ErrorOf([&] { jobs.CheckReport("job", secret, UserWith(uid)); });
  };
  EXPECT_EQ(check("stolen", 2), "unavailable: job job is not attached to this graphd yet");
  auto launcher = jobs.Join({"job", JobRole::kLauncher, 0, 2, "", "secret"}, UserWith(1));
  EXPECT_EQ(check("secret", 2), "no error");
  EXPECT_THAT(check("stolen", 1), HasSubstr("denied: job job has another secret or another user"));
  EXPECT_THAT(check(std::string(JobRegistry::kMaxSecret + 1, 's'), 1), HasSubstr("has 257 bytes"));
  launcher.reset();  // it has left, and is remembered
  EXPECT_EQ(check("secret", 1), "no error");
  EXPECT_THAT(check("stolen", 1), HasSubstr("denied: "));
}

Peer Unix() { return UserWith(1); }

JobMember Trainer(int rank, uint32_t attempt) {
  JobMember member{"job", JobRole::kTrainer, rank, 2, "", "secret"};
  member.attempt = attempt;
  return member;
}

TEST(JobAttempts, ALaterAttemptForgetsTheOneBefore) {
  JobRegistry jobs(false, [] {});
  const auto launcher = jobs.Join({"job", JobRole::kLauncher, 0, 2, "", "secret"}, Unix());
  auto old = jobs.Join(Trainer(0, 0), Unix());
  EXPECT_THAT(ErrorOf([&] { jobs.Join(Trainer(0, 0), Unix()); }), HasSubstr("exists: "));
  // The daemon may not have noticed yet that the killed trainer has gone.
  const auto next = jobs.Join(Trainer(0, 1), Unix());
  old.reset();
  EXPECT_THAT(ErrorOf([&] { jobs.Join(Trainer(1, 0), Unix()); }),
              HasSubstr("denied: job job was started again (attempt 1), and this trainer is of "
                        "attempt 0"));
  const auto other = jobs.Join(Trainer(1, 1), Unix());
  EXPECT_EQ(jobs.Jobs()[0].members.size(), 3u);
}

TEST(JobAttempts, ALaterAttemptEndsTheConnectionsOfEarlierOnes) {
  JobRegistry jobs(false, [] {});
  std::vector<std::string> ended;
  const auto note = [&ended](const char* who) {
    return [&ended, who] { ended.emplace_back(who); };
  };
  const auto launcher =
      jobs.Join({"job", JobRole::kLauncher, 0, 2, "", "secret"}, Unix(), note("launcher"));
  const auto first = jobs.Join(Trainer(0, 0), Unix(), note("old 0"));
  const auto second = jobs.Join(Trainer(1, 0), Unix(), note("old 1"));
  EXPECT_THAT(ended, IsEmpty());
  const auto next = jobs.Join(Trainer(1, 1), Unix(), note("new 1"));
  EXPECT_THAT(ended, UnorderedElementsAre("old 0", "old 1"));
  // Each end is reported once.
  const auto other = jobs.Join(Trainer(0, 1), Unix(), note("new 0"));
  EXPECT_EQ(ended.size(), 2u);
}

TEST(JobAttempts, ALaterAttemptMayHaveAnotherNumberOfTrainers) {
  JobRegistry jobs(false, [] {});
  const auto old = jobs.Join(Trainer(1, 0), Unix());
  JobMember member = Trainer(2, 1);
  EXPECT_THAT(ErrorOf([&] { jobs.Join(member, Unix()); }), HasSubstr("rank 2 is outside"));
  member.world_size = 3;
  const auto next = jobs.Join(member, Unix());
  EXPECT_EQ(jobs.Jobs()[0].world_size, 3);
  EXPECT_THAT(ErrorOf([&] { jobs.Join(Trainer(1, 1), Unix()); }),
              HasSubstr("has 3 trainers, but a trainer attaches with a world size of 2"));
  // A supervisor that attaches again in between may not have followed yet.
  const auto launcher = jobs.Join({"job", JobRole::kLauncher, 0, 2, "", "secret"}, Unix());
  EXPECT_EQ(jobs.Jobs()[0].world_size, 3);
}

}  // namespace
}  // namespace graphd
