// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/edges.h"
#include "format/dgl/graph.h"

// libFuzzer's entry point (clang only): reads graph files and tensor dictionaries from memory. The
// first byte selects the kind, 'g' or 'd'. Seeds: any graph.dgl or *_feat.dgl after that byte.

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphd;
  if (size == 0) return 0;
  const ByteReader reader(std::as_bytes(std::span(data + 1, size - 1)), "input");
  try {
    if (data[0] == 'g') {
      const DglGraph graph = ReadDglGraph(reader);
      const DglEdges edges(graph, "input");
    } else {
      ReadDglTensorDict(reader);
    }
  } catch (const Error&) {
  }
  return 0;
}
