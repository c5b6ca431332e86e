// SPDX-License-Identifier: Apache-2.0
#include "store/store_recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/small_disk.h"
#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

using namespace graphd::store::testing;
using graphd::testing::MemoryDirectory;
using graphd::testing::ScratchDirectory;
using graphd::testing::SmallDisk;
using ::testing::HasSubstr;

// The shortage ends the start, because the push is still in the log.
TEST(StoreRecovery, APushForWhichThereIsNoMemoryAtAStartIsNotLost) {
  const ScratchDirectory scratch, scratch_of_copy;
  const StoreOptions options = Options(scratch);
  StoreOptions copy = Options(scratch_of_copy);
  TableSpec large = Spec("large", OptimizerState::kNone);
  large.rows = 64'000;
  large.row_shape = {256};  // 62.5 MiB
  {
    Store store(options);
    const auto table = store.OpenTable(large);
    const std::vector<float> values(256, 42);
    for (int64_t row = 0; row < large.rows; row += 64) {
      Push push;
      push.rule.kind = UpdateKind::kSet;
      push.client = {1, 1};
      push.sequence = static_cast<uint64_t>(row) + 1;
      push.rows = {&row, 1};
      push.payload = std::as_bytes(std::span(values));
      store.Apply(table, push);
    }
    CopyStore(options, copy.directory);
  }
  const SmallDisk small(40);
  copy.memory_dir = DirName(small / "x");
  EXPECT_THAT(Failure([&] { Store store(copy); }), HasSubstr("overloaded: "));
  const MemoryDirectory memory;
  copy.memory_dir = memory.path();
  Store store(copy);
  const auto table = store.FindTable("large");
  EXPECT_EQ(store.TroubleOf(*table), "");
  const std::vector<float> rows = AllRows(*table);
  for (size_t row = 0; row < rows.size() / 256; row += 64) ASSERT_EQ(rows[row * 256], 42);
}

}  // namespace
}  // namespace graphd::store
