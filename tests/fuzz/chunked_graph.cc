// SPDX-License-Identifier: Apache-2.0
#include "format/input/chunked.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/touch.h"
#include "tests/unit/format/npy_bytes.h"

// Reads a chunked graph: its metadata.json and the files that this names.

namespace graphd::fuzz {

using testing::NpyBytes;

void ReadInput(std::string_view input) {
  static InputFolder folder(
      {"metadata.json", "e.csv", "f.csv", "p.npy", "x.npy", "z.npy", "y.csv"});
  folder.Unpack(input);
  TouchGraph(ReadChunked(folder / "metadata.json"));
}

std::vector<std::string> Seeds() {
  const std::string metadata =
      R"({"graph_name": "g", "node_type": ["u", "v"], "num_nodes_per_chunk": [[3, 2], [2, 1]],
"edge_type": ["u:to:u", "u:of:v"], "num_edges_per_chunk": [[2, 1], [1]],
"edges": {"u:to:u": {"format": {"name": "csv"}, "data": ["e.csv", "f.csv"]},
"u:of:v": {"format": {"name": "numpy"}, "data": ["p.npy"]}},
"node_data": {"u": {"x": {"format": {"name": "numpy"}, "data": ["x.npy", "/moved/z.npy"]}},
"v": {"y": {"format": {"name": "csv"}, "data": ["y.csv"]}}}})";
  const std::string homogeneous =
      R"({"node_type": ["u"], "num_nodes_per_type": [2], "edge_type": ["u:to:u"],
"num_edges_per_type": [1], "edges": {"u:to:u": {"format": {"name": "csv"}, "data": ["e.csv"]}},
"edge_data": {"u:to:u": {"w": {"format": {"name": "numpy"}, "data": ["x.npy"]}}}})";
  return {
      Pack({{"metadata.json", metadata},
            {"e.csv", "0 4\n1 1\n"},
            {"f.csv", "4 0\n"},
            {"p.npy", NpyBytes<int64_t>("<i8", {1, 2}, {3, 2})},
            {"x.npy", NpyBytes<float>("<f4", {3, 2}, {0, 1, 2, 3, 4, 5})},
            {"z.npy", NpyBytes<float>("<f4", {2, 2}, {6, 7, 8, 9})},
            {"y.csv", "1\n2\n3\n"}}),
      Pack({{"metadata.json", homogeneous},
            {"e.csv", "0\t1\n"},
            {"x.npy", NpyBytes<int16_t>("<i2", {1}, {7})}}),
  };
}

}  // namespace graphd::fuzz
