// SPDX-License-Identifier: Apache-2.0
#include "store/table_catalog.h"

#include <gtest/gtest.h>

#include "tests/unit/store/store_helpers.h"

namespace graphd::store {
namespace {

using graphd::testing::ScratchDirectory;

// A failed push ends the sequence of good pushes, and later pushes to other tables may be good,
// too. Their clients must be stored, because otherwise these pushes are applied twice if they are
// sent again.
TEST(TableCatalog, WritesAStateThatDiffersOnlyInItsClients) {
  const ScratchDirectory scratch;
  const StoreOptions options = testing::Options(scratch);
  PageDb db(scratch / "pages");
  MemoryBudget memory(1 << 20);
  TableCatalog catalog(options, db, memory, nullptr);
  StoreState state;
  state.lsn = 5;
  state.clients = {{{1, 1}, {.sequence = 3, .lsn = 5}}};
  catalog.WriteState(state);
  state.clients.push_back({{2, 2}, {.sequence = 1, .lsn = 7}});
  catalog.WriteState(state);
  const StoreState read = catalog.ReadState();
  EXPECT_EQ(read.lsn, 5U);
  ASSERT_EQ(read.clients.size(), 2U);
  EXPECT_EQ(read.clients[1].client.lsn, 7U);
}

}  // namespace
}  // namespace graphd::store
