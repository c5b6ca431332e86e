// SPDX-License-Identifier: Apache-2.0
#include "format/partition/node_numbering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/format/raw_graph_samples.h"

namespace graphd {
namespace {

using ::testing::ElementsAre;
using testing::HomogeneousGraph;

TEST(NodeNumbering, NodesAreOrderedByPartitionThenByOriginalId) {
  const std::vector<PartId> owners = {2, 0, 2, 0, 2};
  const NodeNumbering numbering = NumberNodes(owners, 3);
  EXPECT_THAT(numbering.new_ids.as<uint32_t>(), ElementsAre(2u, 0u, 3u, 1u, 4u));
  EXPECT_THAT(numbering.first, ElementsAre(0, 2, 2, 5));
  EXPECT_THAT(OriginalIds(owners, 2, 3), ElementsAre(0, 2, 4));
  EXPECT_TRUE(OriginalIds(owners, 1, 0).empty());
}

}  // namespace
}  // namespace graphd
