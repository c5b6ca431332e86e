// SPDX-License-Identifier: Apache-2.0
#include "store/rows/array_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/huge_array.h"
#include "base/huge_pages.h"
#include "base/memory_limit.h"
#include "graphd/error.h"

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
                  if (fails) Throw(ErrorCode::kOverloaded, "no memory");
                  allocated.push_back({begin, bytes});
                },
                [this](uint64_t begin, uint64_t bytes) {
                  released.push_back({begin, bytes});
                }}) {}

  HugeArray<std::byte> data{kArrayBytes, "a test's array"};
  std::vector<Range> allocated, released;
  bool fails = false;
  ArrayMemory memory;
};

TEST(ArrayMemory, SmallPagesAreAllocatedAndFreedOneByOne) {
  Recorded array(Pages::kSmall);
  EXPECT_EQ(array.memory.Take(100, 5000), 8192U);
  EXPECT_EQ(array.memory.Take(5000, 9000), 4096U);
  EXPECT_EQ(array.allocated, (std::vector<Range>{{0, 8192}, {8192, 4096}}));
  EXPECT_EQ(array.memory.Give(100, 5000), 4096U);  // the other block has the second range, too
  EXPECT_EQ(array.memory.Give(5000, 9000), 8192U);
  EXPECT_EQ(array.released, (std::vector<Range>{{0, 4096}, {4096, 8192}}));
}

TEST(ArrayMemory, HugePagesAreAllocatedInGroups) {
  Recorded array(Pages::kHuge);
  constexpr uint64_t kGroup = 8 * kHugePage;
  EXPECT_EQ(array.memory.MaxBytes(kGroup - 1, kGroup + 1), 2 * kGroup);
  EXPECT_EQ(array.memory.Take(kGroup - 1, kGroup + 1), 2 * kGroup);
  EXPECT_EQ(array.memory.Take(0, 2 * kGroup), 0U);
  EXPECT_EQ(array.memory.Take(kArrayBytes - 1, kArrayBytes), kArrayBytes - 2 * kGroup);
  EXPECT_EQ(
      array.allocated,
      (std::vector<Range>{{0, kGroup}, {kGroup, kGroup}, {2 * kGroup, kArrayBytes - 2 * kGroup}}));
  EXPECT_TRUE(std::ranges::all_of(array.data.span(), [](std::byte b) { return b == std::byte{}; }));
  EXPECT_FALSE(array.memory.CollapseOnePage());
}

TEST(ArrayMemory, AFailedAllocationIsTriedAgain) {
  for (const Pages pages : {Pages::kSmall, Pages::kCollapsed, Pages::kHuge}) {
    Recorded array(pages);
    array.fails = true;
    EXPECT_THROW(array.memory.Take(100, 5000), Error);
    EXPECT_EQ(array.released.size(), 1U);
    array.fails = false;
    EXPECT_GE(array.memory.Take(100, 5000), 8192U);
    EXPECT_EQ(array.allocated.size(), 1U);
  }
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
        taken += memory.Take(page * kPage, (page + 1) * kPage);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocated, kArrayBytes);
  EXPECT_EQ(taken, kArrayBytes);
}

TEST(ArrayMemory, HugePagesAreForArraysThatFitIntoMemory) {
  EXPECT_EQ(ArrayMemory::PagesFor(uint64_t{1} << 20), Pages::kCollapsed);
  EXPECT_EQ(ArrayMemory::PagesFor(uint64_t{64} << 20), Pages::kHuge);
  EXPECT_EQ(ArrayMemory::PagesFor(TotalMemory()), Pages::kCollapsed);
}

}  // namespace
}  // namespace graphd::store
