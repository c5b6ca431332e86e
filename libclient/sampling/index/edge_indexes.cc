// SPDX-License-Identifier: Apache-2.0
#include "sampling/index/edge_indexes.h"

#include <chrono>
#include <optional>

#include "base/interruptions.h"

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
  if (spec.out) opened->by_source = Out(spec.etype);
  opened->segment = make_(spec, spec.out ? opened->by_source->segment() : nullptr);
  switch (spec.kind) {
    case EdgeIndexKind::kOut:
      opened->view.emplace<OutIndex>(opened->segment);
      break;
    case EdgeIndexKind::kAlias:
      opened->view.emplace<AliasIndex>(opened->segment, *Rows(spec.etype, spec.out),
                                       partition_->edge_feature(spec.etype, spec.column).ReadAll());
      break;
    case EdgeIndexKind::kOrder:
      opened->view.emplace<OrderIndex>(opened->segment, *Rows(spec.etype, spec.out));
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
  for (;;) {
    std::promise<Entry> promise;
    std::shared_future<Entry> others;
    {
      const MutexLock lock(mutex_);
      auto [found, is_new] = slots_.try_emplace(spec);
      found->second.last_use = Clock::now();
      if (is_new) {
        found->second.entry = promise.get_future().share();
      } else {
        others = found->second.entry;
      }
    }
    if (!others.valid()) return MakeFor(spec, promise);
    AwaitFuture(others);
    if (Entry entry = others.get()) return entry;
  }
}

EdgeIndexes::Entry EdgeIndexes::MakeFor(const EdgeIndexSpec& spec, std::promise<Entry>& waiting) {
  const auto forget = [&] {
    const MutexLock lock(mutex_);
    slots_.erase(spec);
  };
  try {
    Entry entry = MakeAndOpen(spec);
    waiting.set_value(entry);
    return entry;
  } catch (const Error&) {
    forget();
    waiting.set_exception(std::current_exception());
    throw;
  } catch (...) {
    // Other exceptions concern only this thread: it was interrupted, for example.
    forget();
    waiting.set_value(nullptr);
    throw;
  }
}

template <class Index>
std::shared_ptr<const Index> EdgeIndexes::OpenAs(const EdgeIndexSpec& spec) {
  const Entry entry = Open(spec);
  return {entry, &std::get<Index>(entry->view)};
}

std::shared_ptr<const OutIndex> EdgeIndexes::Out(EdgeTypeId etype) {
  return OpenAs<OutIndex>({EdgeIndexKind::kOut, false, etype, ""});
}

std::shared_ptr<const AliasIndex> EdgeIndexes::Alias(EdgeTypeId etype, bool out,
                                                     const std::string& column) {
  return OpenAs<AliasIndex>({EdgeIndexKind::kAlias, out, etype, column});
}

std::shared_ptr<const OrderIndex> EdgeIndexes::Order(EdgeTypeId etype, bool out,
                                                     const std::string& column) {
  return OpenAs<OrderIndex>({EdgeIndexKind::kOrder, out, etype, column});
}

std::shared_ptr<const InverseIndex> EdgeIndexes::Inverse(EdgeTypeId etype) {
  if (!partition_->csc(etype).edge_rows) return nullptr;
  return OpenAs<InverseIndex>({EdgeIndexKind::kInverse, false, etype, ""});
}

std::shared_ptr<const SortedIndex> EdgeIndexes::Sorted(EdgeTypeId etype) {
  std::optional<bool> sorted;
  {
    const MutexLock lock(mutex_);
    if (const auto found = sorted_.find(etype); found != sorted_.end()) sorted = found->second;
  }
  if (!sorted) {
    // RowsAreSorted reads all edges, which takes seconds, so the mutex is not held meanwhile.
    sorted = RowsAreSorted(partition_->csc(etype));
    const MutexLock lock(mutex_);
    sorted_[etype] = *sorted;
  }
  if (*sorted) return nullptr;
  return OpenAs<SortedIndex>({EdgeIndexKind::kSorted, false, etype, ""});
}

bool EdgeIndexes::KnowsSorted(EdgeTypeId etype) {
  {
    const MutexLock lock(mutex_);
    auto found = sorted_.find(etype);
    if (found == sorted_.end()) return false;
    if (found->second) return true;
  }
  return Has({EdgeIndexKind::kSorted, false, etype, ""});
}

std::shared_ptr<const Csc> EdgeIndexes::Rows(EdgeTypeId etype, bool out) {
  if (!out) return {partition_, &partition_->csc(etype)};
  const auto index = Out(etype);
  return {index, &index->csc()};
}

EdgeIndexes::Made EdgeIndexes::Get(const EdgeIndexSpec& spec) { return Open(spec)->segment; }

EdgeIndexes::Made EdgeIndexes::Keep(const EdgeIndexSpec& spec) {
  const Entry entry = Open(spec);
  const MutexLock lock(mutex_);
  if (const auto found = slots_.find(spec); found != slots_.end()) found->second.is_kept = true;
  return entry->segment;
}

std::vector<EdgeIndexes::Dropped> EdgeIndexes::DropIdle(uint64_t bytes, Clock::duration idle) {
  const auto now = Clock::now();
  std::vector<Dropped> dropped;
  std::vector<std::shared_future<Entry>> freed;  // destroyed after `lock`, because that takes long
  const MutexLock lock(mutex_);
  for (uint64_t sum = 0; sum < bytes;) {
    auto oldest = slots_.end();
    for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
      const Slot& each = slot->second;
      if (each.is_kept || !IsReady(each.entry) || now - each.last_use < idle) continue;
      // A use count of 1 means that only the map holds the index. Nobody else can get it from the
      // map meanwhile, because this thread holds the mutex.
      if (each.entry.get().use_count() > 1) continue;
      if (oldest == slots_.end() || each.last_use < oldest->second.last_use) oldest = slot;
    }
    if (oldest == slots_.end()) break;
    dropped.push_back({oldest->first, oldest->second.entry.get()->segment->size()});
    sum += dropped.back().bytes;
    freed.push_back(std::move(oldest->second.entry));
    slots_.erase(oldest);
  }
  return dropped;
}

bool EdgeIndexes::Has(const EdgeIndexSpec& spec) {
  const MutexLock lock(mutex_);
  auto found = slots_.find(spec);
  if (found == slots_.end() || !IsReady(found->second.entry)) return false;
  found->second.last_use = Clock::now();
  return true;
}

std::vector<std::pair<EdgeIndexSpec, EdgeIndexes::Made>> EdgeIndexes::All() const {
  const MutexLock lock(mutex_);
  std::vector<std::pair<EdgeIndexSpec, Made>> all;
  for (const auto& [spec, slot] : slots_) {
    if (IsReady(slot.entry)) all.emplace_back(spec, slot.entry.get()->segment);
  }
  return all;
}

uint64_t EdgeIndexes::bytes() const {
  const MutexLock lock(mutex_);
  uint64_t sum = 0;
  for (const auto& [spec, slot] : slots_) {
    if (IsReady(slot.entry)) sum += slot.entry.get()->segment->size();
  }
  return sum;
}

}  // namespace graphd
