// SPDX-License-Identifier: Apache-2.0
#include "format/load_part_config.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/unit/format/npy_bytes.h"

// Reads a part config, DGL's or native, with the maps in NumPy files that old ones have.

namespace graphd::fuzz {
namespace {

using testing::NpyBytes;

void TouchMap(const IdMap& map) {
  for (int32_t type = 0; type < map.num_types(); type++) {
    for (PartId part = 0; part < map.num_parts(); part++) map.count_in(part, type);
    const int64_t count = map.count(type);
    for (const int64_t id : {int64_t{0}, count / 2, count - 1}) {
      if (id < 0 || id >= count) continue;
      map.FromLocalRow(map.Owner(type, id), type, map.LocalRow(type, id));
      map.LocalHomo(map.ToHomo(type, id));
    }
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"g.json", "node_map.npy", "edge_map.npy"});
  folder.Unpack(input);
  const PartConfig config = LoadPartConfig(folder / "g.json");
  TouchMap(config.meta->book.nodes());
  TouchMap(config.meta->book.edges());
}

std::vector<std::string> Seeds() {
  const std::string mapped =
      R"({"graph_name": "g", "num_parts": 2, "num_nodes": 3, "num_edges": 2,
          "node_map": "/data/g/node_map.npy", "edge_map": "edge_map.npy", "halo_hops": 1,
          "ntypes": {"_N": 0}, "etypes": {"_E": 0}, "part_method": "metis",
          "part-0": {"part_graph": "a/graph.dgl", "node_feats": "b", "edge_feats": "c"},
          "part-1": {"part_graph": "d/graph.dgl", "node_feats": "e", "edge_feats": "f"}})";
  const std::string native =
      R"({"format": "graphd-1", "graph_name": "g", "num_parts": 1, "num_nodes": 3, "num_edges": 2,
          "node_map": {"u": [[0, 2]], "v": [[2, 3]]}, "edge_map": {"u:to:v": [[0, 2]]},
          "ntypes": {"u": 0, "v": 1}, "etypes": {"u:to:v": 0},
          "part-0": {"part_graph": "part0/partition.json"}})";
  return {
      Pack({{"g.json", Fixture("dgl_bytes/typed_2p/g.json")}}),
      Pack({{"g.json", Fixture("dgl_bytes/homogeneous_2p/g.json")}}),
      Pack({{"g.json", native}}),
      Pack({{"g.json", mapped},
            {"node_map.npy", NpyBytes<int64_t>("<i8", {3}, {0, 1, 0})},
            {"edge_map.npy", NpyBytes<uint8_t>("|u1", {2}, {1, 0})}}),
  };
}

}  // namespace graphd::fuzz
