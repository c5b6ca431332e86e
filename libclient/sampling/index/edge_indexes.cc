// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/edge_indexes.h"

#include <chrono>
#include <optional>

namespace graphd {
namespace {

bool IsReady(const auto& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

EdgeIndexes::EdgeIndexes(std::shared_ptr<const Partition> partition)
    : EdgeIndexes(partition, [partition](const EdgeIndexSpec& spec, const Made& by_source) {
        return BuildEdgeIndex(*partition, spec, by_source);
      }) {}

EdgeIndexes::EdgeIndexes(std::shared_ptr<const Partition> partition, Make make)
    : partition_(std::move(partition)), make_(std::move(make)) {}

EdgeIndexes::Entry EdgeIndexes::MakeAndOpen(const EdgeIndexSpec& spec) {
  auto opened = std::make_shared<Opened>();
  opened->segment = make_(spec, spec.out ? Out(spec.etype).segment() : nullptr);
  switch (spec.kind) {
    case EdgeIndexKind::kOut:
      opened->view.emplace<OutIndex>(opened->segment);
      break;
    case EdgeIndexKind::kAlias:
      opened->view.emplace<AliasIndex>(opened->segment, Rows(spec.etype, spec.out),
                                       partition_->edge_feature(spec.etype, spec.column).ReadAll());
      break;
    case EdgeIndexKind::kOrder:
      opened->view.emplace<OrderIndex>(opened->segment, Rows(spec.etype, spec.out));
      break;
    case EdgeIndexKind::kInverse:
      opened->view.emplace<InverseIndex>(opened->segment, partition_->csc(spec.etype));
      break;
    case EdgeIndexKind::kSorted:
      opened->view.emplace<SortedIndex>(opened->segment, partition_->csc(spec.etype));
      break;
  }
  return opened;
}

EdgeIndexes::Entry EdgeIndexes::Open(const EdgeIndexSpec& spec) {
  std::promise<Entry> promise;
  std::shared_future<Entry> others;
  {
    const MutexLock lock(mutex_);
    auto [found, is_new] = entries_.try_emplace(spec);
    if (is_new) {
      found->second = promise.get_future().share();
    } else {
      others = found->second;
    }
  }
  if (others.valid()) return others.get();
  try {
    Entry entry = MakeAndOpen(spec);
    promise.set_value(entry);
    return entry;
  } catch (...) {
    {
      const MutexLock lock(mutex_);
      entries_.erase(spec);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

const OutIndex& EdgeIndexes::Out(EdgeTypeId etype) {
  return std::get<OutIndex>(Open({EdgeIndexKind::kOut, false, etype, ""})->view);
}

const AliasIndex& EdgeIndexes::Alias(EdgeTypeId etype, bool out, const std::string& column) {
  return std::get<AliasIndex>(Open({EdgeIndexKind::kAlias, out, etype, column})->view);
}

const OrderIndex& EdgeIndexes::Order(EdgeTypeId etype, bool out, const std::string& column) {
  return std::get<OrderIndex>(Open({EdgeIndexKind::kOrder, out, etype, column})->view);
}

const InverseIndex* EdgeIndexes::Inverse(EdgeTypeId etype) {
  if (!partition_->csc(etype).edge_rows) return nullptr;
  return &std::get<InverseIndex>(Open({EdgeIndexKind::kInverse, false, etype, ""})->view);
}

const SortedIndex* EdgeIndexes::Sorted(EdgeTypeId etype) {
  std::optional<bool> sorted;
  {
    const MutexLock lock(mutex_);
    if (const auto found = sorted_.find(etype); found != sorted_.end()) sorted = found->second;
  }
  if (!sorted) {
    // All edges are read, which takes seconds; others use the mutex meanwhile.
    sorted = RowsAreSorted(partition_->csc(etype));
    const MutexLock lock(mutex_);
    sorted_[etype] = *sorted;
  }
  if (*sorted) return nullptr;
  return &std::get<SortedIndex>(Open({EdgeIndexKind::kSorted, false, etype, ""})->view);
}

bool EdgeIndexes::KnowsSorted(EdgeTypeId etype) const {
  {
    const MutexLock lock(mutex_);
    auto found = sorted_.find(etype);
    if (found == sorted_.end()) return false;
    if (found->second) return true;
  }
  return Has({EdgeIndexKind::kSorted, false, etype, ""});
}

const Csc& EdgeIndexes::Rows(EdgeTypeId etype, bool out) {
  return out ? Out(etype).csc() : partition_->csc(etype);
}

EdgeIndexes::Made EdgeIndexes::Get(const EdgeIndexSpec& spec) { return Open(spec)->segment; }

bool EdgeIndexes::Has(const EdgeIndexSpec& spec) const {
  const MutexLock lock(mutex_);
  auto found = entries_.find(spec);
  return found != entries_.end() && IsReady(found->second);
}

std::vector<std::pair<EdgeIndexSpec, EdgeIndexes::Made>> EdgeIndexes::All() const {
  const MutexLock lock(mutex_);
  std::vector<std::pair<EdgeIndexSpec, Made>> all;
  for (const auto& [spec, entry] : entries_) {
    if (IsReady(entry)) all.emplace_back(spec, entry.get()->segment);
  }
  return all;
}

uint64_t EdgeIndexes::bytes() const {
  const MutexLock lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [spec, entry] : entries_) {
    if (IsReady(entry)) sum += entry.get()->segment->size();
  }
  return sum;
}

}  // namespace graphd
