// SPDX-License-Identifier: Apache-2.0
#include "store/rows/full_pages.h"

#include <gtest/gtest.h>

#include <numeric>

#include "store/store.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;

TEST(FullPages, ReportsAHugePageWhenItIsComplete) {
  FullPages pages(2 * kHugePage + 100);
  std::vector<uint64_t> full;
  const auto add = [&](uint64_t begin, uint64_t end) {
    pages.Add(begin, end, [&](uint64_t at) { full.push_back(at); });
  };
  add(100, kHugePage - 100);
  add(kHugePage + 50, 2 * kHugePage + 100);
  add(0, 100);
  EXPECT_TRUE(full.empty());
  add(kHugePage - 100, kHugePage + 50);  // completes both huge pages
  EXPECT_EQ(full, (std::vector<uint64_t>{0, kHugePage}));
}

// 64 rows of 512 bytes are 32 KiB: a huge page has 4,096 rows.
TEST(FullPages, ATableCollapsesCompleteHugePagesAndKeepsItsRows) {
  const ScratchDirectory scratch;
  const graphd::testing::MemoryDirectory memory;
  StoreOptions options;
  options.directory = scratch / "store";
  options.memory_dir = memory.path();
  TableSpec spec;
  spec.name = "rows";
  spec.row_shape = {128};
  spec.rows = 10000;
  spec.initializer = Initializer::Uniform(-1, 1);
  spec.state = OptimizerState::kAdagrad;
  Store store(options);
  const auto table = store.OpenTable(spec);
  std::vector<int64_t> rows(4090);
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> before(rows.size() * 128), after(before.size());
  table->Touch(rows);
  table->Read(rows, reinterpret_cast<std::byte*>(before.data()));
  size_t collapsed = 0;
  while (table->CollapseOnePage()) collapsed++;
  // These are one of values and one of states, because the whole page of row 4,089 was loaded.
  EXPECT_EQ(collapsed, 2U);
  EXPECT_FALSE(table->CollapseOnePage());
  table->Read(rows, reinterpret_cast<std::byte*>(after.data()));
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace graphd::store
