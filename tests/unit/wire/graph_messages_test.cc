// SPDX-License-Identifier: Apache-2.0
#include "wire/graph_messages.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/strings.h"
#include "wire/received_graph.h"

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
    ReceivedGraph(graph.asReader(), "peer");
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "none";
}

const std::string kCorrupt = "corrupt: peer describes an impossible graph: ";

TEST(ReceivedGraph, RefusesAnEmptyListOfOwners) {
  EXPECT_EQ(ErrorOf([](wire::Graph::Builder graph) { graph.initNodes().initOwners(0); }),
            kCorrupt + "node_map: it contains no node");
}

// A graph with a mapped book of this many nodes, and a message that describes it.
struct MappedNodes {
  explicit MappedNodes(size_t count) {
    meta.graph_name = "g";
    meta.schema = Schema::Homogeneous();
    owners.resize(count);
    for (size_t i = 0; i < count; i++) owners[i] = i % 7 == 0;
    meta.book = PartitionBook(IdMap::FromOwners("node", owners, 2),
                              IdMap::FromRanges("edge", {{{0, 3}, {3, 5}}}));
    graph = message.initRoot<wire::Graph>();
    WriteGraph(meta, graph);
  }
  GraphMeta meta;
  std::vector<int32_t> owners;
  capnp::MallocMessageBuilder message;
  wire::Graph::Builder graph = nullptr;
};

TEST(ReceivedGraph, OwnersOfASmallMappedBookAreInTheMessage) {
  MappedNodes sent(16384);
  const ReceivedGraph received(sent.graph.asReader(), "peer");
  EXPECT_TRUE(received.missing().empty());
  const auto meta = received.Complete([](const auto&, auto) { FAIL(); });
  EXPECT_EQ(meta->book.nodes().Owner(NodeTypeId(0), 14), 1);
}

TEST(ReceivedGraph, OwnersOfALargeMappedBookAreNot) {
  MappedNodes sent(2'000'000);
  EXPECT_LT(sent.message.sizeInWords(), 200U);  // it is written on a data thread
  sent.graph.getNodes().setChecksum(ChecksumOfOwners(sent.owners));
  const ReceivedGraph received(sent.graph.asReader(), "peer");
  ASSERT_EQ(received.missing().size(), 1U);
  EXPECT_EQ(received.missing()[0].size, 2'000'000);
  const auto read = [&](const ReceivedGraph::Missing&, std::span<int32_t> owners) {
    std::copy(sent.owners.begin(), sent.owners.end(), owners.begin());
  };
  EXPECT_TRUE(received.IsSameAs(*received.Complete(read)));
  MappedNodes other(2'000'000);
  other.owners[5] = 1;
  other.meta.book = PartitionBook(IdMap::FromOwners("node", other.owners, 2),
                                  IdMap::FromRanges("edge", {{{0, 3}, {3, 5}}}));
  EXPECT_FALSE(received.IsSameAs(other.meta));
  EXPECT_THROW(received.Complete([&](const auto&, std::span<int32_t> owners) {
    std::copy(other.owners.begin(), other.owners.end(), owners.begin());
  }),
               Error);
}

TEST(ReceivedGraph, RefusesASizeThatCanNotBe) {
  for (const int64_t size : {int64_t{-1}, INT64_MAX}) {
    EXPECT_EQ(ErrorOf([&](wire::Graph::Builder graph) { graph.initNodes().setSize(size); }),
              StrCat(kCorrupt, "node_map has ", size, " ids"));
  }
}

TEST(ReceivedGraph, RefusesABookForWhichThereIsNoMemory) {
  MappedNodes sent(20'000);
  sent.graph.getNodes().setSize(int64_t{1} << 50);
  const ReceivedGraph received(sent.graph.asReader(), "peer");
  try {
    received.Complete([](const auto&, std::span<int32_t>) { FAIL() << "it was allocated"; });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_NE(std::string(error.what()).find("partition book of 1125899906842624 nodes"),
              std::string::npos)
        << error.what();
  }
}

TEST(ReceivedGraph, RefusesAnImpossibleNumberOfPartitionsBeforeItAllocates) {
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
