// SPDX-License-Identifier: Apache-2.0
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>

#include "client/link/attach_info.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/wire_input.h"
#include "wire/graph_messages.h"
#include "wire/hop_messages.h"
#include "wire/received_graph.h"
#include "wire/status.h"
#include "wire/tensor_messages.h"
#include "wire/tensor_stream.h"

// Reads messages of the protocol: bytes as they may arrive, and valid messages whose fields have
// any values. The first byte chooses the kind of message. Limits are those of a connection.

namespace graphd::fuzz {
namespace {

void FillMap(FuzzedDataProvider& data, wire::IdMap::Builder map) {
  if (data.ConsumeBool()) {
    FillData(data, [&](kj::uint size) { return map.initOwners(size); });
    return;
  }
  auto ranges = map.initRanges(data.ConsumeIntegralInRange<kj::uint>(0, 12));
  int64_t end = 0;
  for (kj::uint i = 0; i < ranges.size(); i++) {
    // Most ranges follow one another, as they must.
    const bool follows = data.ConsumeIntegral<uint8_t>() != 0;
    if (i % 2 == 1) end += data.ConsumeIntegral<uint8_t>();
    ranges.set(i, follows ? end : data.ConsumeIntegral<int64_t>());
  }
}

void FillGraph(FuzzedDataProvider& data, wire::Graph::Builder graph) {
  graph.setName(Text(data));
  auto ntypes = graph.initNtypes(data.ConsumeIntegralInRange<kj::uint>(0, 3));
  for (kj::uint i = 0; i < ntypes.size(); i++) ntypes.set(i, Text(data));
  auto etypes = graph.initEtypes(data.ConsumeIntegralInRange<kj::uint>(0, 3));
  const auto end = [&]() -> kj::StringPtr {
    const bool known = ntypes.size() > 0 && data.ConsumeIntegral<uint8_t>() != 0;
    return known ? kj::StringPtr(ntypes[data.ConsumeIntegral<uint8_t>() % ntypes.size()])
                 : kj::StringPtr("other");
  };
  for (auto etype : etypes) {
    etype.setSrc(end());
    etype.setRel(Text(data));
    etype.setDst(end());
  }
  graph.setNumParts(data.ConsumeIntegral<uint8_t>() == 0 ? data.ConsumeIntegral<int32_t>()
                                                         : data.ConsumeIntegralInRange(1, 3));
  FillMap(data, graph.initNodes());
  FillMap(data, graph.initEdges());
  graph.setPartMethod(Text(data));
  graph.setHaloHops(data.ConsumeIntegral<int32_t>());
}

void FillShape(FuzzedDataProvider& data, capnp::List<int64_t>::Builder shape) {
  for (kj::uint i = 0; i < shape.size(); i++) {
    shape.set(
        i, data.ConsumeBool() ? data.ConsumeIntegral<int64_t>() : data.ConsumeIntegral<int8_t>());
  }
}

void FillSegment(FuzzedDataProvider& data, wire::SegmentInfo::Builder segment) {
  for (auto array : segment.initArrays(data.ConsumeIntegralInRange<kj::uint>(0, 4))) {
    array.setName(Text(data));
    array.setDtype(data.ConsumeIntegral<uint8_t>());
    FillShape(data, array.initShape(data.ConsumeIntegralInRange<kj::uint>(0, 4)));
    array.setOffset(data.ConsumeIntegral<uint64_t>());
    array.setBytes(data.ConsumeIntegral<uint64_t>());
  }
  segment.setTotalBytes(data.ConsumeIntegral<uint64_t>());
}

void FillFeatures(FuzzedDataProvider& data, wire::PartitionInfo::Builder partition) {
  for (auto feature : partition.initFeatures(data.ConsumeIntegralInRange<kj::uint>(0, 4))) {
    feature.setIsEdge(data.ConsumeBool());
    feature.setType(data.ConsumeIntegralInRange<int32_t>(-1, 3));
    feature.setName(Text(data));
    feature.setDtype(data.ConsumeIntegralInRange<uint8_t>(0, 14));
    FillShape(data, feature.initRowShape(data.ConsumeIntegralInRange<kj::uint>(0, 4)));
    if (data.ConsumeBool()) {
      auto encoding = feature.initEncoding();
      encoding.setStored(data.ConsumeIntegralInRange<uint8_t>(0, 14));
      encoding.setScale(data.ConsumeFloatingPoint<float>());
    }
  }
}

// Writes what was read, to compare nothing but to use every value.
template <class Wire, class Write>
void WriteBack(Write&& write) {
  capnp::MallocMessageBuilder message;
  write(message.initRoot<Wire>());
}

void ReadOneGraph(wire::Graph::Reader in) {
  const ReceivedGraph graph(in, "peer");
  if (!graph.missing().empty()) return;
  const auto meta = graph.Complete([](const auto&, auto) {});
  WriteBack<wire::Graph>([&](auto out) { WriteGraph(*meta, out); });
  const IdMap& nodes = meta->book.nodes();
  for (int32_t type = 0; type < nodes.num_types(); type++) {
    if (nodes.count(type) > 0) nodes.LocalRow(type, nodes.count(type) - 1);
  }
}

void ReadHop(wire::Session::HopParams::Reader in) {
  for (const auto seeds : in.getSeeds()) ReadSeeds(seeds);
  for (const auto rule : in.getRules()) ReadRule(rule);
  for (const auto rows : in.getRows()) ReadSeedRows(rows);
}

void ReadOneStatus(wire::Status::Reader in) {
  const ServerStatus status = ReadStatus(in);
  WriteBack<wire::Status>([&](auto out) { WriteStatus(status, out); });
}

void ReadOneShare(wire::TensorInfo::Reader in) {
  const TensorShare share = ReadShare(in);
  WriteBack<wire::TensorInfo>([&](auto out) { WriteShare(share, out); });
}

void ReadPartition(wire::PartitionInfo::Reader in) {
  const Schema schema({"u", "v"}, {{"u", "to", "v"}});
  ReadFeatures(in, schema);
  RowEncodings encodings;
  ReadEncodings(in, encodings);
}

// Reads a message whose fields come from the input.
void ReadFields(uint8_t kind, FuzzedDataProvider& data) {
  capnp::MallocMessageBuilder message;
  switch (kind % 4) {
    case 0:
      FillGraph(data, message.initRoot<wire::Graph>());
      return ReadOneGraph(message.getRoot<wire::Graph>());
    case 1:
      FillSegment(data, message.initRoot<wire::SegmentInfo>());
      ReadLayout(message.getRoot<wire::SegmentInfo>(), "peer");
      return;
    case 2:
      FillFeatures(data, message.initRoot<wire::PartitionInfo>());
      return ReadPartition(message.getRoot<wire::PartitionInfo>());
    default:
      FillHop(data, message.initRoot<wire::Session::HopParams>());
      return ReadHop(message.getRoot<wire::Session::HopParams>());
  }
}

// Reads the bytes as a message.
void ReadBytes(uint8_t kind, kj::ArrayPtr<const capnp::word> words) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = VisitLimit(words.asBytes().size());
  capnp::FlatArrayMessageReader message(words, options);
  switch (kind % 8) {
    case 0:
      return ReadOneGraph(message.getRoot<wire::Graph>());
    case 1:
      ReadLayout(message.getRoot<wire::SegmentInfo>(), "peer");
      return;
    case 2:
      return ReadPartition(message.getRoot<wire::PartitionInfo>());
    case 3:
      return ReadHop(message.getRoot<wire::Session::HopParams>());
    case 4:
      return ReadOneStatus(message.getRoot<wire::Status>());
    case 5:
      return ReadOneShare(message.getRoot<wire::TensorInfo>());
    case 6:
      ReadMember(message.getRoot<wire::Member>());
      return;
    default:
      CheckHello(message.getRoot<wire::Hello>(), "peer");
  }
}

// Returns a seed for ReadBytes.
template <class Wire, class Write>
std::string Seed(char kind, Write&& write) {
  capnp::MallocMessageBuilder message;
  write(message.initRoot<Wire>());
  return Flat(kind, message);
}

GraphMeta TestGraph() {
  GraphMeta meta;
  meta.graph_name = "g";
  meta.schema = Schema({"u", "v"}, {{"u", "to", "v"}});
  meta.book = PartitionBook(IdMap::FromRanges("node", {{{0, 2}, {3, 5}}, {{2, 3}, {5, 9}}}),
                            IdMap::FromRanges("edge", {{{0, 4}, {4, 7}}}));
  return meta;
}

ServerStatus TestStatus() {
  ServerStatus status{};
  status.server_name = "s";
  status.state = "ready";
  status.partitions.push_back({0, 3, 4, 4096, "4 KiB", 0, {{"4 KiB", 4096}}});
  status.jobs.push_back({"j", "train", 2, 1.5, {{JobRole::kTrainer, 0, 7, "unix"}}});
  status.tensors.emplace_back().info.spec.name = "emb";
  status.store.emplace().directory = "/d";
  return status;
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  const auto kind = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  try {
    if (kind >= 128) {
      FuzzedDataProvider data(reinterpret_cast<const uint8_t*>(input.data()), input.size());
      ReadFields(kind, data);
    } else {
      ReadBytes(kind, Words(input));
    }
  } catch (const kj::Exception&) {
    // Cap'n Proto refuses the message; its RPC system sends the reason to the peer.
  }
}

std::vector<std::string> Seeds() {
  const GraphMeta meta = TestGraph();
  SegmentLayout layout;
  layout.Add("csc/0/indptr", DType::kUInt64, {4});
  layout.Add("node/0/x", DType::kFloat32, {3, 2});
  const std::vector<int64_t> ids{0, 1};
  HopRequest hop;
  hop.seeds.push_back({1, {.ids = ids}});
  hop.rules.push_back({.rule = {.etype = 0, .fanout = 5}});
  hop.rows.push_back({0, 0, "x"});
  TensorShare share;
  share.info.spec.name = "emb";
  share.info.spec.row_shape = {4};
  std::vector<std::string> seeds{
      Seed<wire::Graph>(0, [&](auto out) { WriteGraph(meta, out); }),
      Seed<wire::SegmentInfo>(1, [&](auto out) { WriteLayout(layout, out); }),
      Seed<wire::Session::HopParams>(3, [&](auto out) { WriteHop(meta, 0, hop, out); }),
      Seed<wire::Status>(4, [&](auto out) { WriteStatus(TestStatus(), out); }),
      Seed<wire::TensorInfo>(5, [&](auto out) { WriteShare(share, out); }),
      Seed<wire::Member>(6, [&](auto out) { WriteMember({.job_id = "j", .command = "c"}, out); }),
      Seed<wire::Hello>(7, [&](auto out) { WriteHello(out); }),
  };
  for (char kind = 0; kind < 4; kind++) {
    seeds.push_back(static_cast<char>(kind - 128) + std::string(200, '\1'));
  }
  return seeds;
}

}  // namespace graphd::fuzz
