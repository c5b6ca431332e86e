// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/directory.h"
#include "base/strings.h"
#include "ctl/supervise/log_tail.h"
#include "ctl/supervise/trainer_logs.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/graphd-jobs.XXXXXX";
    root_ = ::mkdtemp(path);
    ::setenv("GRAPHD_JOBS_DIR", root_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("GRAPHD_JOBS_DIR");
    std::filesystem::remove_all(root_);
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
  std::string root_;
};

TEST_F(JobDirectoryTest, ARequestToRestartIsTakenOnce) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  EXPECT_FALSE(made.TakeRestartRequest());
  const std::string id = made.RequestRestart({"1120-1", 3, 60, {}});
  EXPECT_THAT(ErrorOf([&] { made.RequestRestart({"1120-1", 1, 0, {}}); }), HasSubstr("exists: "));
  const auto taken = made.TakeRestartRequest();
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->id, id);
  EXPECT_EQ(taken->num_trainers, 3);
  EXPECT_EQ(taken->grace, 60);
  EXPECT_FALSE(made.TakeRestartRequest());
}

TEST_F(JobDirectoryTest, OneOfManyRequestsToRestartAtTheSameTimeIsMade) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  std::atomic<int> requests = 0, refusals = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; i++) {
    threads.emplace_back([&, i] {
      try {
        made.RequestRestart({"1120-1", i, 0, {}});
        requests++;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kExists) << error.what();
        refusals++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(requests, 1);
  EXPECT_EQ(refusals, 15);
}

TEST_F(JobDirectoryTest, OneProcessAtATimeRestartsTheJob) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  {
    const UniqueFd lock = made.LockRestart("1120-1");
    EXPECT_THAT(ErrorOf([&] { made.LockRestart("1120-1"); }), HasSubstr("exists: "));
  }
  made.LockRestart("1120-1");
}

TEST_F(JobDirectoryTest, ARequestThatCannotBeReadIsDropped) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  const auto write = [&made](const std::string& text) {
    WriteFileAtomically(made.path() + "/restart", text);
    WriteFileAtomically(made.path() + "/stop", text);
  };
  for (const std::string& bad : {std::string("{"), std::string("[1]"), std::string(9000, '1')}) {
    write(bad);
    EXPECT_NE(ErrorOf([&] { made.TakeRestartRequest(); }), "no error");
    EXPECT_NE(ErrorOf([&] { made.TakeStopRequest(); }), "no error");
    EXPECT_FALSE(made.TakeRestartRequest());
    EXPECT_FALSE(made.TakeStopRequest());
  }
}

TEST_F(JobDirectoryTest, KeepsTheStateForItsUserAlone) {
  {
    const JobDirectory made = JobDirectory::Make("1120-1", 30050);
    EXPECT_FALSE(JobDirectory::Exists("1120-1", 30050));
    made.WriteState({{"phase", "running"}});
    EXPECT_TRUE(made.IsLive());
    const JobDirectory read = JobDirectory::Open("1120-1", 30050);
    EXPECT_TRUE(read.IsLive());
    EXPECT_EQ(read.ReadState()["phase"], "running");
    struct stat info {};
    ASSERT_EQ(::stat(made.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
  }
  const JobDirectory read = JobDirectory::Open("1120-1", 30050);
  EXPECT_FALSE(read.IsLive());
  EXPECT_THAT(JobDirectory::PortsOf("1120-1"), ElementsAre(30050));
  EXPECT_TRUE(JobDirectory::PortsOf("1120-2").empty());
}

TEST_F(JobDirectoryTest, HasOneSupervisorAtATime) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  EXPECT_THAT(ErrorOf([] { JobDirectory::Make("1120-1", 30050); }),
              HasSubstr("exists: job 1120-1 runs on this host already"));
  JobDirectory::Make("1120-1", 30051);  // another daemon of the host
}

TEST_F(JobDirectoryTest, RefusesIdsThatAreNoNames) {
  for (const char* bad : {"", "..", ".x", "a/b", "a b", "a\n"}) {
    EXPECT_THAT(ErrorOf([bad] { JobDirectory::Open(bad, 30050); }),
                HasSubstr("is not the id of a job"))
        << bad;
  }
  EXPECT_FALSE(IsJobId(std::string(129, 'a')));
  EXPECT_TRUE(IsJobId(std::string(128, 'a')));
}

TEST_F(JobDirectoryTest, NamesTheJobsThatItKnows) {
  JobDirectory::Make("1120-1", 30050).WriteState({{"phase", "over"}});
  EXPECT_THAT(ErrorOf([] { JobDirectory::Open("1120-2", 30050); }), HasSubstr("there is 1120-1"));
}

TEST_F(JobDirectoryTest, IsRefusedIfOthersMayWriteIt) {
  JobDirectory::Make("1120-1", 30050);
  ASSERT_EQ(::chmod(JobDirectory::Root().c_str(), 0777), 0);
  EXPECT_THAT(ErrorOf([] { JobDirectory::Make("1120-2", 30050); }),
              HasSubstr("can be written by other users"));
}

TEST_F(JobDirectoryTest, ARequestToStopIsTakenOnce) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  EXPECT_FALSE(made.TakeStopRequest());
  made.RequestStop(2.5);
  EXPECT_EQ(made.TakeStopRequest(), 2.5);
  EXPECT_FALSE(made.TakeStopRequest());
  made.RequestStop(-1);
  EXPECT_EQ(made.TakeStopRequest(), 0);
}

TEST_F(JobDirectoryTest, OldJobsAreRemovedButNotRunningOnes) {
  const JobDirectory running = JobDirectory::Make("running", 30050);
  running.WriteState({{"phase", "running"}});
  for (size_t i = 0; i < JobDirectory::kMaxJobs + 5; i++) {
    const std::string job = StrCat("job-", i);
    JobDirectory::Make(job, 30050).WriteState({{"phase", "over"}});
  }
  const std::vector<std::string> jobs = JobDirectory::Jobs();
  EXPECT_LE(jobs.size(), JobDirectory::kMaxJobs + 1);
  EXPECT_EQ(jobs[0], StrCat("job-", JobDirectory::kMaxJobs + 4));
  EXPECT_THAT(jobs, ::testing::Contains("running"));
  EXPECT_THAT(jobs, ::testing::Not(::testing::Contains("job-0")));
}

TEST_F(JobDirectoryTest, JobsOfLaunchersPushOutNoOthers) {
  JobDirectory::Make("detached", 30050).WriteState({{"phase", "over"}});
  for (size_t i = 0; i < JobDirectory::kMaxJobs + 5; i++) {
    const nlohmann::json state = {{"phase", "over"}, {"led", true}};
    JobDirectory::Make(StrCat("led-", i), 30050).WriteState(state);
  }
  const std::vector<std::string> jobs = JobDirectory::Jobs();
  EXPECT_LE(jobs.size(), JobDirectory::kMaxJobs + 2);
  EXPECT_THAT(jobs, ::testing::Contains("detached"));
  EXPECT_THAT(jobs, ::testing::Not(::testing::Contains("led-0")));
}

TEST_F(JobDirectoryTest, ADamagedStateIsAnError) {
  const JobDirectory made = JobDirectory::Make("1120-1", 30050);
  WriteFileAtomically(made.path() + "/state.json", "{\"phase\": ");
  EXPECT_THAT(ErrorOf([&] { made.ReadState(); }), HasSubstr("corrupt: "));
}

using LogTailTest = JobDirectoryTest;

TEST_F(LogTailTest, BeginsWithTheLastLinesAndFollowsThroughARenaming) {
  TrainerLogs logs(root_, /*max_bytes=*/32);
  const std::string path = root_ + "/trainer-0.log";
  LogTail early(path, -1);
  EXPECT_EQ(early.Next(), "");
  logs.Append(0, "one one one\ntwo two two\n");
  EXPECT_EQ(early.Next(), "one one one\ntwo two two\n");
  LogTail last(path, 1), none(path, 0);
  EXPECT_EQ(last.Next(), "two two two\n");
  EXPECT_EQ(none.Next(), "");
  logs.Append(0, "three three three\n");  // renames the file
  ASSERT_TRUE(FileExists(path + ".1"));
  for (LogTail* tail : {&early, &last, &none}) EXPECT_EQ(tail->Next(), "three three three\n");
  EXPECT_EQ(LogTail(path, 2).Next(), "two two two\n");  // the next call reads the file after it
  LogTail all(path, -1);
  EXPECT_EQ(all.Next(), "one one one\ntwo two two\n");
  EXPECT_EQ(all.Next(), "three three three\n");
  EXPECT_EQ(all.Next(), "");
}

TEST_F(LogTailTest, ReturnsWholeLines) {
  const std::string path = root_ + "/trainer-0.log";
  WriteFileAtomically(path, "whole\npart");
  LogTail tail(path, 10);
  EXPECT_EQ(tail.Next(), "whole\n");
  EXPECT_EQ(tail.Next(), "");
  EXPECT_EQ(tail.Next(/*to_the_end=*/true), "part\n");
  EXPECT_EQ(LogTail(path, 1).Next(true), "part\n");
}

TEST_F(JobDirectoryTest, AUserWithoutAHomeHasNoJobs) {
  const char* const home = ::getenv("HOME");
  const std::string before = home ? home : "";
  ::unsetenv("GRAPHD_JOBS_DIR");
  ::unsetenv("HOME");
  // Root's jobs are not in a home directory, so that the test is somebody else meanwhile.
  constexpr uid_t kNobody = 65534;
  const uid_t user = ::geteuid();
  ASSERT_EQ(user == 0 ? ::seteuid(kNobody) : 0, 0);
  EXPECT_FALSE(JobDirectory::Exists("1120-1", 30050));
  EXPECT_TRUE(JobDirectory::PortsOf("1120-1").empty());
  EXPECT_TRUE(JobDirectory::Jobs().empty());
  EXPECT_THAT(ErrorOf([] { JobDirectory::Make("1120-1", 30050); }), HasSubstr("GRAPHD_JOBS_DIR"));
  ASSERT_EQ(::seteuid(user), 0);
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(JobDirectoryTest, ATailBreaksNoLineThatIsLongerThanWhatIsReadAtOnce) {
  const std::string path = root_ + "/trainer-0.log";
  std::string text;
  for (int i = 0; text.size() < (size_t{1} << 20); i++) text += StrCat("line ", i, "\n");
  text += "the last one";
  WriteFileAtomically(path, text);
  LogTail tail(path, -1);
  std::string read;
  for (std::string lines = "begin"; !lines.empty(); read += lines) lines = tail.Next(true);
  EXPECT_TRUE(read == text + "\n") << read.size() << " of " << text.size() + 1 << " bytes";
}

}  // namespace
}  // namespace graphd::ctl
