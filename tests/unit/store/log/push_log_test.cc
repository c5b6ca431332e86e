// SPDX-License-Identifier: Apache-2.0
#include "store/log/push_log.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "graphd/error.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using graphd::testing::ScratchDirectory;

// The push with sequence number `lsn`: lsn % 7 rows, and three bytes for each.
struct Sample {
  explicit Sample(uint64_t lsn) : rows(lsn % 7), payload(3 * rows.size(), std::byte(lsn)) {
    for (size_t i = 0; i < rows.size(); i++) rows[i] = static_cast<int64_t>(lsn * 10 + i);
    push = {lsn, 3, {UpdateKind::kAdam, 0, 1, 2, 3, 4, 5}, {8, 9}, lsn + 100, rows, payload};
  }
  Sample(const Sample&) = delete;
  std::vector<int64_t> rows;
  std::vector<std::byte> payload;
  Push push;
};

void AppendUpTo(PushLog& log, uint64_t last) {
  while (log.last_lsn() < last) {
    const Sample sample(log.last_lsn() + 1);
    const Push* one = &sample.push;
    log.Append({&one, 1});
  }
}

// Recovers the log and checks that each record is as it was written.
PushLog::Tail RecoverAll(PushLog& log, std::vector<uint64_t>& numbers) {
  return log.Recover([&](const Push& push) {
    numbers.push_back(push.lsn);
    const Sample sample(push.lsn);
    EXPECT_EQ(push.table, 3U);
    EXPECT_EQ(push.rule.kind, UpdateKind::kAdam);
    EXPECT_EQ(push.rule.mean_of_duplicates, 0);
    EXPECT_EQ(push.rule.weight_decay, 5);
    EXPECT_EQ(push.client, (ClientId{8, 9}));
    EXPECT_EQ(push.sequence, push.lsn + 100);
    EXPECT_TRUE(
        std::equal(push.rows.begin(), push.rows.end(), sample.rows.begin(), sample.rows.end()));
    EXPECT_TRUE(std::equal(push.payload.begin(), push.payload.end(), sample.payload.begin(),
                           sample.payload.end()));
  });
}

std::vector<uint64_t> Range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all;
  for (uint64_t i = first; i <= last; i++) all.push_back(i);
  return all;
}

std::vector<std::string> Segments(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("log-")) names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Overwrite(const std::string& path, uint64_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
}

// Tests of a log in files and of one in memory.
class PushLogOnDiskAndInMemory : public ::testing::TestWithParam<bool> {
 protected:
  static PushLog::Options Small() { return {.segment_bytes = 1000, .in_memory = GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(Kinds, PushLogOnDiskAndInMemory, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Memory" : "Files"; });

TEST_P(PushLogOnDiskAndInMemory, KeepsRecordsOverSegments) {
  const ScratchDirectory scratch;
  {
    PushLog log(scratch / "log", Small());
    AppendUpTo(log, 100);
  }
  EXPECT_GT(Segments(scratch / "log").size(), 5U);
  PushLog log(scratch / "log", Small());
  std::vector<uint64_t> numbers;
  EXPECT_EQ(RecoverAll(log, numbers).path, "");
  EXPECT_EQ(numbers, Range(1, 100));
  AppendUpTo(log, 120);
  PushLog again(scratch / "log", Small());
  numbers.clear();
  EXPECT_EQ(RecoverAll(again, numbers).path, "");
  EXPECT_EQ(numbers, Range(1, 120));
}

TEST(PushLog, EndsAtARecordTornAtAnyByte) {
  const ScratchDirectory scratch;
  const std::string path = scratch / "log/log-00000000000000000001";
  uint64_t before = 0;
  {
    PushLog log(scratch / "log", {});
    AppendUpTo(log, 5);
    before = log.bytes();
    AppendUpTo(log, 6);
  }
  const uint64_t whole = fs::file_size(path);
  for (uint64_t size = whole - 1; size >= before; size--) {
    fs::resize_file(path, size);
    PushLog log(scratch / "log", {});
    std::vector<uint64_t> numbers;
    const PushLog::Tail tail = RecoverAll(log, numbers);
    // Up to six missing bytes are only the padding of a payload of 18 bytes.
    ASSERT_EQ(numbers, Range(1, size >= whole - 6 ? 6 : 5)) << size;
    ASSERT_EQ(tail.lost_after, 0U);
  }
}

TEST(PushLog, ContinuesAfterATornRecord) {
  const ScratchDirectory scratch;
  {
    PushLog log(scratch / "log", {});
    AppendUpTo(log, 6);
  }
  fs::resize_file(scratch / "log/log-00000000000000000001",
                  fs::file_size(scratch / "log/log-00000000000000000001") - 20);
  for (const uint64_t last : {uint64_t{6}, uint64_t{9}}) {
    PushLog log(scratch / "log", {});
    std::vector<uint64_t> numbers;
    EXPECT_EQ(RecoverAll(log, numbers).path, "");
    EXPECT_EQ(numbers, Range(1, last - (last == 6 ? 1 : 3)));
    AppendUpTo(log, last);
  }
}

// A process that is killed while it writes a record into memory leaves it without its first bytes.
TEST(PushLog, InMemoryARecordWithoutItsHeaderDoesNotExist) {
  const ScratchDirectory scratch;
  const PushLog::Options options{.in_memory = true};
  uint64_t before_last = 0;
  {
    PushLog log(scratch / "log", options);
    AppendUpTo(log, 9);
    before_last = log.bytes();
    AppendUpTo(log, 10);
  }
  Overwrite(Segments(scratch / "log").back(), before_last, "????");
  std::vector<uint64_t> numbers;
  PushLog log(scratch / "log", options);
  const PushLog::Tail tail = RecoverAll(log, numbers);
  EXPECT_EQ(numbers, Range(1, 9));
  EXPECT_EQ(tail.lost_after, 0U) << tail.path;
  AppendUpTo(log, 12);
  numbers.clear();
  PushLog again(scratch / "log", options);
  RecoverAll(again, numbers);
  EXPECT_EQ(numbers, Range(1, 12));
}

// Any threads may copy the pieces, in any order.
TEST(PushLog, InMemoryLargePayloadsAreCopiedInPieces) {
  const ScratchDirectory scratch;
  const PushLog::Options options{.in_memory = true};
  const std::vector<int64_t> rows = {1, 2, 3};
  std::vector<std::byte> payload(800'001);
  for (size_t i = 0; i < payload.size(); i++)
    payload[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  Push push;
  push.rows = rows;
  push.payload = payload;
  size_t pieces = 0;
  const PushLog::ParallelFor parallel_for = [&](size_t count,
                                                const std::function<void(size_t)>& run) {
    pieces = count;
    std::thread odd([&] {
      for (size_t i = count; i-- > 0;) {
        if (i % 2 == 1) run(i);
      }
    });
    for (size_t i = 0; i < count; i += 2) run(i);
    odd.join();
  };
  {
    PushLog log(scratch / "log", options);
    for (push.lsn = 1; push.lsn <= 3; push.lsn++) {
      const Push* one = &push;
      log.Append({&one, 1}, parallel_for);
    }
  }
  EXPECT_EQ(pieces, 4U);
  PushLog log(scratch / "log", options);
  size_t found = 0;
  log.Recover([&](const Push& read) {
    found++;
    EXPECT_TRUE(
        std::equal(payload.begin(), payload.end(), read.payload.begin(), read.payload.end()));
  });
  EXPECT_EQ(found, 3U);
}

// The log can be written when other files fill the tmpfs.
TEST(PushLog, InMemoryItKeepsSegmentsAllocated) {
  const ScratchDirectory scratch;
  PushLog log(scratch / "log", {.segment_bytes = 20000, .in_memory = true});
  std::vector<uint64_t> numbers;
  RecoverAll(log, numbers);
  log.KeepSegments(4);
  const auto files = [&] {
    return std::distance(fs::directory_iterator(scratch / "log"), fs::directory_iterator());
  };
  EXPECT_EQ(files(), 4);
  for (int round = 0; round < 30; round++) {
    AppendUpTo(log, log.last_lsn() + 20);
    log.TruncateThrough(log.last_lsn());
  }
  EXPECT_GE(files(), 4);
  for (int round = 0; round < 60; round++) log.TruncateThrough(log.last_lsn());
  EXPECT_GE(files(), 3);
}

TEST(PushLog, DistinguishesDamageFromATornEnd) {
  const ScratchDirectory scratch;
  std::vector<uint64_t> begins;
  {
    PushLog log(scratch / "log", {});
    for (uint64_t i = 1; i <= 20; i++) {
      AppendUpTo(log, i);
      begins.push_back(log.bytes());
    }
  }
  const std::string path = scratch / "log/log-00000000000000000001";
  Overwrite(path, begins[10] + 130, "x");  // in record 12, which has rows and payload
  PushLog log(scratch / "log", {});
  std::vector<uint64_t> numbers;
  const PushLog::Tail tail = RecoverAll(log, numbers);
  EXPECT_EQ(numbers, Range(1, 11));
  EXPECT_EQ(tail.path, path);
  EXPECT_EQ(tail.offset, begins[10]);
  EXPECT_EQ(tail.lost_after, 19U);  // the last one that another record calls acknowledged
  log.SetAside();
  log.AdvanceTo(tail.lost_after);
  AppendUpTo(log, 25);
  PushLog again(scratch / "log", {});
  numbers.clear();
  EXPECT_EQ(RecoverAll(again, numbers).lost_after, 0U);
  EXPECT_EQ(numbers, Range(20, 25));
  EXPECT_TRUE(fs::exists(scratch / "log/damaged-00000000000000000001"));
}

TEST(PushLog, ReportsAMissingSegmentAndADamagedHeader) {
  const ScratchDirectory scratch;
  {
    PushLog log(scratch / "log", {.segment_bytes = 1000});
    AppendUpTo(log, 60);
  }
  const std::vector<std::string> segments = Segments(scratch / "log");
  ASSERT_GT(segments.size(), 3U);
  const uint64_t third = std::stoull(fs::path(segments[2]).filename().string().substr(4));
  Overwrite(segments.back(), 8, "xxxx");
  {
    PushLog log(scratch / "log", {});
    std::vector<uint64_t> numbers;
    EXPECT_EQ(RecoverAll(log, numbers).path, segments.back());
    EXPECT_EQ(numbers.back() + 1,
              std::stoull(fs::path(segments.back()).filename().string().substr(4)));
  }
  fs::remove(segments[2]);
  PushLog log(scratch / "log", {});
  std::vector<uint64_t> numbers;
  const PushLog::Tail tail = RecoverAll(log, numbers);
  EXPECT_EQ(numbers, Range(1, third - 1));
  EXPECT_EQ(tail.path, segments[3]);
  EXPECT_GT(tail.lost_after, third);
}

// A segment is begun when the one before it is complete: its name alone tells what is missing.
TEST_P(PushLogOnDiskAndInMemory, AGapBeforeASegmentWithoutRecordsIsDamage) {
  const ScratchDirectory scratch;
  {
    PushLog log(scratch / "log", Small());
    AppendUpTo(log, 60);
  }
  const std::vector<std::string> segments = Segments(scratch / "log");
  const uint64_t last = std::stoull(fs::path(segments.back()).filename().string().substr(4));
  for (size_t i = 1; i + 1 < segments.size(); i++) fs::remove(segments[i]);
  fs::resize_file(segments.back(), 32);  // only its header
  PushLog log(scratch / "log", Small());
  std::vector<uint64_t> numbers;
  const PushLog::Tail tail = RecoverAll(log, numbers);
  EXPECT_EQ(tail.path, segments.back());
  EXPECT_EQ(tail.lost_after, last - 1);
}

TEST_P(PushLogOnDiskAndInMemory, AShortageOfDescriptorsIsAnErrorAndLosesNothing) {
  const ScratchDirectory scratch;
  PushLog log(scratch / "log", Small());
  for (const bool reuses : {false, true}) {
    if (reuses) log.TruncateThrough(log.last_lsn());
    const graphd::testing::NoDescriptors shortage;
    try {
      AppendUpTo(log, log.last_lsn() + 200);
      // Memory that is mapped already needs no descriptors.
      EXPECT_TRUE(reuses && GetParam());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
    }
  }
  AppendUpTo(log, log.last_lsn() + 200);
  const uint64_t last = log.last_lsn();
  PushLog again(scratch / "log", Small());
  std::vector<uint64_t> numbers;
  EXPECT_EQ(RecoverAll(again, numbers).path, "");
  EXPECT_EQ(numbers, Range(numbers.front(), last));
}

TEST_P(PushLogOnDiskAndInMemory, ARemovedOrReplacedDirectoryIsAnError) {
  for (const bool replaced : {false, true}) {
    const ScratchDirectory scratch;
    const std::string directory = scratch / "log";
    PushLog log(directory, Small());
    AppendUpTo(log, 30);
    fs::rename(directory, scratch / "other");
    if (replaced) fs::create_directory(directory);
    for (int time = 0; time < 2; time++) {
      try {
        AppendUpTo(log, 31);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kIo) << error.what();
        EXPECT_NE(std::string(error.what()).find(directory), std::string::npos) << error.what();
      }
    }
    EXPECT_THROW(log.TruncateThrough(30), Error);
    EXPECT_EQ(log.last_lsn(), 30U);
    EXPECT_EQ(fs::exists(directory), replaced);
  }
}

TEST(PushLog, InMemoryARecordInATruncatedSegmentIsAnError) {
  const ScratchDirectory scratch;
  PushLog log(scratch / "log", {.segment_bytes = 100'000, .in_memory = true});
  AppendUpTo(log, 30);
  fs::resize_file(Segments(scratch / "log").at(0), 0);
  for (int time = 0; time < 2; time++) EXPECT_THROW(AppendUpTo(log, 31), Error);
  EXPECT_EQ(log.last_lsn(), 30U);
}

TEST_P(PushLogOnDiskAndInMemory, ReusesTruncatedSegments) {
  const ScratchDirectory scratch;
  std::vector<uint64_t> numbers;
  {
    PushLog log(scratch / "log", Small());
    for (uint64_t last = 20; last <= 400; last += 20) {
      AppendUpTo(log, last);
      log.TruncateThrough(last - 5);
      EXPECT_LT(log.bytes(), 4000U);
    }
    EXPECT_LE(std::distance(fs::directory_iterator(scratch / "log"), fs::directory_iterator()), 6);
  }
  PushLog log(scratch / "log", {.in_memory = GetParam()});
  EXPECT_EQ(RecoverAll(log, numbers).lost_after, 0U);  // old records after the end are ignored
  ASSERT_FALSE(numbers.empty());
  EXPECT_LE(numbers.front(), 396U);
  EXPECT_EQ(numbers, Range(numbers.front(), 400));
}

// Returns the inode numbers of all files in the directory.
std::set<ino_t> Inodes(const fs::path& directory) {
  std::set<ino_t> all;
  for (const auto& entry : fs::directory_iterator(directory)) {
    struct stat info {};
    EXPECT_EQ(::stat(entry.path().c_str(), &info), 0);
    all.insert(info.st_ino);
  }
  return all;
}

TEST_P(PushLogOnDiskAndInMemory, CreatesNoFilesOnceItHasItsFullSize) {
  const ScratchDirectory scratch;
  PushLog log(scratch / "log", Small());
  const auto round = [&](uint64_t pushes) {
    const uint64_t begin = log.last_lsn();
    AppendUpTo(log, begin + pushes);
    log.TruncateThrough(log.last_lsn());
  };
  for (int i = 0; i < 3; i++) round(100);
  const std::set<ino_t> files = Inodes(scratch / "log");
  EXPECT_GT(files.size(), 10U);
  // A file that is linked keeps its inode, so that no new file gets the number.
  fs::create_directory(scratch / "kept");
  for (const auto& entry : fs::directory_iterator(scratch / "log")) {
    fs::create_hard_link(entry.path(), fs::path(scratch / "kept") / entry.path().filename());
  }
  for (int i = 0; i < 5; i++) {
    round(95);
    for (const ino_t file : Inodes(scratch / "log")) EXPECT_TRUE(files.contains(file));
  }
  for (int i = 0; i < 40; i++) round(1);  // a log with few pushes
  EXPECT_LE(Inodes(scratch / "log").size(), 3U);
}

// A trainer that shares memory with its daemon could change a payload.
TEST(PushLog, APayloadThatChangesWhileItIsWrittenIsNoDamage) {
  const ScratchDirectory scratch;
  constexpr size_t kBytes = size_t{2} << 20;
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto* const bytes = static_cast<volatile unsigned char*>(memory);
    for (size_t i = 0;; i = (i + 4097) % kBytes) bytes[i] = static_cast<unsigned char>(i);
  }
  {
    PushLog log(scratch / "log", {});
    for (uint64_t lsn = 1; lsn <= 20; lsn++) {
      const int64_t row = 7;
      const Push push{
          lsn, 3, {}, {8, 9}, lsn, {&row, 1}, {static_cast<std::byte*>(memory), kBytes}};
      const Push* one = &push;
      log.Append({&one, 1});
    }
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::munmap(memory, kBytes);
  PushLog log(scratch / "log", {});
  std::vector<uint64_t> numbers;
  EXPECT_EQ(log.Recover([&](const Push& push) { numbers.push_back(push.lsn); }).path, "");
  EXPECT_EQ(numbers, Range(1, 20));
}

TEST(PushLog, AFullDiskIsAnErrorAndLosesNothing) {
  const ScratchDirectory scratch;
  const std::string mount = scratch / "small";
  fs::create_directory(mount);
  // The mount ends with this process.
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << "needs root";
  ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mount("none", mount.c_str(), "tmpfs", 0, "size=256k"), 0);
  {
    PushLog log(mount + "/log", {});
    AppendUpTo(log, 10);
    std::ofstream(mount + "/filler") << std::string(size_t{300} << 10, 'x');
    const std::vector<std::byte> payload(size_t{64} << 10);
    const Push big{11, 3, {}, {}, 1, {}, payload};
    const Push* one = &big;
    try {
      log.Append({&one, 1});
      FAIL() << "the disk is not full";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    }
    EXPECT_EQ(log.last_lsn(), 10U);
    fs::remove(mount + "/filler");
    AppendUpTo(log, 12);
  }
  {
    PushLog log(mount + "/log", {});
    std::vector<uint64_t> numbers;
    EXPECT_EQ(RecoverAll(log, numbers).lost_after, 0U);
    EXPECT_EQ(numbers, Range(1, 12));
  }
  EXPECT_EQ(::umount(mount.c_str()), 0);
}

}  // namespace
}  // namespace graphd::store
