// SPDX-License-Identifier: Apache-2.0
// Tests of what the daemon copies of a hop that is too large.
#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "daemon/graph/hop_job.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

TEST(HopBounds, ListsOfSeedsAreNotCopiedBeyondTheMostInAll) {
  const ScratchDirectory scratch;
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 1;
  options.method = PartMethod::kRandom;
  options.output = scratch.path();
  const PartConfig config =
      LoadPartConfig(PartitionGraph(HomogeneousGraph(100, {{0, 1}}), options).part_config);
  const std::shared_ptr<const Partition> partition = LoadPartition(config, 0);
  // There is memory for the two lists that together have as many seeds as a hop may have.
  constexpr size_t kListBytes = kMaxIds / 2 * 4;
  const auto account = std::make_shared<MemoryAccount>("clients", 3 * kListBytes - 1, "");
  const auto pool = BufferPool::Create()->ChargedTo(account);
  capnp::MallocMessageBuilder message;
  auto hop = message.initRoot<wire::Session::HopParams>();
  auto lists = hop.initSeeds(3);
  for (auto list : lists) list.initIds(kListBytes);
  const auto indexes = std::make_shared<EdgeIndexes>(partition);
  try {
    const HopJob job(partition, indexes, pool, hop.asReader());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("6291456 seeds in one hop, at most 4194304"));
  }
  EXPECT_EQ(account->used(), 0u);
}

}  // namespace
}  // namespace graphd::testing
