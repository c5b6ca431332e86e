// SPDX-License-Identifier: Apache-2.0
#include "wire/graph_messages.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace graphd {
namespace {

// Returns the error of reading a graph of one node type and one edge type, whose number of
// partitions and node map `fill` sets.
template <class Fill>
std::string ErrorOf(Fill&& fill) {
  capnp::MallocMessageBuilder message;
  auto graph = message.initRoot<wire::Graph>();
  graph.initNtypes(1).set(0, "n");
  auto etype = graph.initEtypes(1)[0];
  etype.setSrc("n");
  etype.setRel("to");
  etype.setDst("n");
  graph.setNumParts(1);
  auto edges = graph.initEdges().initRanges(2);
  edges.set(1, 4);
  fill(graph);
  try {
    ReadGraph(graph.asReader(), "peer");
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "none";
}

const std::string kCorrupt = "corrupt: peer describes an impossible graph: ";

TEST(ReadGraph, RefusesAnEmptyListOfOwners) {
  EXPECT_EQ(ErrorOf([](wire::Graph::Builder graph) { graph.initNodes().initOwners(0); }),
            kCorrupt + "node_map: it contains no node");
}

TEST(ReadGraph, RefusesAnImpossibleNumberOfPartitionsBeforeItAllocates) {
  for (const int32_t parts : {INT32_MIN, -1, 0, (1 << 20) + 1, INT32_MAX}) {
    const auto fill = [parts](wire::Graph::Builder graph) {
      graph.setNumParts(parts);
      graph.initNodes().initOwners(4);
    };
    EXPECT_EQ(ErrorOf(fill), StrCat(kCorrupt, parts, " partitions, expected 1 to 1048576"));
  }
}

}  // namespace
}  // namespace graphd
