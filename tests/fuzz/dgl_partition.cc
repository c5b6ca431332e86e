// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/touch.h"

// Loads a partition in DGL's format: a graph file and two tensor dictionaries.

namespace graphd::fuzz {
namespace {

const std::string kGraph = "part0/graph.dgl";
// The bytes of a graph file that no reader uses. They are not in the inputs, so that mutations
// don't go there.
constexpr size_t kUnusedBegin = 32, kUnusedEnd = 4096;

std::string Seed(const std::string& fixture, const std::string& config) {
  const auto read = [&](const std::string& name) { return Fixture(StrCat(fixture, "/", name)); };
  std::string graph = read(kGraph + ".gz");
  graph.erase(kUnusedBegin, kUnusedEnd - kUnusedBegin);
  return Pack({{kGraph, graph},
               {"part0/node_feat.dgl", read("part0/node_feat.dgl.gz")},
               {"part0/edge_feat.dgl", read("part0/edge_feat.dgl.gz")},
               {"g.json", read(config)}});
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"g.json", kGraph, "part0/node_feat.dgl", "part0/edge_feat.dgl"});
  std::string whole(input);
  const std::string begin = StrCat("@@ ", kGraph, "\n");
  const size_t graph = whole.find(begin);
  if (graph != whole.npos && whole.size() - graph - begin.size() >= kUnusedBegin) {
    whole.insert(graph + begin.size() + kUnusedBegin, kUnusedEnd - kUnusedBegin, '\0');
  }
  folder.Unpack(whole);
  const PartConfig config = LoadPartConfig(folder / "g.json");
  Attempt([&] { EstimatePartitionBytes(config, 0); });
  TouchPartition(*LoadPartition(config, 0));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const char* const name : {"typed_2p", "typed_2p_hops2_all", "typed_1p_csr", "homogeneous_1p",
                                 "homogeneous_2p_hops2_csc", "homogeneous_3p_all"}) {
    seeds.push_back(Seed(StrCat("dgl_bytes/", name), "g.json"));
  }
  return seeds;
}

}  // namespace graphd::fuzz
