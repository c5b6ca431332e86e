// SPDX-License-Identifier: Apache-2.0
#include "wire/graph_messages.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

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

// Returns a short message whose root has, in its pointer `index`, a list of 2^20 structures
// without fields.
std::vector<capnp::word> WithHugeList(uint64_t pointers, uint64_t index) {
  std::vector<uint64_t> words(1, pointers << 48);  // a structure of `pointers` pointers follows
  words.resize(1 + pointers);
  words[1 + index] = (pointers - 1 - index) << 2 | 1 | uint64_t{7} << 32;  // a list at the end
  words.push_back(uint64_t{1} << 22);  // its tag: 2^20 elements of no words
  std::vector<capnp::word> message(words.size());
  std::memcpy(static_cast<void*>(message.data()), words.data(), words.size() * sizeof words[0]);
  return message;
}

TEST(BoundedList, RefusesMillionsOfStructuresInAShortMessage) {
  const std::vector<capnp::word> words = WithHugeList(2, 0);
  const kj::ArrayPtr<const capnp::word> segment(words.data(), words.size());
  capnp::SegmentArrayMessageReader message(kj::arrayPtr(&segment, 1));
  const auto info = message.getRoot<wire::SegmentInfo>();
  ASSERT_EQ(info.getArrays().size(), 1u << 20);
  try {
    ReadLayout(info, "peer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_STREQ(error.what(), "a message has 1048576 arrays, expected at most 65536");
  }
}

}  // namespace
}  // namespace graphd
