// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/edge_collector.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/index.h"
#include "base/strings.h"
#include "ctl/statistics/owner_lookup.h"

namespace graphd::ctl {
namespace {

// The type-wise ids of the nodes of a type that a partition owns, by local row.
class OwnedNodes {
 public:
  OwnedNodes(const NodeMap& nodes, PartId part, NodeTypeId type) {
    if (nodes.is_range()) {
      first_ = Index(nodes.type_begin(part, type));
    } else {
      ids_ = nodes.IdsOf(part, type);
    }
  }
  size_t operator[](uint64_t row) const { return ids_.empty() ? first_ + row : Index(ids_[row]); }

 private:
  size_t first_ = 0;
  std::vector<int64_t> ids_;
};

}  // namespace

uint64_t EdgeCollector::MemoryForDegrees(const GraphMeta& meta) {
  uint64_t bytes = 0;
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    bytes += SharedSet::Bytes(Index(meta.book.nodes().count(t)));
  }
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    bytes += SharedCounters::Bytes(Index(meta.book.nodes().count(meta.schema.src_type(e))),
                                   Index(meta.book.edges().count(e)));
  }
  return bytes;
}

EdgeCollector::EdgeCollector(const GraphMeta& meta, bool whole, GraphStatistics& statistics)
    : meta_(meta),
      whole_(whole),
      statistics_(statistics),
      in_degrees_(Index(meta.schema.num_etypes())) {
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    const size_t nodes = Index(meta.book.nodes().count(t));
    halo_.emplace_back(nodes);
    if (whole) has_edges_.emplace_back(nodes);
  }
  for (EdgeTypeId e = 0; whole && e < meta.schema.num_etypes(); e++) {
    out_degrees_.emplace_back(Index(meta.book.nodes().count(meta.schema.src_type(e))),
                              Index(meta.book.edges().count(e)));
  }
}

void EdgeCollector::Read(PartId part, const PartitionArrays& arrays, const std::string& step,
                         PieceScan& scan) {
  std::vector<int64_t> from(Index(meta_.book.num_partitions()));
  for (NodeTypeId t = 0; t < meta_.schema.num_ntypes(); t++) {
    NodeTypeStatistics& type = statistics_.ntypes[Index(t)];
    type.by_part.push_back(meta_.book.nodes().count_in(part, t));
    type.nodes += type.by_part.back();
    type.halo_by_part.push_back(0);
  }
  for (EdgeTypeId e = 0; e < meta_.schema.num_etypes(); e++) {
    EdgeTypeStatistics& type = statistics_.etypes[Index(e)];
    type.by_part.push_back(meta_.book.edges().count_in(part, e));
    type.edges += type.by_part.back();
    const StoredArray& sources = arrays.Get(Partition::IndicesName(e));
    ReadOffsets(part, e, arrays.Get(Partition::IndptrName(e)), sources.num_elements(), step, scan);
    ReadSources(part, e, sources, step, scan, from);
  }
  for (SharedSet& of_type : halo_) of_type.Clear();
  if (meta_.book.num_partitions() <= GraphStatistics::kMostInMatrix) {
    statistics_.edges_from.push_back(std::move(from));
  }
}

void EdgeCollector::ReadOffsets(PartId part, EdgeTypeId e, const StoredArray& offsets,
                                uint64_t edges, const std::string& step, PieceScan& scan) {
  const NodeTypeId dst = meta_.schema.dst_type(e);
  std::optional<OwnedNodes> owned;
  if (whole_) owned.emplace(meta_.book.nodes(), part, dst);
  const uint64_t last = offsets.num_elements() - 1;
  struct Thread {
    std::vector<std::byte> buffer;
    DegreeCounts degrees;
  };
  std::vector<Thread> threads(scan.threads());
  const auto check_end = [&](uint64_t element, uint64_t value, uint64_t expected) {
    if (value == expected) return;
    Throw(ErrorCode::kCorrupt, offsets.At(element), " is ", value, ", expected ", expected,
          "; copy or partition it again");
  };
  scan.Run(step, offsets.num_elements(), sizeof(uint64_t), [&](const Piece& piece) {
    Thread& thread = threads[piece.thread];
    // Each offset but the last is the begin of a node's in-edges, whose end is the next offset.
    const uint64_t end = std::min(piece.end, last);
    const auto bytes = offsets.Read(piece.begin, end + 1 - piece.begin, thread.buffer);
    const auto* values = reinterpret_cast<const uint64_t*>(bytes.data());
    if (piece.begin == 0) check_end(0, values[0], 0);
    if (end == last) check_end(last, values[end - piece.begin], edges);
    for (uint64_t row = piece.begin; row < end; row++) {
      const uint64_t from = values[row - piece.begin], to = values[row + 1 - piece.begin];
      if (to < from) {
        Throw(ErrorCode::kCorrupt, offsets.At(row + 1), " is ", to, ", less than ", from,
              " before it; copy or partition it again");
      }
      thread.degrees.Add(to - from);
      if (owned && to > from) has_edges_[Index(dst)].Add((*owned)[row]);
    }
  });
  DegreeCounts degrees;
  for (const Thread& thread : threads) degrees.Add(thread.degrees);
  statistics_.etypes[Index(e)].in_degrees_by_part.push_back(degrees.Summary());
  in_degrees_[Index(e)].Add(degrees);
}

void EdgeCollector::ReadSources(PartId part, EdgeTypeId e, const StoredArray& sources,
                                const std::string& step, PieceScan& scan,
                                std::vector<int64_t>& from) {
  const NodeTypeId src = meta_.schema.src_type(e);
  const auto limit = static_cast<uint64_t>(meta_.book.nodes().count(src));
  const OwnerLookup owners(meta_.book.nodes(), src, part);
  struct Thread {
    std::vector<std::byte> buffer;
    std::vector<int64_t> from;
    int64_t halo = 0;
  };
  std::vector<Thread> threads(scan.threads());
  for (Thread& thread : threads) thread.from.resize(from.size());
  const auto read = [&](const auto* ids, const Piece& piece, Thread& thread) {
    for (uint64_t i = piece.begin; i < piece.end; i++) {
      const uint64_t source = ids[i - piece.begin];
      if (source >= limit) {
        Throw(ErrorCode::kCorrupt, sources.At(i), " is ", source, ", expected a node below ", limit,
              "; copy or partition it again");
      }
      const PartId owner = owners.Owner(source);
      thread.from[Index(owner)]++;
      if (owner != part) thread.halo += halo_[Index(src)].Add(source);
      if (whole_) out_degrees_[Index(e)].Increment(source);
    }
  };
  const bool narrow = sources.spec().dtype() == DType::kUInt32;
  scan.Run(step, sources.num_elements(), narrow ? 4 : 8, [&](const Piece& piece) {
    Thread& thread = threads[piece.thread];
    const auto bytes = sources.Read(piece.begin, piece.end - piece.begin, thread.buffer);
    if (narrow) {
      read(reinterpret_cast<const uint32_t*>(bytes.data()), piece, thread);
    } else {
      read(reinterpret_cast<const uint64_t*>(bytes.data()), piece, thread);
    }
  });
  EdgeTypeStatistics& type = statistics_.etypes[Index(e)];
  int64_t cut = static_cast<int64_t>(sources.num_elements());
  for (const Thread& thread : threads) {
    cut -= thread.from[Index(part)];
    statistics_.ntypes[Index(src)].halo_by_part.back() += thread.halo;
    for (size_t owner = 0; owner < from.size(); owner++) from[owner] += thread.from[owner];
  }
  type.cut_by_part.push_back(cut);
  type.cut += cut;
}

void EdgeCollector::Finish() {
  for (EdgeTypeId e = 0; e < meta_.schema.num_etypes(); e++) {
    EdgeTypeStatistics& type = statistics_.etypes[Index(e)];
    type.in_degrees = in_degrees_[Index(e)].Summary();
    if (!whole_) continue;
    DegreeCounts degrees;
    SharedSet& has_edges = has_edges_[Index(meta_.schema.src_type(e))];
    const SharedCounters& counters = out_degrees_[Index(e)];
    for (size_t node = 0; node < counters.size(); node++) {
      degrees.Add(counters[node]);
      if (counters[node] > 0) has_edges.Add(node);
    }
    type.out_degrees = degrees.Summary();
  }
  for (NodeTypeId t = 0; whole_ && t < meta_.schema.num_ntypes(); t++) {
    NodeTypeStatistics& type = statistics_.ntypes[Index(t)];
    int64_t isolated = 0;
    for (size_t node = 0; node < Index(type.nodes); node++) {
      isolated += !has_edges_[Index(t)].Has(node);
    }
    type.isolated = isolated;
  }
}

}  // namespace graphd::ctl
