// SPDX-License-Identifier: Apache-2.0
#include "client/cache/cache_members.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/directory.h"
#include "base/strings.h"
#include "tests/support/mapped_memory.h"
#include "tests/unit/client/cache/cache_rows.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

constexpr size_t kRow = 400;
const CacheShape kShape{uint64_t{4} << 20, 77, {kRow}};
const std::vector<int64_t> kIds{3, 4, 5, 1000};

class CacheMembersTest : public ::testing::Test {
 protected:
  std::vector<std::string> Files() const { return ListDirectory(directory_.path()); }
  std::unique_ptr<CacheMembers> Join(const CacheShape& shape = kShape) const {
    return std::make_unique<CacheMembers>(directory_.path(), shape);
  }
  MemoryDirectory directory_;
};

// A child that runs a function and waits; killed with the object.
class Child {
 public:
  explicit Child(const std::function<void()>& f) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      f();
      EXPECT_EQ(::write(ends[1], "x", 1), 1);
      for (;;) ::pause();
    }
    char ready = 0;
    ::close(ends[1]);
    EXPECT_EQ(::read(ends[0], &ready, 1), 1) << "the child has failed";
    ::close(ends[0]);
  }
  ~Child() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(CacheMembersTest, ProcessesReadWhatOthersHaveStored) {
  const auto mine = Join();
  RowCache cache(mine->memory());
  StoreRows(cache, 0, kIds, kRow);
  const Child child([&] {
    static std::unique_ptr<CacheMembers> other;
    other = Join({uint64_t{8} << 20, 77, {kRow}});  // the first member decides about the size
    RowCache theirs(other->memory());
    if (other->memory().bytes() > uint64_t{4} << 20) ::_exit(1);
    if (ReadRows(theirs, 0, kIds, kRow) != 4) ::_exit(2);
    StoreRows(theirs, 0, {2000, 2001}, kRow);
  });
  EXPECT_EQ(ReadRows(cache, 0, {2000, 2001}, kRow), 2);
  EXPECT_EQ(Files().size(), 1U);
}

TEST_F(CacheMembersTest, RowsOutliveTheMemberThatMadeThemUntilTheLastOneGoes) {
  auto first = Join(), second = Join();
  RowCache cache(first->memory());
  StoreRows(cache, 0, kIds, kRow);
  first.reset();
  auto third = Join();
  RowCache later(third->memory());
  EXPECT_EQ(ReadRows(later, 0, kIds, kRow), 4);
  second.reset();
  EXPECT_EQ(Files().size(), 1U);
  third.reset();
  EXPECT_TRUE(Files().empty());
  auto again = Join();
  RowCache empty(again->memory());
  EXPECT_EQ(ReadRows(empty, 0, kIds, kRow), 0);
}

TEST_F(CacheMembersTest, AfterAKillOthersGoOnAndTheNextMemberFindsThem) {
  auto child = std::make_unique<Child>([&] {
    static std::unique_ptr<CacheMembers> first;
    first = Join();
    RowCache cache(first->memory());
    StoreRows(cache, 0, kIds, kRow);
  });
  auto second = Join();
  child->Kill();
  auto third = Join();
  RowCache cache(third->memory());
  EXPECT_EQ(ReadRows(cache, 0, kIds, kRow), 4);
  second.reset();
  third.reset();
  EXPECT_TRUE(Files().empty());
}

TEST_F(CacheMembersTest, WhatTheLastMemberLeavesWhenItIsKilledIsRemovedByTheNext) {
  Child([&] {
    static std::unique_ptr<CacheMembers> other;
    other = Join({uint64_t{4} << 20, 78, {kRow}});  // it has another graph
  });
  ASSERT_EQ(Files().size(), 1U);
  EXPECT_LT(FileSize(directory_ / Files()[0]), 100U);
  {
    const auto mine = Join();
    EXPECT_EQ(Files().size(), 1U);
    EXPECT_EQ(directory_ / Files()[0], mine->path());
  }
  EXPECT_TRUE(Files().empty());
}

TEST_F(CacheMembersTest, FilesOfOtherPidNamespacesAreLeftAlone) {
  std::string path;
  { path = Join({uint64_t{4} << 20, 78, {kRow}})->path(); }
  // Process 4194303 may exist there, and does not here.
  for (const std::string& name : {path + "1", path}) {
    WriteFileAtomically(name, "4194303 3 1 2\n");
    ASSERT_EQ(::chmod(name.c_str(), 0600), 0);
  }
  const auto mine = Join();
  EXPECT_TRUE(FileExists(path + "1"));
  EXPECT_FALSE(FileExists(path));
}

TEST_F(CacheMembersTest, AListThatCannotBeWrittenKeepsItsEntries) {
  const auto mine = Join();
  const std::string before = ReadTextFile(mine->path());
  ASSERT_GT(before.size(), 4U);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{1, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  EXPECT_THROW(Join(), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(ReadTextFile(mine->path()), before);
}

TEST_F(CacheMembersTest, ALongListIsCutToTheEntriesThatRemain) {
  const auto mine = Join();
  const std::string one = ReadTextFile(mine->path());
  { const auto a = Join(), b = Join(); }
  EXPECT_EQ(ReadTextFile(mine->path()), one);
}

TEST_F(CacheMembersTest, OtherGraphsHaveOtherMemory) {
  const auto a = Join(), b = Join({uint64_t{4} << 20, 78, {kRow}});
  RowCache of_a(a->memory()), of_b(b->memory());
  StoreRows(of_a, 0, kIds, kRow);
  EXPECT_EQ(ReadRows(of_b, 0, kIds, kRow), 0);
  EXPECT_EQ(Files().size(), 2U);
}

TEST_F(CacheMembersTest, AllMembersJoinTheSameMemoryAtTheSameTime) {
  std::vector<std::unique_ptr<CacheMembers>> members(8);
  std::vector<std::thread> threads;
  for (auto& member : members) threads.emplace_back([&] { member = Join(); });
  for (std::thread& thread : threads) thread.join();
  RowCache first(members[0]->memory());
  StoreRows(first, 0, kIds, kRow);
  for (const auto& member : members) {
    RowCache cache(member->memory());
    EXPECT_EQ(ReadRows(cache, 0, kIds, kRow), 4);
  }
  threads.clear();
  for (auto& member : members) threads.emplace_back([&] { member.reset(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Files().empty());
}

TEST_F(CacheMembersTest, AFileThatIsNotThisUsersIsRefused) {
  std::string path;
  { path = Join()->path(); }
  ASSERT_EQ(::symlink("/etc/passwd", path.c_str()), 0);
  ExpectError([&] { Join(); }, ErrorCode::kDenied, "remove it, or run without a cache");
  RemoveFile(path);
  WriteFileAtomically(path, "");
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  ExpectError([&] { Join(); }, ErrorCode::kDenied, "remove it, or run without a cache");
  RemoveFile(path);
  if (::geteuid() == 0) {
    WriteFileAtomically(path, "");
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    ExpectError([&] { Join(); }, ErrorCode::kDenied, "remove it, or run without a cache");
  }
}

TEST_F(CacheMembersTest, ADamagedFileIsRefused) {
  std::string path;
  { path = Join()->path(); }
  for (const std::string& text :
       {std::string("nonsense"), std::string("1 2 3"), std::string("1 2 3 4 5\n"),
        std::string("-1 2 3 4"), std::string("1 2 3 99999999999999999999"), std::string(100, '\0'),
        std::string(size_t{2} << 20, '\n')}) {
    WriteFileAtomically(path, text);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    ExpectError([&] { Join(); }, ErrorCode::kCorrupt, path + " is not a list");
  }
  // Processes that do not exist, or have something else under the descriptor, are not members.
  const UniqueFd directory = OpenFile("/", O_RDONLY | O_DIRECTORY);
  for (const std::string& text :
       {StrCat(::getpid(), " 0 1 2\n"), StrCat(::getpid(), " ", directory.get(), " 1 2\n"),
        std::string("4194303 3 1 2\n")}) {
    WriteFileAtomically(path, text);
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(Join()->path(), path);
  }
}

// Makes memory of `bytes` zeroes that a file of members names.
UniqueFd ForeignMemory(
    const std::string& path, uint64_t bytes, int seals,
    const std::function<void(int)>& change = [](int) {}) {
  UniqueFd fd(::memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  change(fd.get());
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  struct stat info {};
  EXPECT_EQ(::fstat(fd.get(), &info), 0);
  WriteFileAtomically(path,
                      StrCat(::getpid(), " ", fd.get(), " ", info.st_dev, " ", info.st_ino, "\n"));
  EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
  return fd;
}

TEST_F(CacheMembersTest, MemoryThatIsNoCacheOfThisGraphIsRefused) {
  constexpr int kSeals = F_SEAL_GROW | F_SEAL_SHRINK;
  uint64_t bytes = 0, at = 0;
  std::string path;
  std::vector<std::byte> header(sizeof(CacheHeader) + sizeof(CacheTable));
  {
    const auto mine = Join();
    path = mine->path();
    bytes = mine->memory().bytes();
    at = bytes - header.size();
    ReadExactly(mine->memory().fd(), at, header, "memory");
  }
  const auto with = [&](size_t offset, uint64_t xor_with) {
    return [=, &header](int fd) {
      std::vector<std::byte> changed = header;
      uint64_t word = 0;
      std::memcpy(&word, changed.data() + offset, sizeof word);
      word ^= xor_with;
      std::memcpy(changed.data() + offset, &word, sizeof word);
      WriteExactlyAt(fd, at, changed, "memory");
    };
  };
  const auto refused = [&](const std::string& why, uint64_t size, int seals,
                           const std::function<void(int)>& change) {
    const UniqueFd fd = ForeignMemory(path, size, seals, change);
    ExpectError([&] { Join(); }, ErrorCode::kCorrupt, why);
    ExpectError([&] { Join(); }, ErrorCode::kCorrupt,
                "end that process, or run without a cache (GRAPHD_ROW_CACHE");
  };
  {
    const UniqueFd fd = ForeignMemory(path, bytes, kSeals, with(0, 0));
    EXPECT_EQ(Join()->memory().bytes(), bytes);  // the copy itself is accepted
  }
  refused("not sealed", bytes, F_SEAL_GROW, with(0, 0));
  refused("it has 100 bytes", 100, kSeals, [](int) {});
  refused("damaged", bytes, kSeals, [](int) {});
  refused("made for other features", bytes + 64, kSeals, with(0, 0));
  refused("damaged", bytes, kSeals, with(0, 1));                                   // magic
  refused(StrCat("it has format ", kCacheFormat ^ 1), bytes, kSeals, with(8, 1));  // format
  refused("another graph", bytes, kSeals, with(offsetof(CacheHeader, key), 1));    // key
  refused("damaged", bytes, kSeals, with(offsetof(CacheHeader, bytes), 1));
  refused("damaged", bytes, kSeals, with(offsetof(CacheHeader, extent_bytes), 4096));
  refused("damaged", bytes, kSeals, with(offsetof(CacheHeader, num_extents), 0xff));
  refused("other features", bytes, kSeals, with(sizeof(CacheHeader), 1));  // bytes of a row
}

TEST_F(CacheMembersTest, NobodyCanTruncateTheMemory) {
  const auto mine = Join();
  EXPECT_NE(::ftruncate(mine->memory().fd(), 4096), 0);
  EXPECT_NE(::ftruncate(mine->memory().fd(), 1 << 30), 0);
  // Nobody can add a seal that keeps others from mapping it.
  EXPECT_NE(::fcntl(mine->memory().fd(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
  EXPECT_EQ(Join()->memory().bytes(), mine->memory().bytes());
}

TEST_F(CacheMembersTest, AForkedChildDoesNotKeepTheMemory) {
  const auto mine = Join();
  const int fd = mine->memory().fd();
  EXPECT_EQ(MappingsOf("graphd-rows"), 1);
  const Child child([&] {
    if (::fcntl(fd, F_GETFD) != -1) ::_exit(1);
    if (MappingsOf("graphd-rows") != 0) ::_exit(2);
  });
}

TEST_F(CacheMembersTest, AMemberThatIsStoppedWhileItJoinsIsNotWaitedForForever) {
  std::string path;
  { path = Join()->path(); }
  WriteFileAtomically(path, "");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const UniqueFd fd = OpenFile(path, O_RDWR);
  ASSERT_EQ(::flock(fd.get(), LOCK_EX), 0);
  ExpectError([&] { Join(); }, ErrorCode::kUnavailable, "locked for 10 s");
}

}  // namespace
}  // namespace graphd::testing
