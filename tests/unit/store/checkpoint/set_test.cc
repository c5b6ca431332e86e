// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint/set.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>

#include "base/rng.h"
#include "base/strings.h"
#include "store/checkpoint/checksums.h"
#include "store/rows/file_checksum.h"
#include "store/store.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/await_child.h"
#include "tests/unit/store/child_environment.h"
#include "tests/unit/store/random_push.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using graphd::testing::ScratchDirectory;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string Text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Writes valid data without tables.
void WriteData(CheckpointSet::Making& making) {
  fs::create_directories(making.data_directory());
  WriteCheckpointTables(making.data_directory(), {});
}

void MakeOne(CheckpointSet& set, const std::string& name) {
  const auto making = set.Begin(name);
  WriteData(*making);
  for (int i = 0; i < 20; i++) making->AddFile("file" + std::to_string(i), 0, Bytes("contents"));
  making->Commit("{}");
}

size_t EntriesIn(const std::string& directory) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

ErrorCode Thrown(const std::function<void()>& f, const std::string& said = "") {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(said));
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

TEST(CheckpointSet, OnlyCommittedCheckpointsExist) {
  const ScratchDirectory scratch;
  CheckpointSet set(scratch / "set");
  {
    const auto dropped = set.Begin("dropped");
    dropped->AddFile("weights", 0, Bytes("x"));
    EXPECT_EQ(Thrown([&] { set.Begin("dropped"); }, "being made"), ErrorCode::kExists);
    EXPECT_TRUE(set.Names().empty());
  }
  EXPECT_EQ(EntriesIn(scratch / "set"), 0U);
  {
    const auto making = set.Begin("epoch-1");
    WriteData(*making);
    making->AddFile("weights", 0, Bytes("abc"));
    making->AddFile("weights", 3, Bytes("def"));
    making->AddFile("empty", 0, {});
    making->Commit("{\"a\": 1}");
  }
  ASSERT_EQ(set.Names(), std::vector<std::string>{"epoch-1"});
  EXPECT_EQ(set.Describe("epoch-1")->manifest, "{\"a\": 1}");
  EXPECT_EQ(set.Describe("epoch-1")->trouble, "");
  EXPECT_GT(set.Describe("epoch-1")->bytes, 6U);
  EXPECT_FALSE(set.Describe("epoch-2"));
  EXPECT_EQ(Text(set.ReadFile("epoch-1", "weights", 0, 100)), "abcdef");
  EXPECT_EQ(Text(set.ReadFile("epoch-1", "weights", 2, 3)), "cde");
  EXPECT_EQ(Text(set.ReadFile("epoch-1", "weights", 900, 3)), "");
  EXPECT_EQ(Text(set.ReadFile("epoch-1", "empty", 0, 3)), "");
  EXPECT_EQ(Thrown([&] { set.ReadFile("epoch-1", "other", 0, 1); }), ErrorCode::kNotFound);
  EXPECT_EQ(Thrown([&] { set.Begin("epoch-1"); }, "already"), ErrorCode::kExists);
  EXPECT_EQ(Thrown([&] { set.Delete("epoch-2"); }, "there is epoch-1"), ErrorCode::kNotFound);
  set.Delete("epoch-1");
  EXPECT_EQ(EntriesIn(scratch / "set"), 0U);
}

TEST(CheckpointSet, ReadsTheRowsOfAStore) {
  const ScratchDirectory scratch;
  CheckpointSet set(scratch / "set");
  StoreOptions options;
  options.directory = scratch / "store";
  Store store(options);
  TableSpec spec;
  spec.name = "emb";
  spec.rows = 100;
  spec.initializer = {InitKind::kConstant, 7, 0, 0};
  store.OpenTable(spec);
  {
    const auto making = set.Begin("one");
    store.WriteCheckpoint(making->data_directory(), {"emb"}, *store.HoldPushes());
    making->Commit("");
  }
  ASSERT_EQ(set.Names(), std::vector<std::string>{"one"});
  EXPECT_EQ(set.Describe("one")->manifest, "");
  EXPECT_EQ(set.Describe("one")->tables, std::vector<TableSpec>{spec});
  const auto reader = set.Open("one");
  EXPECT_EQ(set.Open("one"), reader);
  std::vector<float> rows(3);
  reader->ReadRows("emb", 97, 3, std::as_writable_bytes(std::span(rows)), {});
  EXPECT_EQ(rows, std::vector<float>(3, 7.0F));
  set.Delete("one");
  EXPECT_EQ(Thrown([&] { set.Open("one"); }, "there are none"), ErrorCode::kNotFound);
}

TEST(CheckpointSet, NamesThatLeadOutOfTheDirectoryAreRejected) {
  const ScratchDirectory scratch;
  CheckpointSet set(scratch / "set");
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"),
        std::string("/etc"), std::string("a/b"), std::string(".partial-x"), std::string("a\0b", 3),
        std::string("a b"), std::string(129, 'x')}) {
    EXPECT_EQ(Thrown([&] { set.Begin(name); }), ErrorCode::kInvalid) << name;
    EXPECT_EQ(Thrown([&] { set.Delete(name); }), ErrorCode::kInvalid) << name;
    EXPECT_EQ(Thrown([&] { set.Open(name); }), ErrorCode::kInvalid) << name;
  }
  const auto making = set.Begin(std::string(128, 'x'));
  for (const std::string& file :
       {std::string(), std::string("."), std::string(".."), std::string("../manifest.json"),
        std::string("/etc/passwd"), std::string("a\0b", 3), std::string(201, 'x')}) {
    EXPECT_EQ(Thrown([&] { making->AddFile(file, 0, {}); }), ErrorCode::kInvalid) << file;
  }
}

TEST(CheckpointSet, FilesAreBounded) {
  const ScratchDirectory scratch;
  CheckpointSet set(scratch / "set");
  const auto making = set.Begin("bounded");
  EXPECT_EQ(Thrown([&] { making->AddFile("a", 1, Bytes("x")); }, "0 bytes so far"),
            ErrorCode::kInvalid);
  for (size_t i = 0; i < CheckpointSet::kMaxFiles; i++) {
    making->AddFile(std::to_string(i), 0, Bytes("x"));
  }
  EXPECT_EQ(Thrown([&] { making->AddFile("more", 0, {}); }, "1024 files"), ErrorCode::kOverloaded);
  making->AddFile("0", 1, Bytes("y"));
  // The data is never read, so only its size must be valid.
  const std::span<const std::byte> much{reinterpret_cast<const std::byte*>(&set),
                                        CheckpointSet::kMaxFileBytes - 1};
  EXPECT_EQ(Thrown([&] { making->AddFile("0", 2, much); }, "1.0 GiB"), ErrorCode::kOverloaded);
}

// A checkpoint whose files are damaged one after another.
class Damage : public ::testing::Test {
 protected:
  Damage() {
    StoreOptions options;
    options.directory = scratch_ / "store";
    options.row_ids = [](const TableSpec& spec) {
      auto ids = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(spec.rows));
      for (size_t i = 0; i < ids->size(); i++) (*ids)[i] = static_cast<int64_t>(3 * i);
      return ids;
    };
    Store store(options);
    TableSpec spec;
    spec.rows = 1000;
    spec.row_shape = {8};
    for (const int64_t first_id : {0, -1}) {
      spec.name = first_id == 0 ? "ranged" : "mapped";
      spec.first_id = first_id;
      const auto table = store.OpenTable(spec);
      for (uint64_t i = 1; i <= 3; i++) {
        const UpdateRule add{.kind = UpdateKind::kAdd};
        store.Apply(
            table, RandomPush(static_cast<uint64_t>(9 + first_id), i, add, 300, 0, 1000, 8).push());
        store.WriteBackNow();
      }
    }
    CheckpointSet set(root_);
    const auto making = set.Begin("one", "an id");
    store.WriteCheckpoint(making->data_directory(), {"ranged", "mapped"}, *store.HoldPushes());
    making->AddFile("weights", 0, Bytes(std::string(100'000, 'w')));
    making->Commit("{\"a\": 1}");
  }

  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(root_ + "/one")) {
      if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
    }
    return files;
  }
  // Returns the damage found in any part of the checkpoint, or an empty text.
  std::string Trouble() const {
    CheckpointSet set(root_, CheckpointSet::Role::kGuest);
    const CheckpointSet::Entry entry = set.Describe("one").value();
    if (!entry.trouble.empty()) {
      EXPECT_TRUE(entry.id.empty() && entry.manifest.empty() && entry.tables.empty());
      return entry.trouble;
    }
    try {
      set.Open("one");
      set.ReadFile("one", "weights", 0, 10);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
      return error.what();
    }
    return "";
  }
  void Flip(const fs::path& path, uint64_t at) const {
    const UniqueFd fd = OpenFile(path, O_RDWR);
    uint8_t byte = 0;
    ASSERT_EQ(::pread(fd.get(), &byte, 1, static_cast<off_t>(at)), 1);
    byte ^= static_cast<uint8_t>(1U << (at % 8));
    ASSERT_EQ(::pwrite(fd.get(), &byte, 1, static_cast<off_t>(at)), 1);
  }

  const ScratchDirectory scratch_;
  const std::string root_ = scratch_ / "set";
};

TEST_F(Damage, ABitThatFlipsAnywhereIsReportedWithItsFile) {
  ASSERT_EQ(Trouble(), "");
  std::set<std::string> kinds;
  CounterRng rng(5);
  for (const fs::path& path : Files()) {
    kinds.insert(path.extension() == ".sst" ? "sst" : path.filename().string().substr(0, 3));
    const uint64_t size = fs::file_size(path);
    std::vector<uint64_t> places = {0, size / 2, size - 1};
    for (int i = 0; i < 7; i++) places.push_back(rng.Below(size));
    for (const uint64_t at : places) {
      Flip(path, at);
      EXPECT_THAT(Trouble(), HasSubstr(path.filename())) << path << " at " << at;
      Flip(path, at);
    }
  }
  const std::set<std::string> all = {"CUR", "MAN", "OPT", "id",  "ids",
                                     "man", "sst", "sum", "tab", "wei"};
  EXPECT_TRUE(std::includes(kinds.begin(), kinds.end(), all.begin(), all.end()))
      << ::testing::PrintToString(kinds);
  EXPECT_EQ(Trouble(), "");
}

TEST_F(Damage, ATruncatedOrMissingFileIsReported) {
  for (const fs::path& path : Files()) {
    const std::string before = scratch_ / "before";
    fs::copy_file(path, before, fs::copy_options::overwrite_existing);
    fs::resize_file(path, fs::file_size(path) - 1);
    EXPECT_THAT(Trouble(), HasSubstr(path.filename())) << path;
    fs::remove(path);
    EXPECT_THAT(Trouble(), HasSubstr(path.filename())) << path;
    fs::copy_file(before, path);
  }
  EXPECT_EQ(Trouble(), "");
}

constexpr const char* kChildsSet = "GRAPHD_TEST_CHECKPOINT_SET";
constexpr int kChildsReport = 100;  // the descriptor to which the child reports checkpoints

// Makes and deletes checkpoints until the process is killed.
[[noreturn]] void MakeCheckpoints(const std::string& root) {
  try {
    CheckpointSet set(root);
    for (int i = 0;; i = (i + 1) % 4) {
      const std::string name = "c" + std::to_string(i);
      if (FileExists(root + "/" + name)) set.Delete(name);
      MakeOne(set, name);
      if (::write(kChildsReport, "c", 1) != 1) break;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  ::_exit(1);
}

// After kill -9 while checkpoints are made and deleted, each exists as a whole or not at all. The
// process that is killed runs this test again, because other threads' locks do not survive a fork.
TEST(CheckpointSet, CrashesLeaveOnlyCompleteCheckpoints) {
  if (const char* root = std::getenv(kChildsSet)) MakeCheckpoints(root);
  const ScratchDirectory scratch;
  const std::string root = scratch / "set";
  CounterRng rng(static_cast<uint64_t>(::getpid()));
  size_t seen = 0;
  for (int crash = 0; crash < 60; crash++) {
    testing::ChildEnvironment environment;
    environment.Set(kChildsSet, root);
    char** variables = environment.data();
    int report[2];
    ASSERT_EQ(::pipe2(report, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::dup2(report[1], kChildsReport);
      ::execle("/proc/self/exe", "store_test",
               "--gtest_filter=CheckpointSet.CrashesLeaveOnlyCompleteCheckpoints", nullptr,
               variables);
      ::_exit(127);
    }
    ::close(report[1]);
    const UniqueFd reports(report[0]);
    // Makes every other crash, even on a busy machine, happen after a checkpoint is complete and
    // while the next one is being made.
    char made = 0;
    if (crash % 2 == 1) {
      ASSERT_TRUE(testing::ReadRecord(reports.get(), &made, 1));
    }
    ::usleep(static_cast<useconds_t>(rng.Below(60000)));
    ::kill(child, SIGKILL);
    const int status = testing::AwaitChild(child);
    ASSERT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGKILL);
    const CheckpointSet set(root);
    const std::vector<std::string> all = set.Names();
    ASSERT_EQ(EntriesIn(root), all.size());
    for (const std::string& name : all) {
      const auto entry = set.Describe(name);
      ASSERT_TRUE(entry);
      ASSERT_EQ(entry->trouble, "");
      ASSERT_EQ(entry->manifest, "{}");
      ASSERT_EQ(EntriesIn(StrCat(root, "/", name, "/files")), 20U);
    }
    seen += all.size();
  }
  EXPECT_GT(seen, 0U);
}

// Lines with a correct checksum may still be malformed.
TEST(CheckpointChecksums, MalformedLinesAreRejected) {
  const ScratchDirectory scratch;
  const std::string directory = scratch / "c";
  MakeDirectories(directory);
  for (const std::string lines : {"no newline", "\n", "0123456789abcdef 12\n", "short\n x y\n",
                                  "0123456789abcdef twelve name\n"}) {
    FileChecksum checksum;
    checksum.Add(lines.data(), lines.size());
    WriteFileAtomically(directory + "/sums", lines + checksum.Digits() + "\n");
    EXPECT_THROW(CheckpointChecksums{directory}, Error) << lines;
  }
}

}  // namespace
}  // namespace graphd::store
