// SPDX-License-Identifier: Apache-2.0
#include "format/input/edge_files.h"
#include "format/io/npy_file.h"
#include "format/partition/node_integers.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/unit/format/npy_bytes.h"

// Reads NumPy arrays: as they are, as edges, and as partitions of nodes.

namespace graphd::fuzz {
namespace {

using testing::NpyBytes;

void ReadEdges(const std::string& first, const std::string& second) {
  for (const TwoByTwo shape : {TwoByTwo::kEndsInRows, TwoByTwo::kEdgesInRows}) {
    Attempt([&] {
      NodeIds ids("_N");
      EdgesBeingRead edges{ids, ids, {}};
      ReadNpyEdges(first, shape, edges, {});
    });
  }
  Attempt([&] {
    NodeIds ids("_N");
    EdgesBeingRead edges{ids, ids, {}};
    ReadNpyEdges(first, second, edges, {});
  });
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"a.npy", "b.npy"});
  folder.Unpack(input);
  const std::string first = folder / "a.npy", second = folder / "b.npy";
  ReadEdges(first, second);
  Attempt([&] { ReadNodeIntegers(first, 4, 0, 3, "partition"); });
  Attempt([&] { Touch(NpyFile(first, NpyOrder::kAny).data()); });
  const Tensor mapped = MapNpy(first);
  Touch({mapped.data(), mapped.num_bytes()});
}

std::vector<std::string> Seeds() {
  return {
      Pack({{"a.npy", NpyBytes<int64_t>("<i8", {2, 3}, {0, 1, 2, 2, 1, 0})}}),
      Pack({{"a.npy", NpyBytes<uint32_t>("<u4", {3, 2}, {0, 1, 2, 2, 1, 0}, true)}}),
      Pack({{"a.npy", NpyBytes<int32_t>("<i4", {4}, {0, 1, 2, 3})},
            {"b.npy", NpyBytes<uint64_t>("<u8", {4}, {3, 2, 1, 0})}}),
      Pack({{"a.npy", NpyBytes<float>("<f4", {2, 2}, {0, 1, 2, 3})}}),
      Pack({{"a.npy", NpyBytes<uint8_t>("|u1", {4}, {0, 1, 2, 3})}}),
  };
}

}  // namespace graphd::fuzz
