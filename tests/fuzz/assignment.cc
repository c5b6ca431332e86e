// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "format/external/run_state.h"
#include "format/partition/assign_nodes.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/unit/format/raw_graph_samples.h"

// Reads files with the partitions of nodes (graphctl partition --assignment), as text, compressed
// or .npy, with DGL's partition_meta.json, and the state of a run that was killed.

namespace graphd::fuzz {
namespace {

constexpr int64_t kNodes = 4;
constexpr const char* kStateKey = "key.json";

InputFolder& Folder() {
  static InputFolder folder({"partition_meta.json", "_N.txt", "_N.txt.gz", "_N.npy", kStateKey});
  return folder;
}

const RawGraph& Graph() {
  static const RawGraph graph = graphd::testing::HomogeneousGraph(kNodes, {{0, 1}, {1, 2}});
  return graph;
}

}  // namespace

void ReadInput(std::string_view input) {
  Folder().Unpack(input);
  RunState::Matches(Folder().path(), {{"input", "x"}});
  RunState::MatchesButForStart(Folder().path(), {{"input", "x"}});
  Attempt([] { RunState::CheckNoOther(Folder().path(), {{"input", "x"}}); });
  AssignOptions options;
  options.num_parts = 2;
  options.method = PartMethod::kFile;
  options.assignment = {Folder().path()};
  for (const std::vector<PartId>& owners : AssignByFile(Graph(), options)) {
    if (owners.size() != kNodes) std::abort();
    for (const PartId owner : owners) {
      if (owner < 0 || owner >= 2) std::abort();
    }
  }
}

std::vector<std::string> Seeds() {
  return {Pack({{"partition_meta.json", R"({"num_parts": 2})"}, {"_N.txt", "0\n1\n1\n0\n"}}),
          Pack({{"_N.txt", "0\n1\n1\n0\n"}, {kStateKey, R"({"input": "x"})"}}),
          Pack({{"_N.txt", "0 \r\n1\r\n1\r\n0"}, {kStateKey, R"({"input": "y"})"}})};
}

}  // namespace graphd::fuzz
