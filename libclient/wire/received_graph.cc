// SPDX-License-Identifier: Apache-2.0
#include "wire/received_graph.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/memory_limit.h"
#include "base/strings.h"
#include "wire/bounded.h"

namespace graphd {
namespace {

// The bytes of memory per id that an IdMap of a mapped book and the copy from which it is made
// take.
constexpr uint64_t kBytesPerId = 24;

const char* KindOf(bool is_edge) { return is_edge ? "edge" : "node"; }

bool SameKind(const IdMap& a, const IdMap& b) {
  return a.ranges() == b.ranges() &&
         std::equal(a.owners().begin(), a.owners().end(), b.owners().begin(), b.owners().end());
}

// Runs f. Converts an Error that it throws to Error(kCorrupt), with the peer's name.
template <class F>
auto Impossible(const std::string& peer, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    Throw(ErrorCode::kCorrupt, peer, " describes an impossible graph: ", error.what());
  }
}

}  // namespace

bool HasSeparateOwners(const IdMap& map) { return map.owners().size_bytes() > kMaxOwnersInMessage; }

uint64_t ChecksumOfOwners(std::span<const int32_t> owners) {
  return XXH3_64bits(owners.data(), owners.size_bytes());
}

SegmentLayout LayoutOfOwners(int64_t count) {
  SegmentLayout layout;
  layout.Add("owners", DType::kInt32, {count});
  return layout;
}

ReceivedGraph::ReceivedGraph(wire::Graph::Reader in, const std::string& peer) : peer_(peer) {
  Impossible(peer_, [&] {
    meta_.graph_name = in.getName().cStr();
    std::vector<std::string> ntypes;
    for (auto name : in.getNtypes()) ntypes.emplace_back(name.cStr());
    std::vector<CanonicalEdgeType> etypes;
    for (auto e : BoundedList(in.getEtypes(), "edge types")) {
      etypes.push_back({e.getSrc().cStr(), e.getRel().cStr(), e.getDst().cStr()});
    }
    meta_.schema = Schema(std::move(ntypes), std::move(etypes));
    parts_ = in.getNumParts();
    if (parts_ < 1 || parts_ > kMaxPartitions) {
      Throw(ErrorCode::kCorrupt, parts_, " partitions, expected 1 to ", kMaxPartitions);
    }
    nodes_ = ReadMap(false, in.getNodes(), meta_.schema.num_ntypes());
    edges_ = ReadMap(true, in.getEdges(), meta_.schema.num_etypes());
    meta_.part_method = in.getPartMethod().cStr();
    meta_.halo_hops = in.getHaloHops();
  });
}

ReceivedGraph::Map ReceivedGraph::ReadMap(bool is_edge, wire::IdMap::Reader in,
                                          int32_t types) const {
  const char* const what = KindOf(is_edge);
  if (in.getSize() != 0) {
    if (in.getSize() < 0 || in.getSize() > INT64_MAX / 64) {
      Throw(ErrorCode::kCorrupt, what, "_map has ", in.getSize(), " ids");
    }
    if (types != 1) Throw(ErrorCode::kCorrupt, what, "_map is mapped and has ", types, " types");
    return {{}, {is_edge, in.getSize(), in.getChecksum()}};
  }
  if (in.hasOwners()) {
    const auto data = in.getOwners();
    std::vector<int32_t> owners(data.size() / sizeof(int32_t));
    if (!owners.empty()) {
      std::memcpy(owners.data(), data.begin(), owners.size() * sizeof(int32_t));
    }
    return {IdMap::FromOwners(what, std::move(owners), parts_), {}};
  }
  const auto flat = in.getRanges();
  const auto num_types = static_cast<size_t>(types), num_parts = static_cast<size_t>(parts_);
  if (flat.size() != num_types * num_parts * 2) {
    Throw(ErrorCode::kCorrupt, what, "_map has ", flat.size(), " numbers, expected ",
          num_types * num_parts * 2);
  }
  std::vector<std::vector<IdMap::Range>> ranges(num_types);
  kj::uint i = 0;
  for (auto& of_type : ranges) {
    for (size_t p = 0; p < num_parts; p++, i += 2) of_type.push_back({flat[i], flat[i + 1]});
  }
  return {IdMap::FromRanges(what, std::move(ranges)), {}};
}

std::vector<ReceivedGraph::Missing> ReceivedGraph::missing() const {
  std::vector<Missing> all;
  for (const Map* map : {&nodes_, &edges_}) {
    if (map->missing.size != 0) all.push_back(map->missing);
  }
  return all;
}

bool ReceivedGraph::IsSameAs(const GraphMeta& known) const {
  const auto same_map = [](const Map& map, const IdMap& other) {
    if (map.missing.size == 0) return SameKind(map.map, other);
    return !other.is_range() && other.total() == map.missing.size &&
           ChecksumOfOwners(other.owners()) == map.missing.checksum;
  };
  return known.graph_name == meta_.graph_name && known.schema == meta_.schema &&
         known.part_method == meta_.part_method && known.halo_hops == meta_.halo_hops &&
         known.book.num_partitions() == parts_ && same_map(nodes_, known.book.nodes()) &&
         same_map(edges_, known.book.edges());
}

IdMap ReceivedGraph::CompleteMap(const Map& map, const Read& read) const {
  if (map.missing.size == 0) return map.map;
  const auto size = static_cast<uint64_t>(map.missing.size);
  const char* const what = KindOf(map.missing.is_edge);
  CheckMemory(size * kBytesPerId, AvailableMemory(),
              StrCat("the partition book of ", size, " ", what, "s"));
  std::vector<int32_t> owners(size);
  read(map.missing, owners);
  return Impossible(peer_, [&] {
    if (ChecksumOfOwners(owners) != map.missing.checksum) {
      Throw(ErrorCode::kCorrupt, what, "_map's checksum does not match its contents");
    }
    return IdMap::FromOwners(what, std::move(owners), parts_);
  });
}

std::shared_ptr<const GraphMeta> ReceivedGraph::Complete(const Read& read) const {
  IdMap nodes = CompleteMap(nodes_, read), edges = CompleteMap(edges_, read);
  return Impossible(peer_, [&] {
    auto meta = std::make_shared<GraphMeta>(meta_);
    meta->book = PartitionBook(std::move(nodes), std::move(edges));
    return std::shared_ptr<const GraphMeta>(std::move(meta));
  });
}

}  // namespace graphd
