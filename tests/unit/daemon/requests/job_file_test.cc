// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kOwner = 64001;

Peer PeerOfUser(uid_t uid) { return {true, 1, uid, {}, "unix"}; }

JobMember Member(const std::string& job, const std::string& secret) {
  JobMember member;
  member.job_id = job;
  member.secret = secret;
  member.role = JobRole::kLauncher;
  member.world_size = 1;
  return member;
}

// A daemon's registry and its file.
struct Jobs {
  explicit Jobs(const std::string& path) : file(path) { file.Keep(registry); }
  // Joins and leaves at once; returns the code of the error.
  std::string Try(const std::string& job, const std::string& secret, uid_t uid = kOwner) {
    try {
      registry.Join(Member(job, secret), PeerOfUser(uid));
      return "no error";
    } catch (const Error& error) {
      return ErrorCodeName(error.code());
    }
  }
  JobRegistry registry{false, [] {}};
  JobFile file;
};

class JobFiles : public ::testing::Test {
 protected:
  // Waits until the file has this job.
  void Await(const std::string& job) const {
    const auto start = Clock::now();
    while (SecondsSince(start) < 20) {
      if (FileExists(path_) && JobFile::FromText(ReadTextFile(path_)).contains(job)) return;
      ::usleep(1000);
    }
    FAIL() << "the file does not get the job";
  }
  const testing::ScratchDirectory scratch_;
  const std::string path_ = scratch_ / "server/part-0.jobs";
};

TEST_F(JobFiles, KeepTheNamesOfJobsForThoseWhoHadThem) {
  {
    Jobs jobs(path_);
    const auto attached = jobs.registry.Join(Member("a", "the secret"), PeerOfUser(kOwner));
    EXPECT_EQ(jobs.Try("b", ""), "no error");  // it has left
    Await("a");
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U);
    EXPECT_THAT(ReadTextFile(path_), Not(HasSubstr("secret")));
  }
  for (int restart = 0; restart < 2; restart++) {
    Jobs jobs(path_);
    EXPECT_EQ(jobs.Try("a", "another one"), "denied");
    EXPECT_EQ(jobs.Try("a", ""), "denied");
    EXPECT_EQ(jobs.Try("b", "", kOwner + 1), "denied");
    EXPECT_EQ(jobs.Try("b", "a secret"), "denied");
    EXPECT_EQ(jobs.Try("c", "a secret"), "no error");
    if (restart == 1) {
      EXPECT_EQ(jobs.Try("a", "the secret", kOwner + 1), "no error");
      EXPECT_EQ(jobs.Try("b", ""), "no error");
    }
  }
}

TEST_F(JobFiles, TextIsReadAsItWasWritten) {
  CredentialsOfJobs jobs;
  Peer remote{false, 0, std::nullopt, {}, "10.0.0.1:5", "alice"};
  jobs["plain"] = JobCredentials::Of("plain", "", PeerOfUser(kOwner));
  jobs[std::string("\n \0x", 4)] = JobCredentials::Of("x", "s", remote);
  remote.certificate.clear();
  remote.has_secret = true;
  jobs["shared"] = JobCredentials::Of("shared", "s", remote);
  const CredentialsOfJobs read = JobFile::FromText(JobFile::ToText(jobs));
  ASSERT_EQ(read.size(), jobs.size());
  for (const auto& [job_id, credentials] : jobs) {
    EXPECT_EQ(read.at(job_id).secret_hash, credentials.secret_hash);
    EXPECT_TRUE(read.at(job_id).IsSamePeer(credentials));
  }
  EXPECT_NE(JobCredentials::Of("a", "bc", remote).secret_hash,
            JobCredentials::Of("ab", "c", remote).secret_hash);
}

TEST_F(JobFiles, DamageIsIgnoredAndSetAside) {
  MakeDirectories(DirName(path_));
  const std::string good = JobFile::ToText({{"a", JobCredentials::Of("a", "s", PeerOfUser(1))}});
  for (size_t size = 0; size < good.size(); size++) {
    if (size == std::string("graphd jobs 1\n").size()) continue;  // no jobs
    EXPECT_THROW(JobFile::FromText(good.substr(0, size)), Error) << size;
  }
  for (const std::string& bad : {"graphd jobs 1\n" + std::string("zz - 0 - 61\n"),
                                 std::string("graphd jobs 1\n- -1 0 - 61\n"),
                                 std::string("graphd jobs 1\n- 1 0 - 6\n"), std::string("x")}) {
    WriteFileAtomically(path_, bad);
    Jobs jobs(path_);
    EXPECT_EQ(jobs.Try("a", "other"), "no error");
    const auto attached = jobs.registry.Join(Member("new", ""), PeerOfUser(kOwner));
    Await("new");
    EXPECT_EQ(ReadTextFile(path_ + ".damaged"), bad);
  }
  // Others could have written it.
  WriteFileAtomically(path_, good);
  ::chmod(path_.c_str(), 0666);
  Jobs jobs(path_);
  EXPECT_EQ(jobs.Try("a", "other"), "no error");
  EXPECT_EQ(ReadTextFile(path_ + ".damaged"), good);
}

TEST_F(JobFiles, ADirectoryThatCanNotBeWrittenStopsNoJob) {
  WriteFileAtomically(scratch_ / "server", "not a directory");
  Jobs jobs(path_);
  EXPECT_EQ(jobs.Try("a", "s"), "no error");
  EXPECT_EQ(jobs.Try("b", "s"), "no error");
}

}  // namespace
}  // namespace graphd
