// SPDX-License-Identifier: Apache-2.0
#include "wire/graph_messages.h"

#include <cstring>

#include "base/strings.h"
#include "wire/bounded_list.h"

namespace graphd {
namespace {

std::vector<int64_t> ReadShape(capnp::List<int64_t>::Reader in) {
  std::vector<int64_t> shape;
  for (int64_t extent : in) shape.push_back(extent);
  return shape;
}

void WriteIdMap(const IdMap& map, wire::IdMap::Builder out) {
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

IdMap ReadIdMap(const char* what, wire::IdMap::Reader in, size_t types, int32_t parts) {
  if (in.hasOwners()) {
    const auto data = in.getOwners();
    std::vector<int32_t> owners(data.size() / sizeof(int32_t));
    if (!owners.empty()) {
      std::memcpy(owners.data(), data.begin(), owners.size() * sizeof(int32_t));
    }
    return IdMap::FromOwners(what, std::move(owners), parts);
  }
  const auto flat = in.getRanges();
  const auto num_parts = static_cast<size_t>(parts);
  if (flat.size() != types * num_parts * 2) {
    Throw(ErrorCode::kCorrupt, what, "_map has ", flat.size(), " numbers, expected ",
          types * num_parts * 2);
  }
  std::vector<std::vector<IdMap::Range>> ranges(types);
  kj::uint i = 0;
  for (auto& of_type : ranges) {
    for (size_t p = 0; p < num_parts; p++, i += 2) of_type.push_back({flat[i], flat[i + 1]});
  }
  return IdMap::FromRanges(what, std::move(ranges));
}

}  // namespace

void WriteHello(wire::Hello::Builder hello) {
  hello.setProtocol(wire::PROTOCOL_VERSION);
  hello.setVersion(GRAPHD_VERSION);
  hello.setFeatures(kFeatures);
}

void CheckHello(wire::Hello::Reader hello, const std::string& peer) {
  if (hello.getProtocol() == wire::PROTOCOL_VERSION) return;
  Throw(ErrorCode::kVersion, peer, " (version ", hello.getVersion().cStr(), ") speaks protocol ",
        hello.getProtocol(), ", this side (version " GRAPHD_VERSION ") protocol ",
        wire::PROTOCOL_VERSION, "; install the same graphd release on both");
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

std::shared_ptr<const GraphMeta> ReadGraph(wire::Graph::Reader in, const std::string& peer) {
  try {
    auto meta = std::make_shared<GraphMeta>();
    meta->graph_name = in.getName().cStr();
    std::vector<std::string> ntypes;
    for (auto name : in.getNtypes()) ntypes.emplace_back(name.cStr());
    std::vector<CanonicalEdgeType> etypes;
    for (auto e : BoundedList(in.getEtypes(), "edge types")) {
      etypes.push_back({e.getSrc().cStr(), e.getRel().cStr(), e.getDst().cStr()});
    }
    meta->schema = Schema(std::move(ntypes), std::move(etypes));
    const int32_t parts = in.getNumParts();
    if (parts < 1 || parts > kMaxPartitions) {
      Throw(ErrorCode::kCorrupt, parts, " partitions, expected 1 to ", kMaxPartitions);
    }
    const auto types = [&](int32_t n) { return static_cast<size_t>(n); };
    meta->book =
        PartitionBook(ReadIdMap("node", in.getNodes(), types(meta->schema.num_ntypes()), parts),
                      ReadIdMap("edge", in.getEdges(), types(meta->schema.num_etypes()), parts));
    meta->part_method = in.getPartMethod().cStr();
    meta->halo_hops = in.getHaloHops();
    return meta;
  } catch (const Error& error) {
    Throw(ErrorCode::kCorrupt, peer, " describes an impossible graph: ", error.what());
  }
}

void WriteLayout(const SegmentLayout& layout, wire::SegmentInfo::Builder out) {
  auto arrays = out.initArrays(static_cast<kj::uint>(layout.arrays().size()));
  kj::uint i = 0;
  for (const ArraySpec& spec : layout.arrays()) {
    auto array = arrays[i++];
    array.setName(spec.name);
    array.setDtype(static_cast<uint8_t>(spec.dtype));
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
    if (array.getDtype() > static_cast<uint8_t>(DType::kUInt64)) {
      Throw(ErrorCode::kCorrupt, peer, ": unknown dtype ", array.getDtype());
    }
    table.push_back({array.getName().cStr(), static_cast<DType>(array.getDtype()),
                     ReadShape(array.getShape()), array.getOffset(), array.getBytes()});
  }
  return SegmentLayout::FromTable(table, in.getTotalBytes(), peer);
}

}  // namespace graphd
