// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/rng.h"
#include "store/store.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;

// A writer sets all elements of a row to the same number while readers read: a row with two numbers
// is torn.
TEST(TableReads, NeverSeeATornRow) {
  for (const size_t elements : {size_t{2}, size_t{3}, size_t{129}}) {
    const ScratchDirectory scratch;
    StoreOptions options;
    options.directory = scratch / "store";
    options.durability = Durability::kNone;
    options.write_back_seconds = 0.001;  // write-back locks pages, too
    Store store(options);
    TableSpec spec;
    spec.name = "rows";
    spec.dtype = DType::kInt32;
    spec.row_shape = {static_cast<int64_t>(elements)};
    spec.rows = 300;
    const auto table = store.OpenTable(spec);
    std::atomic<bool> stop = false;
    std::atomic<int64_t> changes_seen = 0;
    std::vector<std::thread> readers;
    for (int r = 0; r < 2; r++) {
      readers.emplace_back([&, r] {
        CounterRng rng(static_cast<uint64_t>(r));
        std::vector<int64_t> rows(20);
        std::vector<int32_t> values(rows.size() * elements);
        while (!stop) {
          for (int64_t& row : rows) row = static_cast<int64_t>(rng.Below(300));
          table->Read(rows, reinterpret_cast<std::byte*>(values.data()));
          for (size_t i = 0; i < rows.size(); i++) {
            if (values[i * elements] != 0) changes_seen++;
            for (size_t e = 1; e < elements; e++) {
              ASSERT_EQ(values[i * elements + e], values[i * elements]) << "row " << rows[i];
            }
          }
        }
      });
    }
    std::vector<int64_t> rows(300);
    std::vector<int32_t> payload(rows.size() * elements);
    for (size_t i = 0; i < rows.size(); i++) rows[i] = static_cast<int64_t>(i);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (int32_t n = 1; n <= 300 || changes_seen < 1000; n++) {
      if (std::chrono::steady_clock::now() > deadline) break;
      std::fill(payload.begin(), payload.end(), n);
      Push push;
      push.rule.kind = UpdateKind::kSet;
      push.client = {1, 1};
      push.sequence = static_cast<uint64_t>(n);
      push.rows = rows;
      push.payload = std::as_bytes(std::span(payload));
      store.Apply(table, push);
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
    EXPECT_GE(changes_seen, 1000);
  }
}

}  // namespace
}  // namespace graphd::store
