// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/memory_use_of.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>

#include "base/strings.h"
#include "daemon/serving/server_status.h"

namespace graphd {
namespace {

// The parts of an array's name, such as "node/0/feat".
struct ArrayName {
  std::string kind;
  int32_t type = -1;  // -1: it has none
  std::string rest;
};

ArrayName ParseName(const std::string& name) {
  const size_t kind = name.find('/');
  const size_t type = kind == std::string::npos ? kind : name.find('/', kind + 1);
  ArrayName parsed{name.substr(0, kind), -1, name};
  if (type == std::string::npos) return parsed;
  const char* const end = name.data() + type;
  if (std::from_chars(name.data() + kind + 1, end, parsed.type).ptr != end) parsed.type = -1;
  parsed.rest = name.substr(type + 1);
  return parsed;
}

// Describes the arrays of a segment of a partition, whose names are listed in graph/partition.h.
void AddSegment(const Partition& partition, const Segment& segment, MemoryUse& use) {
  const Schema& schema = partition.meta().schema;
  const std::string pages = PageKindName(segment.pages().most());
  for (const ArraySpec& spec : segment.layout().arrays()) {
    ArrayMemory& array = use.arrays.emplace_back();
    array.part = partition.id();
    const ArrayName name = ParseName(spec.name);
    array.segment = name.kind == "csc" ? "graph" : name.kind + "_feat";
    array.name = name.rest;
    const bool is_node = name.kind == "node";
    if (name.type >= 0 && name.type < (is_node ? schema.num_ntypes() : schema.num_etypes())) {
      array.type = is_node ? schema.ntype(name.type) : schema.etype(name.type).ToString();
    }
    array.dtype = DTypeName(spec.dtype());
    array.shape = spec.shape;
    array.bytes = spec.bytes;
    array.pages = pages;
  }
}

void AddIndex(const Partition& partition, const EdgeIndexSpec& index, const Segment& segment,
              MemoryUse& use) {
  const std::string name = StrCat(EdgeIndexKindName(index.kind), index.column.empty() ? "" : " by ",
                                  index.column, index.out ? ", by source" : "");
  for (const ArraySpec& spec : segment.layout().arrays()) {
    use.arrays.push_back(
        {partition.id(), "index", partition.meta().schema.etype(index.etype).ToString(),
         StrCat(name, ": ", spec.name), DTypeName(spec.dtype()), spec.shape, spec.bytes, ""});
  }
}

void AddShare(const ShareMemory& memory, MemoryUse& use) {
  const TensorShare& share = memory.share;
  const TensorSpec& spec = share.info.spec;
  std::vector<int64_t> shape = {share.stored_rows};
  shape.insert(shape.end(), spec.row_shape.begin(), spec.row_shape.end());
  use.tensors.push_back({share.part, spec.name, spec.persistent ? "" : share.info.job_id,
                         DTypeName(spec.dtype), std::move(shape), share.resident_bytes,
                         memory.changed_bytes, memory.stored_bytes});
  use.tensor_bytes += share.resident_bytes;
  use.changed_bytes += memory.changed_bytes;
  use.stored_bytes += memory.stored_bytes;
}

void AddGraph(const ServedGraph& graph, MemoryUse& use) {
  for (const auto& partition : graph.partitions()) {
    use.graph_bytes += partition->bytes();
    for (const auto& segment : partition->segments()) AddSegment(*partition, *segment, use);
    for (const auto& [index, segment] : graph.indexes(partition->id())->All()) {
      use.index_bytes += segment->size();
      AddIndex(*partition, index, *segment, use);
    }
  }
}

// Sorts by size, and removes all but the `most` largest.
template <class Uses>
void KeepLargest(Uses& uses, size_t most) {
  std::stable_sort(uses.begin(), uses.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (uses.size() > most) uses.erase(uses.begin() + static_cast<ptrdiff_t>(most), uses.end());
}

}  // namespace

MemoryUse MemoryUseOf(const GraphVersions& graphs, const store::TensorHost& tensors, size_t most) {
  MemoryUse use;
  std::set<const ServedGraph*> seen;  // two versions may share one graph
  for (const auto& each : graphs.All()) {
    const ServedGraph& graph = *each.version->graph;
    if (!seen.insert(&graph).second) continue;
    const size_t first = use.arrays.size();
    AddGraph(graph, use);
    for (size_t i = first; i < use.arrays.size(); i++) {
      use.arrays[i].fingerprint = each.version->fingerprint;
    }
  }
  for (const ShareMemory& memory : tensors.Memory()) AddShare(memory, use);
  const auto store = tensors.status();
  if (store && tensors.memory_is_bounded()) {
    use.buffer_bytes = store->resident_bytes - std::min(store->resident_bytes, use.tensor_bytes);
  }
  use.num_arrays = use.arrays.size();
  use.num_tensors = use.tensors.size();
  KeepLargest(use.arrays, most);
  KeepLargest(use.tensors, most);
  use.rss_bytes = ResidentBytes();
  return use;
}

}  // namespace graphd
