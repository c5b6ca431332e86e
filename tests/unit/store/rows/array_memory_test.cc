// SPDX-License-Identifier: Apache-2.0
#include "store/rows/array_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/huge_array.h"
#include "base/huge_pages.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

using Pages = ArrayMemory::Pages;

constexpr uint64_t kArrayBytes = 20 * kHugePage + 12345;

struct Range {
  uint64_t begin, bytes;
  bool operator==(const Range&) const = default;
};

// An array whose allocations are recorded, and can fail.
struct Recorded {
  explicit Recorded(Pages pages)
      : memory(data.data(), kArrayBytes, pages, /*collapses=*/true,
               {[this](uint64_t begin, uint64_t bytes) {
                  if (fails || bytes > largest) Throw(ErrorCode::kOverloaded, "no memory");
                  allocated.push_back({begin, bytes});
                },
                [this](uint64_t begin, uint64_t bytes) {
                  released.push_back({begin, bytes});
                },
                [this] { return room; }}) {}

  HugeArray<std::byte> data{kArrayBytes, "a test's array"};
  std::vector<Range> allocated, released;
  bool fails = false;
  uint64_t largest = UINT64_MAX, room = UINT64_MAX;
  ArrayMemory memory;
};

uint64_t Take(ArrayMemory& memory, uint64_t begin, uint64_t end) {
  uint64_t taken = 0;
  memory.Take(begin, end, taken);
  return taken;
}

TEST(ArrayMemory, SmallPagesAreAllocatedAndFreedOneByOne) {
  Recorded array(Pages::kSmall);
  EXPECT_EQ(Take(array.memory, 100, 5000), 8192U);
  EXPECT_EQ(Take(array.memory, 5000, 9000), 4096U);
  EXPECT_EQ(array.allocated, (std::vector<Range>{{0, 8192}, {8192, 4096}}));
  EXPECT_EQ(array.memory.Give(100, 5000), 4096U);  // the other block has the second range, too
  EXPECT_EQ(array.memory.Give(5000, 9000), 8192U);
  EXPECT_EQ(array.released, (std::vector<Range>{{0, 4096}, {4096, 8192}}));
}

TEST(ArrayMemory, HugePagesAreAllocatedInGroups) {
  constexpr uint64_t kGroup = ArrayMemory::kGroup;
  Recorded array(Pages::kHuge);
  EXPECT_EQ(array.memory.MaxBytes(kGroup - 1, kGroup + 1), 2 * kGroup);
  EXPECT_EQ(Take(array.memory, kGroup - 1, kGroup + 1), 2 * kGroup);
  EXPECT_EQ(Take(array.memory, 0, 2 * kGroup), 0U);
  EXPECT_EQ(Take(array.memory, kArrayBytes - 1, kArrayBytes), kArrayBytes - 2 * kGroup);
  EXPECT_EQ(
      array.allocated,
      (std::vector<Range>{{0, kGroup}, {kGroup, kGroup}, {2 * kGroup, kArrayBytes - 2 * kGroup}}));
  EXPECT_TRUE(std::ranges::all_of(array.data.span(), [](std::byte b) { return b == std::byte{}; }));
  EXPECT_FALSE(array.memory.CollapseOnePage());
  EXPECT_EQ(array.memory.Give(kGroup - 1, kGroup + 1), 0U);
}

TEST(ArrayMemory, WithoutRoomAGroupIsAllocatedInBlocks) {
  constexpr uint64_t kGroup = ArrayMemory::kGroup;
  for (const bool fails : {false, true}) {
    Recorded array(Pages::kHuge);
    EXPECT_EQ(Take(array.memory, 0, 100), kGroup);
    // Either there is no room for another group, or its allocation fails.
    array.room = fails ? UINT64_MAX : 1000;
    array.largest = fails ? 1 << 20 : UINT64_MAX;
    EXPECT_EQ(Take(array.memory, kGroup - 10, kGroup + 10), 4096U);
    EXPECT_EQ(Take(array.memory, kGroup + 10, kGroup + 5000), 4096U);
    EXPECT_EQ(array.allocated,
              (std::vector<Range>{{0, kGroup}, {kGroup, 4096}, {kGroup + 4096, 4096}}));
    EXPECT_EQ(array.memory.Give(kGroup + 10, kGroup + 5000), 4096U);
    array.fails = true;
    uint64_t taken = 7;
    EXPECT_THROW(array.memory.Take(kGroup - 10, kGroup + 5000, taken), Error);
    EXPECT_EQ(taken, 7U);
    array.fails = false;
    EXPECT_EQ(Take(array.memory, kGroup - 10, kGroup + 5000), 4096U);
  }
}

TEST(ArrayMemory, AFailedAllocationIsTriedAgain) {
  for (const Pages pages : {Pages::kSmall, Pages::kCollapsed, Pages::kHuge}) {
    Recorded array(pages);
    array.fails = true;
    uint64_t taken = 7;
    EXPECT_THROW(array.memory.Take(100, 5000, taken), Error);
    EXPECT_EQ(taken, 7U);
    array.fails = false;
    EXPECT_EQ(Take(array.memory, 100, 5000), 8192U);
    EXPECT_EQ(array.allocated.size(), 1U);
  }
}

TEST(ArrayMemory, OnlyHugePagesThatAreAllInUseCollapse) {
  Recorded array(Pages::kCollapsed);
  Take(array.memory, 0, kHugePage);
  array.memory.SetUsed(0, kHugePage - 1);
  EXPECT_FALSE(array.memory.CollapseOnePage());
  array.memory.SetUsed(kHugePage - 1, kHugePage);
  EXPECT_TRUE(array.memory.CollapseOnePage());
  EXPECT_FALSE(array.memory.CollapseOnePage());
}

TEST(ArrayMemory, ThreadsAllocateEachHugePageOnce) {
  HugeArray<std::byte> data(kArrayBytes, "a test's array");
  std::atomic<uint64_t> allocated = 0, taken = 0;
  ArrayMemory memory(data.data(), kArrayBytes, Pages::kHuge, /*collapses=*/false,
                     {.allocate = [&](uint64_t, uint64_t bytes) { allocated += bytes; }});
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      constexpr uint64_t kPage = 32 << 10;
      for (uint64_t page = t; (page + 1) * kPage <= kArrayBytes; page += 4) {
        taken += Take(memory, page * kPage, (page + 1) * kPage);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocated, kArrayBytes);
  EXPECT_EQ(taken, kArrayBytes);
}

}  // namespace
}  // namespace graphd::store
