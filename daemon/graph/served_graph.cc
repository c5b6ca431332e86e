// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/served_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "daemon/requests/wire_ids.h"
#include "wire/received_graph.h"

namespace graphd {
namespace {

// Drops derived arrays that were not used for a while, partition by partition, until `bytes` are
// available or none is left.
void DropIdleIndexes(uint64_t bytes, const ServedGraph::IndexMemory& memory) {
  for (const std::shared_ptr<EdgeIndexes>& indexes : memory.budget->All()) {
    // The memory of a dropped array that a trainer has mapped is not freed, so more arrays may have
    // to be dropped in another round.
    for (bool go_on = true; go_on;) {
      const uint64_t available = memory.budget->available().bytes;
      if (available >= bytes) return;
      go_on = false;
      for (const auto& dropped : indexes->DropIdle(bytes - available, memory.idle)) {
        LogInfo("dropped the ", dropped.spec.ToString(), ", partition ", indexes->partition()->id(),
                ": ", HumanBytes(dropped.bytes),
                ", not used for a while, to make room for another");
        go_on = true;
      }
    }
  }
}

// Builds a derived array. Throws Error(kOverloaded) if there is not enough memory for it.
EdgeIndexes::Made BuildWithinMemory(const Partition& partition, const EdgeIndexSpec& spec,
                                    const EdgeIndexes::Made& by_source,
                                    const ServedGraph::IndexMemory& memory) {
  const std::string what = StrCat("the ", spec.ToString(), ", partition ", partition.id());
  const uint64_t bytes = EstimateEdgeIndexBytes(partition, spec);
  if (memory.budget->CouldEverTake(bytes)) DropIdleIndexes(bytes, memory);
  memory.budget->Check(bytes, what);
  const auto start = Clock::now();
  auto made = BuildEdgeIndex(partition, spec, by_source);
  LogInfo("made ", what, ": ", HumanBytes(made->size()), " in ", SecondsSince(start), " s");
  return memory.budget->Count(std::move(made));
}

// Returns the bytes of all segments by their kinds of pages, the most common kind first.
std::vector<PageBytes> PagesOf(const Partition& partition) {
  std::map<PageKind, uint64_t> bytes;
  for (const auto& segment : partition.segments()) {
    const SegmentPages pages = segment->pages();
    bytes[pages.huge] += pages.huge_bytes;
    bytes[PageKind::kSmall] += pages.small_bytes;
  }
  std::vector<PageBytes> found;
  for (const auto& [kind, size] : bytes) {
    if (size > 0) found.push_back({PageKindName(kind), size});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const PageBytes& a, const PageBytes& b) { return a.bytes > b.bytes; });
  return found;
}

ServedGraph::Owners ShareOwners(const IdMap& map, const char* what,
                                std::shared_ptr<const Segment> made) {
  if (!HasSeparateOwners(map)) return {};
  const uint64_t checksum = ChecksumOfOwners(map.owners());
  if (made) return {std::move(made), checksum};
  CheckMemory(map.owners().size_bytes(), AvailableMemory(),
              StrCat("sharing the partition book of ", map.total(), " ", what, "s"));
  SegmentWriter writer(StrCat("graphd-", what, "-owners"), LayoutOfOwners(map.total()));
  std::copy(map.owners().begin(), map.owners().end(), writer.array<int32_t>("owners").begin());
  return {std::move(writer).Seal(), checksum};
}

}  // namespace

ServedGraph::ServedGraph(std::vector<std::shared_ptr<const Partition>> partitions, Indexes made,
                         uint64_t data_id,
                         std::array<std::shared_ptr<const Segment>, 2> made_owners,
                         IndexMemory index_memory)
    : partitions_(std::move(partitions)), data_id_(data_id) {
  GRAPHD_CHECK(!partitions_.empty(), "a daemon serves at least one partition");
  meta_ = partitions_[0]->shared_meta();
  const auto ready = std::make_shared<const Indexes>(std::move(made));
  node_owners_ = ShareOwners(meta_->book.nodes(), "node", std::move(made_owners[0]));
  edge_owners_ = ShareOwners(meta_->book.edges(), "edge", std::move(made_owners[1]));
  for (const auto& partition : partitions_) {
    const PartId id = partition->id();
    indexes_[id] = std::make_shared<EdgeIndexes>(
        partition, [=](const EdgeIndexSpec& spec, const EdgeIndexes::Made& by_source) {
          const auto found = ready->find({partition->id(), spec});
          if (found != ready->end()) return index_memory.budget->Count(found->second);
          return BuildWithinMemory(*partition, spec, by_source, index_memory);
        });
    index_memory.budget->Add(indexes_[id]);
    std::vector<PageBytes> pages = PagesOf(*partition);
    const std::string most = pages.empty() ? PageKindName(PageKind::kSmall) : pages.front().pages;
    status_.push_back({id, meta_->book.nodes().count_in(id), meta_->book.edges().count_in(id),
                       partition->bytes(), most, 0, std::move(pages)});
  }
}

std::shared_ptr<const Partition> ServedGraph::Find(PartId part) const {
  std::vector<std::string> served;
  for (const auto& partition : partitions_) {
    if (partition->id() == part) return partition;
    served.push_back(std::to_string(partition->id()));
  }
  Throw(ErrorCode::kNotFound, "partition ", part, " is not served here, only ", Join(served, ", "),
        "; check the order of lines in ip_config");
}

ServedGraph::Found ServedGraph::Find(PartId part, EdgeTypeId etype) const {
  Found found{Find(part), nullptr};
  CheckType(etype, meta_->schema.num_etypes(), "edge");
  found.indexes = indexes(part);
  return found;
}

std::vector<PartitionStatus> ServedGraph::status() const {
  std::vector<PartitionStatus> status = status_;
  for (PartitionStatus& partition : status) {
    partition.index_bytes = indexes(partition.part)->bytes();
  }
  return status;
}

uint64_t ServedGraph::bytes() const {
  uint64_t bytes = 0;
  for (const PartitionStatus& partition : status())
    bytes += partition.bytes + partition.index_bytes;
  return bytes;
}

std::shared_ptr<EdgeIndexes> ServedGraph::indexes(PartId part) const {
  auto found = indexes_.find(part);
  GRAPHD_CHECK(found != indexes_.end(), "Find has found the partition");
  return found->second;
}

EdgeIndexSpec ParseIndex(const Schema& schema, const std::string& text) {
  const size_t colon = text.find(':'), slash = text.rfind('/');
  const std::string kind = text.substr(0, colon);
  const bool is_out = kind == "out";
  const bool has_feature = slash != std::string::npos && slash + 1 < text.size();
  if (colon == std::string::npos || (!is_out && kind != "alias" && kind != "order") ||
      is_out == has_feature) {
    Throw(ErrorCode::kInvalid, "--index ", text, ": expected out:EDGE_TYPE, ",
          "alias:EDGE_TYPE/WEIGHT or order:EDGE_TYPE/FEATURE");
  }
  const size_t begin = colon + 1, end = is_out ? text.size() : slash;
  EdgeIndexSpec spec;
  spec.kind = is_out            ? EdgeIndexKind::kOut
              : kind == "alias" ? EdgeIndexKind::kAlias
                                : EdgeIndexKind::kOrder;
  spec.etype = schema.EdgeTypeIdOf(text.substr(begin, end - begin));
  if (!is_out) spec.column = text.substr(slash + 1);
  return spec;
}

}  // namespace graphd
