// SPDX-License-Identifier: Apache-2.0
#include "store/rows/page_db.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "base/file.h"
#include "graphd/error.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/small_disk.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;
using graphd::testing::ScratchDirectory;
using graphd::testing::SmallDisk;

// Returns the code of the error that f throws, if it does.
std::optional<ErrorCode> Refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

std::vector<std::byte> Bytes(size_t size, int value) {
  return std::vector<std::byte>(size, std::byte(value));
}

TEST(PageDb, KeepsWhatWasFlushed) {
  const ScratchDirectory scratch;
  const auto one = Bytes(100, 1), two = Bytes(70, 2);
  {
    PageDb db(scratch / "pages");
    const PageDb::Page pages[] = {{1, 0, 5, one}, {1, 300, 6, two}, {2, 1, 7, one}};
    db.PutPages(pages);
    db.PutText("table/1", "first");
    db.PutText("table/2", "");
    db.PutText("state", "s");
    db.Flush();
  }
  PageDb db(scratch / "pages");
  auto out = Bytes(100, 0);
  EXPECT_EQ(db.GetPage(1, 0, out), 5U);
  EXPECT_EQ(out, one);
  EXPECT_EQ(db.GetPage(1, 1, out), std::nullopt);
  std::map<uint64_t, uint64_t> lsns;
  db.EachPage(
      1, [&](uint64_t page, uint64_t lsn, auto) { lsns[page] = lsn; },
      [](uint64_t, const std::string& why) { ADD_FAILURE() << why; });
  EXPECT_EQ(lsns, (std::map<uint64_t, uint64_t>{{0, 5}, {300, 6}}));
  EXPECT_EQ(db.TextNames("table/"), (std::vector<std::string>{"table/1", "table/2"}));
  EXPECT_EQ(db.GetText("table/1"), "first");
  EXPECT_EQ(db.GetText("table/2"), "");
  EXPECT_EQ(db.GetText("table/3"), std::nullopt);
  db.RemoveTable(1);
  db.RemoveText("table/1");
  EXPECT_EQ(db.GetPage(1, 300, out), std::nullopt);
  EXPECT_EQ(db.GetPage(2, 1, out), 7U);
  EXPECT_EQ(db.TextNames("table/"), (std::vector<std::string>{"table/2"}));
}

// The disk never has room for RocksDB's write buffers, but for what is in them.
TEST(PageDb, GoesOnWhenTheDiskHasALittleRoomAgain) {
  const SmallDisk disk(24);
  {
    PageDb db(disk / "pages");
    db.Flush();
    disk.Fill(uint64_t{2} << 20);
    const auto page = Bytes(size_t{1} << 20, 7);
    std::vector<PageDb::Page> pages;
    for (uint64_t i = 0; i < 6; i++) pages.push_back({1, i, i + 1, page});
    db.PutPages(pages);
    EXPECT_EQ(Refusal([&] { db.Flush(); }), ErrorCode::kOverloaded);
    const auto in_30_s = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(30); };
    auto deadline = in_30_s();
    // RocksDB reports an error a moment before it refuses changes.
    std::optional<ErrorCode> refusal;
    while (!refusal && std::chrono::steady_clock::now() < deadline) {
      refusal = Refusal([&] { db.PutText("t", "refused"); });
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(refusal, ErrorCode::kOverloaded);
    disk.MakeRoom();
    deadline = in_30_s();
    while (Refusal([&] { db.Flush(); }) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    db.PutText("t", "accepted");
    db.Flush();
  }
  PageDb db(disk / "pages");
  auto out = Bytes(size_t{1} << 20, 0);
  EXPECT_EQ(db.GetPage(1, 5, out), 6U);
  EXPECT_EQ(db.GetText("t"), "accepted");
}

// RocksDB's own Flush returns at once, without an error, after one that has failed and was resumed.
TEST(PageDb, AFlushThatFailsIsAnErrorEachTime) {
  const SmallDisk disk(100);
  PageDb db(disk / "pages");
  const auto page = Bytes(size_t{64} << 10, 7);
  std::vector<PageDb::Page> pages;
  for (uint64_t i = 0; i < 30; i++) pages.push_back({1, i, 1, page});
  for (int i = 0; i < 5; i++) {
    disk.Fill();
    db.PutPages(pages);
    EXPECT_EQ(Refusal([&] { db.Flush(); }), ErrorCode::kOverloaded) << "attempt " << i;
    // There is room again while RocksDB waits after the error, before it is resumed.
    std::thread remover([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      disk.MakeRoom();
    });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Refusal([&] { db.Flush(); }) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    remover.join();
  }
}

TEST(PageDb, CanBeOpenedOnlyOnce) {
  const ScratchDirectory scratch;
  const PageDb db(scratch / "pages");
  try {
    const PageDb other(scratch / "pages");
    FAIL() << "opened twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kExists) << error.what();
  }
}

// Waits until the database waits itself.
void WaitForTrouble(const PageDb& db) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (db.trouble().empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ::usleep(1000);
  }
  EXPECT_NE(db.trouble().find("Too many open files"), std::string::npos) << db.trouble();
}

TEST(PageDb, AFlushWaitsWhileThereAreNoDescriptors) {
  const ScratchDirectory scratch;
  const auto one = Bytes(5000, 1);
  {
    PageDb db(scratch / "pages");
    const PageDb::Page page[] = {{1, 0, 5, one}};
    db.PutPages(page);
    std::thread flush;
    {
      const graphd::testing::NoDescriptors shortage;
      flush = std::thread([&] { db.Flush(); });
      WaitForTrouble(db);
    }
    flush.join();
    EXPECT_EQ(db.trouble(), "");
  }
  const PageDb db(scratch / "pages", PageDb::Mode::kReadOnly);
  auto out = Bytes(5000, 0);
  EXPECT_EQ(db.GetPage(1, 0, out), 5U);
  EXPECT_EQ(out, one);
}

// RocksDB has one descriptor, with which it writes a file; it is taken away when the file has been
// written and is to be opened again for reading, by a flush or a compaction.
TEST(PageDb, AFlushWaitsWhileThereIsNoDescriptorToReadWhatItWrote) {
  const ScratchDirectory scratch;
  PageDb db(scratch / "pages");
  int waits = 0;
  uint64_t round = 0;
  for (; round < 400 && waits < 3; round++) {
    const auto bytes = Bytes(5000, static_cast<int>(round));
    const PageDb::Page page[] = {{1, round, round + 1, bytes}};
    db.PutPages(page);
    std::thread flush;
    {
      graphd::testing::NoDescriptors shortage;
      flush = std::thread([&] { db.Flush(); });
      WaitForTrouble(db);  // for a descriptor to write with
      shortage.GiveOne();
      while (!db.trouble().empty()) ::usleep(100);
      // The flush has the descriptor now. Who is faster when it closes the file?
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
      while (!shortage.TakeOne() && std::chrono::steady_clock::now() < end) {
      }
      ::usleep(2000);
      const std::string trouble = db.trouble();
      waits += trouble.find("random") != std::string::npos;
    }
    flush.join();
    auto out = Bytes(5000, 0);
    EXPECT_EQ(db.GetPage(1, round, out), round + 1);
    EXPECT_EQ(out, bytes);
  }
  EXPECT_EQ(db.trouble(), "");
  std::cout << waits << " of " << round << " flushes waited to read\n";
}

TEST(PageDb, AFlushThatWaitsCanBeStopped) {
  const ScratchDirectory scratch;
  PageDb db(scratch / "pages");
  db.PutText("a", "b");
  const graphd::testing::NoDescriptors shortage;
  std::thread flush([&] { EXPECT_THROW(db.Flush(), Error); });
  WaitForTrouble(db);
  db.StopWaiting();
  flush.join();
}

TEST(PageDb, DetectsChangedBytes) {
  const ScratchDirectory scratch;
  {
    PageDb db(scratch / "pages");
    const auto one = Bytes(5000, 1), two = Bytes(5000, 2);
    const PageDb::Page pages[] = {{1, 0, 5, one}, {1, 1, 5, two}};
    db.PutPages(pages);
    db.Flush();
  }
  for (const auto& entry : fs::directory_iterator(scratch / "pages")) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);  // within the first value
    file << "x";
  }
  PageDb db(scratch / "pages");
  auto out = Bytes(5000, 0);
  try {
    db.GetPage(1, 0, out);
    FAIL() << "a bad page was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
  }
}

}  // namespace
}  // namespace graphd::store
