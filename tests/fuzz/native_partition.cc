// SPDX-License-Identifier: Apache-2.0
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "format/verify.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/touch.h"
#include "tests/unit/format/raw_graph_samples.h"

// Loads and verifies a partition in graphd's format: a header and its segments.

namespace graphd::fuzz {
namespace {

std::string Seed(const RawGraph& graph) {
  const testing::ScratchDirectory directory;
  PartitionOptions options;
  options.graph_name = "g";
  options.method = PartMethod::kRandom;
  options.output = directory.path();
  PartitionGraph(graph, options);
  return PackDirectory(directory.path());
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"g.json", "part0/partition.json", "part0/graph.seg",
                             "part0/node_feat.seg", "part0/edge_feat.seg"});
  folder.Unpack(input);
  const PartConfig config = LoadPartConfig(folder / "g.json");
  VerifyGraph(config);
  // A checksum would hide damaged arrays from the code that checks them.
  TouchPartition(*LoadPartition(config, 0, {.progress = {}, .verify_checksums = false}));
}

std::vector<std::string> Seeds() {
  return {Seed(testing::HomogeneousGraph(5, {{0, 1}, {1, 2}, {4, 1}, {0, 1}})),
          Seed(testing::TypedGraph(3, 4, 1))};
}

}  // namespace graphd::fuzz
