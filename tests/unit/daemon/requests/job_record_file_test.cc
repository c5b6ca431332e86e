// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Peer PeerWithUid(uid_t uid) { return {true, 1, uid, {}, "unix"}; }

// A report that the job has ended on one of its two hosts.
JobRecord EndOf(const std::string& job, uint32_t host) {
  JobRecord record{job, "train --all", 2, 1, 0, {}};
  JobHost said;
  said.host = host;
  said.sequence = 7;
  said.name = StrCat("host-", host);
  said.phase = JobPhase::kOver;
  said.attempt = 1;
  said.code = 3;
  said.ended_at = 1.7e9;
  said.reason = "trainer 1 exited with code 3";
  said.away = host == 0 ? std::vector<uint32_t>{1} : std::vector<uint32_t>{};
  record.hosts = {said};
  return record;
}

// A daemon's board and its file.
struct Board {
  explicit Board(const std::string& path) : file(path) { file.Keep(board); }
  // Reports the end of a job; returns the code of the error.
  std::string Try(const std::string& job, const std::string& secret, uid_t uid) {
    try {
      board.Report(EndOf(job, 1), secret, PeerWithUid(uid));
      return "no error";
    } catch (const Error& error) {
      return ErrorCodeName(error.code());
    }
  }
  JobBoard board;
  JobRecordFile file;
};

class JobRecordFiles : public ::testing::Test {
 protected:
  // Waits until the file has this many jobs.
  void Await(size_t jobs) const {
    const auto start = Clock::now();
    while (SecondsSince(start) < 20) {
      if (FileExists(path_) && JobRecordFile::FromBytes(ReadTextFile(path_)).size() == jobs) return;
      ::usleep(1000);
    }
    FAIL() << "the file does not get the jobs";
  }
  // Expects that a daemon which finds this file starts without its jobs, keeps the file aside, and
  // writes another.
  void ExpectSetAside(const std::string& bytes) const {
    Board after(path_);
    EXPECT_THAT(after.board.Records(), IsEmpty());
    EXPECT_EQ(ReadTextFile(path_ + ".damaged"), bytes);
    EXPECT_EQ(after.Try("new", "s", 1), "no error");
    Await(1);
  }
  const testing::ScratchDirectory scratch_;
  const std::string path_ = scratch_ / "server/part-0.job-records";
};

TEST_F(JobRecordFiles, KeepTheEndsOfJobsAndWhoMayReportAboutThem) {
  {
    Board before(path_);
    before.board.Report(EndOf("a", 0), "the secret", PeerWithUid(1));
    before.board.Report(EndOf("b", 0), "", PeerWithUid(1));
    Await(2);  // the daemon may be killed now
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0600U);
    EXPECT_THAT(ReadTextFile(path_), Not(HasSubstr("the secret")));
  }
  for (int restart = 0; restart < 2; restart++) {
    Board after(path_);
    const std::vector<JobRecord> records = after.board.Records();
    ASSERT_THAT(records, SizeIs(2));
    EXPECT_EQ(records[0].command, "train --all");
    EXPECT_EQ(records[0].num_hosts, 2u);
    EXPECT_EQ(records[0].max_restarts, 1u);
    EXPECT_EQ(records[0].hosts[0], EndOf("a", 0).hosts[0]);
    EXPECT_EQ(after.Try("a", "another one", 1), "denied");
    EXPECT_EQ(after.Try("a", "", 1), "denied");
    EXPECT_EQ(after.Try("b", "", 2), "denied");
    EXPECT_EQ(after.Try("b", "a secret", 1), "denied");
    if (restart == 1) {
      EXPECT_EQ(after.Try("a", "the secret", 2), "no error");
      EXPECT_EQ(after.Try("b", "", 1), "no error");
    }
  }
  // The last changes are written at the end.
  Board last(path_);
  EXPECT_THAT(last.board.Records()[0].hosts, SizeIs(2));
}

TEST_F(JobRecordFiles, AreReadAsTheyWereWritten) {
  JobBoard board;
  Peer remote{false, 0, std::nullopt, {}, "10.0.0.1:5", "alice\xff"};
  board.Report(EndOf("certificate", 0), "s", remote);
  remote.certificate.clear();
  remote.has_secret = true;
  JobRecord plan = EndOf("plan", 0);
  plan.hosts[0].trainers = {3, 0, 1};
  plan.hosts[0].uncounted = 2;
  board.Report(plan, "", remote);
  const std::string bytes = JobRecordFile::ToBytes(board.Jobs());
  const std::vector<JobBoard::Kept> read = JobRecordFile::FromBytes(bytes);
  EXPECT_EQ(JobRecordFile::ToBytes(read), bytes);
  for (const JobBoard::Kept& job : board.Jobs()) {
    const auto same = std::ranges::find_if(read, [&job](const JobBoard::Kept& each) {
      return each.record.job_id == job.record.job_id;
    });
    ASSERT_NE(same, read.end());
    EXPECT_EQ(same->record.hosts, job.record.hosts);
    EXPECT_EQ(same->credentials.secret_hash, job.credentials.secret_hash);
    EXPECT_TRUE(same->credentials.IsSamePeer(job.credentials));
  }
}

TEST_F(JobRecordFiles, DamageIsSetAside) {
  MakeDirectories(DirName(path_));
  JobBoard board;
  board.Report(EndOf("a", 0), "s", PeerWithUid(1));
  const std::string good = JobRecordFile::ToBytes(board.Jobs());
  std::string changed = good;
  for (size_t at = 0; at < good.size(); at++) {
    EXPECT_THROW(JobRecordFile::FromBytes(good.substr(0, at)), Error) << at;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_THROW(JobRecordFile::FromBytes(changed), Error) << at;
    changed[at] = good[at];
  }
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), good + "x"}) {
    WriteFileAtomically(path_, bad);
    ExpectSetAside(bad);
  }
  // A job that can't be, in a file with the right checksum.
  std::vector<JobBoard::Kept> jobs = board.Jobs();
  jobs[0].record.hosts[0].host = 2;
  const std::string wrong = JobRecordFile::ToBytes(jobs);
  WriteFileAtomically(path_, wrong);
  ExpectSetAside(wrong);
}

TEST_F(JobRecordFiles, WhatOthersCouldHaveWrittenIsSetAside) {
  MakeDirectories(DirName(path_));
  JobBoard board;
  board.Report(EndOf("a", 0), "s", PeerWithUid(1));
  const std::string good = JobRecordFile::ToBytes(board.Jobs());
  WriteFileAtomically(path_, good);
  ::chmod(path_.c_str(), 0666);
  ExpectSetAside(good);
  // A link may lead to the file of somebody else.
  WriteFileAtomically(path_ + ".other", good);
  ::unlink(path_.c_str());
  ASSERT_EQ(::symlink((path_ + ".other").c_str(), path_.c_str()), 0);
  ExpectSetAside(good);
}

TEST_F(JobRecordFiles, LeaveOutTheJobsThatWereSilentForLongest) {
  JobBoard::Kept job{{}, EndOf("job", 0), 0};
  job.record.hosts[0].trainers.assign(JobBoard::kMaxSlots, 1);
  std::vector<JobBoard::Kept> jobs;
  for (int i = 0; i < 1200; i++) {
    job.record.job_id = StrCat("job-", i);
    job.reported_at = i;
    jobs.push_back(job);
  }
  const std::string bytes = JobRecordFile::ToBytes(jobs);
  EXPECT_LE(bytes.size(), JobRecordFile::kMaxBytes);
  const std::vector<JobBoard::Kept> read = JobRecordFile::FromBytes(bytes);
  EXPECT_GT(read.size(), 900u);
  EXPECT_LT(read.size(), jobs.size());
  EXPECT_EQ(read.front().record.job_id, "job-1199");
  EXPECT_EQ(read.back().record.job_id, StrCat("job-", 1200 - read.size()));
}

TEST_F(JobRecordFiles, HaveNoMoreJobsThanABoard) {
  const std::vector<JobBoard::Kept> many(JobRecordFile::kMaxJobs + 1);
  EXPECT_EQ(JobRecordFile::FromBytes(JobRecordFile::ToBytes(many)).size(), JobRecordFile::kMaxJobs);
  // A message of three words may have a list of many empty jobs: one segment of two words, which
  // are a pointer to a structure with one pointer, and this pointer, to a list of empty elements.
  const uint64_t words[] = {uint64_t{2} << 32, uint64_t{1} << 48,
                            1 | uint64_t{JobRecordFile::kMaxJobs + 1} << 35};
  const std::string bytes(reinterpret_cast<const char*>(words), sizeof words);
  try {
    JobRecordFile::FromBytes(JobRecordFile::Heading(bytes) + bytes);
    FAIL() << "the jobs were read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("it has 8193 jobs"));
  }
}

TEST_F(JobRecordFiles, ADirectoryThatCanNotBeWrittenStopsNoReport) {
  WriteFileAtomically(scratch_ / "server", "not a directory");
  Board board(path_);
  EXPECT_EQ(board.Try("a", "s", 1), "no error");
  EXPECT_EQ(board.Try("b", "s", 1), "no error");
}

}  // namespace
}  // namespace graphd
