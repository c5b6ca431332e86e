// SPDX-License-Identifier: Apache-2.0
#include "wire/graph_messages.h"

#include "base/strings.h"
#include "wire/bounded.h"
#include "wire/received_graph.h"

namespace graphd {
namespace {

constexpr size_t kMaxVersion = 256;  // bytes

std::vector<int64_t> ReadShape(capnp::List<int64_t>::Reader in) {
  std::vector<int64_t> shape;
  for (int64_t extent : in) shape.push_back(extent);
  return shape;
}

void WriteIdMap(const IdMap& map, wire::IdMap::Builder out) {
  if (HasSeparateOwners(map)) {
    out.setSize(map.total());
    return;
  }
  if (!map.is_range()) {
    const auto owners = map.owners();
    out.setOwners(
        kj::arrayPtr(reinterpret_cast<const kj::byte*>(owners.data()), owners.size_bytes()));
    return;
  }
  const auto parts = static_cast<kj::uint>(map.num_parts());
  auto flat = out.initRanges(static_cast<kj::uint>(map.num_types()) * parts * 2);
  kj::uint i = 0;
  for (const auto& of_type : map.ranges()) {
    for (const IdMap::Range& range : of_type) {
      flat.set(i++, range.begin);
      flat.set(i++, range.end);
    }
  }
}

}  // namespace

void WriteHello(wire::Hello::Builder hello) {
  hello.setProtocol(wire::PROTOCOL_VERSION);
  hello.setVersion(GRAPHD_VERSION);
  hello.setFeatures(kFeatures);
}

void CheckHello(wire::Hello::Reader hello, const std::string& peer) {
  if (hello.getProtocol() == wire::PROTOCOL_VERSION) return;
  Throw(ErrorCode::kVersion, peer, " (version ",
        BoundedText(hello.getVersion(), kMaxVersion, "its version"), ") speaks protocol ",
        hello.getProtocol(), ", this side (version " GRAPHD_VERSION ") protocol ",
        wire::PROTOCOL_VERSION, "; install the same graphd release on both");
}

std::string ReadFeatureName(capnp::Text::Reader in) {
  return BoundedText(in, kMaxFeatureName, "the name of a feature");
}

void WriteGraph(const GraphMeta& meta, wire::Graph::Builder out) {
  out.setName(meta.graph_name);
  auto ntypes = out.initNtypes(static_cast<kj::uint>(meta.schema.num_ntypes()));
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    ntypes.set(static_cast<kj::uint>(t), meta.schema.ntype(t).c_str());
  }
  auto etypes = out.initEtypes(static_cast<kj::uint>(meta.schema.num_etypes()));
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    auto etype = etypes[static_cast<kj::uint>(e)];
    etype.setSrc(meta.schema.etype(e).src);
    etype.setRel(meta.schema.etype(e).rel);
    etype.setDst(meta.schema.etype(e).dst);
  }
  out.setNumParts(meta.book.num_partitions());
  WriteIdMap(meta.book.nodes(), out.initNodes());
  WriteIdMap(meta.book.edges(), out.initEdges());
  out.setPartMethod(meta.part_method);
  out.setHaloHops(meta.halo_hops);
}

void WriteLayout(const SegmentLayout& layout, wire::SegmentInfo::Builder out) {
  auto arrays = out.initArrays(static_cast<kj::uint>(layout.arrays().size()));
  kj::uint i = 0;
  for (const ArraySpec& spec : layout.arrays()) {
    auto array = arrays[i++];
    array.setName(spec.name);
    array.setDtype(static_cast<uint8_t>(spec.encoding.stored));
    array.setReadAs(static_cast<uint8_t>(spec.encoding.dtype));
    array.setScale(spec.encoding.scale);
    auto shape = array.initShape(static_cast<kj::uint>(spec.shape.size()));
    for (kj::uint d = 0; d < shape.size(); d++) shape.set(d, spec.shape[d]);
    array.setOffset(spec.offset);
    array.setBytes(spec.bytes);
  }
  out.setTotalBytes(layout.total_bytes());
}

SegmentLayout ReadLayout(wire::SegmentInfo::Reader in, const std::string& peer) {
  std::vector<ArraySpec> table;
  for (auto array : BoundedList(in.getArrays(), "arrays")) {
    for (const uint8_t dtype : {array.getDtype(), array.getReadAs()}) {
      if (dtype >= kDTypes) {
        Throw(ErrorCode::kCorrupt, peer, ": unknown dtype ", int{dtype});
      }
    }
    const Encoding encoding{static_cast<DType>(array.getDtype()),
                            static_cast<DType>(array.getReadAs()), array.getScale()};
    table.push_back({array.getName().cStr(), encoding, ReadShape(array.getShape()),
                     array.getOffset(), array.getBytes()});
  }
  return SegmentLayout::FromTable(table, in.getTotalBytes(), peer);
}

}  // namespace graphd
