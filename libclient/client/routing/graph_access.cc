// SPDX-License-Identifier: Apache-2.0
#include "client/routing/graph_access.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "base/clock.h"
#include "base/strings.h"
#include "client/link/barrier_call.h"
#include "client/link/index_call.h"
#include "client/link/retry.h"
#include "client/link/row_calls.h"
#include "client/routing/hop_executor.h"
#include "sampling/gather.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

const std::vector<FeatureInfo>& OfType(const std::vector<std::vector<FeatureInfo>>& features,
                                       int32_t type, const char* kind) {
  if (type < 0 || static_cast<size_t>(type) >= features.size()) {
    Throw(ErrorCode::kInvalid, kind, " type ", type, " is outside 0..",
          static_cast<int64_t>(features.size()) - 1);
  }
  return features[static_cast<size_t>(type)];
}

// Returns a number from which this session counts, so that no other session has the same numbers.
uint64_t RandomNumber() {
  std::random_device random;
  return uint64_t{random()} << 32 | 1;
}

}  // namespace

GraphAccess::GraphAccess(std::shared_ptr<const GraphMeta> meta,
                         std::vector<std::vector<FeatureInfo>> node_features,
                         std::vector<std::vector<FeatureInfo>> edge_features,
                         std::vector<std::shared_ptr<const Partition>> mapped,
                         std::vector<std::shared_ptr<DaemonLink>> links,
                         std::vector<std::shared_ptr<TensorPort>> ports,
                         std::shared_ptr<Traffic> traffic, std::chrono::milliseconds timeout,
                         std::unique_ptr<SharedRows> shared_rows)
    : meta_(std::move(meta)),
      node_features_(std::move(node_features)),
      edge_features_(std::move(edge_features)),
      mapped_(std::move(mapped)),
      links_(std::move(links)),
      ports_(std::move(ports)),
      traffic_(std::move(traffic)),
      timeout_(timeout),
      shared_rows_(std::move(shared_rows)),
      buffers_(BufferPool::Create()),
      next_entry_(RandomNumber()) {
  indexes_.resize(mapped_.size());
  for (size_t p = 0; p < mapped_.size(); p++) {
    if (!mapped_[p]) continue;
    if (!links_[p]) {
      indexes_[p] = std::make_unique<EdgeIndexes>(mapped_[p]);
      continue;
    }
    // The daemon builds indexes once for all trainers.
    indexes_[p] = std::make_unique<EdgeIndexes>(
        mapped_[p], [this, p](const EdgeIndexSpec& spec, const EdgeIndexes::Made&) {
          return MapIndexOf(static_cast<PartId>(p), spec);
        });
  }
}

const std::vector<FeatureInfo>& GraphAccess::features(NodeTypeId ntype) const {
  return OfType(node_features_, ntype, "node");
}
const std::vector<FeatureInfo>& GraphAccess::features(EdgeTypeId etype) const {
  return OfType(edge_features_, etype, "edge");
}

const FeatureInfo& GraphAccess::feature(const FeatureRef& ref) const {
  std::vector<std::string> names;
  for (const FeatureInfo& info :
       ref.is_edge ? features(EdgeTypeId(ref.type)) : features(NodeTypeId(ref.type))) {
    if (info.name == ref.name) return info;
    names.push_back(info.name);
  }
  Throw(ErrorCode::kNotFound, ref.is_edge ? "edge" : "node", " type '",
        ref.is_edge ? meta_->schema.etype(ref.type).ToString() : meta_->schema.ntype(ref.type),
        "' has no feature '", ref.name,
        "'; there are: ", names.empty() ? "none" : Join(names, ", "));
}

void GraphAccess::CheckEtype(EdgeTypeId etype) const {
  if (etype >= 0 && etype < meta_->schema.num_etypes()) return;
  Throw(ErrorCode::kInvalid, "edge type ", etype, " is outside 0..",
        meta_->schema.num_etypes() - 1);
}

std::optional<size_t> GraphAccess::SharedFeature(PartId part, const FeatureRef& feature) const {
  if (shared_rows_ == nullptr || is_mapped(part)) return std::nullopt;
  return shared_rows_->Find(feature);
}

bool GraphAccess::ReadShared(PartId part, const FeatureRef& feature, const RowsToRead& rows,
                             MissingRows& missing) const {
  const std::optional<size_t> shared = SharedFeature(part, feature);
  if (!shared) {
    missing.Clear();  // drops the rows of an earlier attempt
    return false;
  }
  link(part).CountCached(
      shared_rows_->Read(part, *shared, rows.ids, rows.positions, rows.out, missing));
  return !missing.are_all;
}

void GraphAccess::FinishShared(std::span<const SharedRead> reads) {
  for (const SharedRead& read : reads) shared_rows_->Store(*read.missing, read.out);
  // The calls whose rows this call waits for may themselves be waiting for a daemon that does not
  // answer and that this call does not need, so this call waits for kPatience at most.
  constexpr std::chrono::seconds kPatience{2};
  const auto deadline =
      std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(timeout_, kPatience);
  bool all_found = true;
  for (const SharedRead& read : reads) {
    if (read.missing->awaited.empty()) continue;
    link(read.part).CountCached(shared_rows_->ReadAwaited(*read.missing, deadline));
    all_found = all_found && read.missing->ids.empty();
  }
  if (!all_found) RequestAwaited(reads);
  for (const SharedRead& read : reads) {
    if (!read.missing->copies.empty()) {
      read.missing->CopyAgain(RowBytesOf(feature(read.feature)), read.out);
    }
    read.missing->Clear();
  }
}

void GraphAccess::RequestAwaited(std::span<const SharedRead> reads) {
  Retry([&] {
    std::vector<RpcThread::Pending> pending;
    for (const SharedRead& read : reads) {
      const MissingRows& missing = *read.missing;
      if (missing.ids.empty()) continue;
      const size_t id_bytes =
          IdBytes(meta_->book.map(read.feature.is_edge).count(read.feature.type));
      const size_t row_bytes = RowBytesOf(feature(read.feature));
      pending.push_back(
          StartGather(link(read.part), read.part, read.feature,
                      {missing.ids, missing.positions, read.out, row_bytes, id_bytes}));
    }
    for (auto& call : pending) call.Wait();
  });
  for (const SharedRead& read : reads) shared_rows_->Store(*read.missing, read.out);
}

int64_t GraphAccess::KeepRows(const FeatureRef& ref, std::span<const int64_t> ids) {
  constexpr size_t kBytesAtOnce = size_t{16} << 20;
  CheckProcess();
  const size_t row_bytes = RowBytesOf(feature(ref));
  OwnerSplit split;
  split.Assign({meta_->book, ref.is_edge, ref.type}, ids, "id");
  // Holds the ids that other machines own, with their positions in `ids`.
  std::vector<std::pair<int64_t, int64_t>> by_id;
  for (size_t p = 0; p < split.parts.size(); p++) {
    const OwnerSplit::Part& some = split.parts[p];
    if (is_mapped(static_cast<PartId>(p))) continue;
    for (size_t i = 0; i < some.ids.size(); i++) by_id.emplace_back(some.ids[i], some.positions[i]);
  }
  RowCache* const cache = shared_rows_ == nullptr ? nullptr : shared_rows_->cache();
  if (cache == nullptr || by_id.empty()) return 0;
  // The order of `ids` is kept, because the first ids are the most important if there is no room
  // for all.
  std::sort(by_id.begin(), by_id.end());
  by_id.erase(std::unique(by_id.begin(), by_id.end(),
                          [](const auto& a, const auto& b) { return a.first == b.first; }),
              by_id.end());
  std::sort(by_id.begin(), by_id.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<int64_t> remote;
  for (const auto& [id, position] : by_id) remote.push_back(id);
  const std::optional<size_t> cached = shared_rows_->Find(ref);
  if (!cached || !cache->PrepareToKeep(*cached, remote.size())) return 0;
  const size_t step = std::max<size_t>(kBytesAtOnce / std::max<size_t>(row_bytes, 1), 1);
  std::vector<std::byte> rows;
  std::vector<int64_t> places;
  int64_t kept = 0;
  for (size_t begin = 0; begin < remote.size(); begin += step) {
    const auto some = std::span(remote).subspan(begin, std::min(step, remote.size() - begin));
    rows.resize(some.size() * row_bytes);
    places.resize(some.size());
    std::iota(places.begin(), places.end(), 0);
    Gather(ref, some, rows);
    kept += cache->Keep(*cached, some, places, rows.data());
  }
  return kept;
}

void GraphAccess::ForParts(
    const OwnerSplit& split,
    const std::function<RpcThread::Pending(PartId, const OwnerSplit::Part&)>& remote,
    const std::function<void(PartId, const OwnerSplit::Part&)>& local) {
  Retry([&] { ForPartsOnce(split, remote, local); });
}

void GraphAccess::ForPartsOnce(
    const OwnerSplit& split,
    const std::function<RpcThread::Pending(PartId, const OwnerSplit::Part&)>& remote,
    const std::function<void(PartId, const OwnerSplit::Part&)>& local) {
  std::vector<RpcThread::Pending> pending;
  for (size_t p = 0; p < split.parts.size(); p++) {
    const auto part = static_cast<PartId>(p);
    if (split.parts[p].ids.empty() || is_mapped(part)) continue;
    pending.push_back(remote(part, split.parts[p]));
  }
  for (size_t p = 0; p < split.parts.size(); p++) {
    const auto part = static_cast<PartId>(p);
    if (!split.parts[p].ids.empty() && is_mapped(part)) local(part, split.parts[p]);
  }
  for (auto& call : pending) call.Wait();
}

void GraphAccess::Gather(const FeatureRef& ref, std::span<const int64_t> ids,
                         std::span<std::byte> out) {
  const FeatureInfo& info = feature(ref);
  const size_t row_bytes = RowBytesOf(info);
  if (out.size() != ids.size() * row_bytes) {
    Throw(ErrorCode::kInvalid, "output of ", out.size(), " bytes for ", ids.size(), " rows of ",
          row_bytes);
  }
  if (ids.empty()) return;
  const TypeIds all_ids(meta_->book, ref.is_edge, ref.type);
  Loan loan(*this);
  loan->splits.resize(std::max<size_t>(loan->splits.size(), 1));
  OwnerSplit& split = loan->splits[0];
  split.Assign(all_ids, ids, "id");
  const size_t id_bytes = IdBytes(all_ids.count());
  if (shared_rows_ != nullptr) loan->missing.resize(split.parts.size());
  const auto remote = [&](PartId p, const OwnerSplit::Part& some) -> RpcThread::Pending {
    RowsToRead rows{some.ids, some.positions, out.data(), row_bytes, id_bytes};
    if (shared_rows_ != nullptr) {
      MissingRows& missing = loan->missing[Index(p)];
      if (ReadShared(p, ref, rows, missing)) {
        if (missing.ids.empty()) return {};
        rows.ids = missing.ids;
        rows.positions = missing.positions;
      }
    }
    return StartGather(link(p), p, ref, rows);
  };
  const auto local = [&](PartId p, const OwnerSplit::Part& some) {
    LocalRows(all_ids, p, some.ids, loan->rows);
    const Partition& partition = *mapped_[Index(p)];
    const FeatureTable& table = ref.is_edge ? partition.edge_feature(ref.type, ref.name)
                                            : partition.node_feature(ref.type, ref.name);
    const bool all = some.ids.size() == ids.size();
    GatherRows(table, loan->rows,
               all ? std::span<const int64_t>() : std::span<const int64_t>(some.positions),
               out.data());
    CountMapped(p, {.calls = 1, .rows = some.ids.size(), .bytes = some.ids.size() * row_bytes});
  };
  Retry([&] { loan->EndRequestsIfItThrows([&] { ForPartsOnce(split, remote, local); }); });
  if (shared_rows_ == nullptr) return;
  std::vector<SharedRead> reads;
  for (size_t p = 0; p < split.parts.size(); p++) {
    if (split.parts[p].ids.empty() || is_mapped(static_cast<PartId>(p))) continue;
    reads.push_back({static_cast<PartId>(p), ref, &loan->missing[p], out.data()});
  }
  FinishShared(reads);
}

void GraphAccess::Slice(const FeatureRef& ref, int64_t begin, int64_t end,
                        std::span<std::byte> out) {
  const IdMap& map = meta_->book.map(ref.is_edge);
  if (begin < 0 || end < begin || end > map.count(ref.type)) {
    Throw(ErrorCode::kInvalid, "rows [", begin, ", ", end, ") are outside 0..",
          map.count(ref.type));
  }
  if (!map.is_range()) {  // a partition's ids are not consecutive
    std::vector<int64_t> ids(static_cast<size_t>(end - begin));
    for (size_t i = 0; i < ids.size(); i++) ids[i] = begin + static_cast<int64_t>(i);
    return Gather(ref, ids, out);
  }
  const size_t row_bytes = end > begin ? out.size() / static_cast<size_t>(end - begin) : 0;
  Retry([&] {
    std::vector<RpcThread::Pending> pending;
    for (PartId p = 0; p < map.num_parts(); p++) {
      const int64_t first = map.type_begin(p, ref.type);
      const int64_t from = std::max(begin, first);
      const int64_t to = std::min(end, first + map.count_in(p, ref.type));
      if (from >= to || row_bytes == 0) continue;
      auto target = out.subspan(static_cast<size_t>(from - begin) * row_bytes,
                                static_cast<size_t>(to - from) * row_bytes);
      if (!is_mapped(p)) {
        pending.push_back(StartSlice(link(p), p, ref, row_bytes, from - first, target));
        continue;
      }
      const Partition& partition = *mapped_[Index(p)];
      const FeatureTable& table = ref.is_edge ? partition.edge_feature(ref.type, ref.name)
                                              : partition.node_feature(ref.type, ref.name);
      table.Read(from - first, to - from, target.data());
      CountMapped(p,
                  {.calls = 1, .rows = static_cast<uint64_t>(to - from), .bytes = target.size()});
    }
    for (auto& call : pending) call.Wait();
  });
}

std::vector<Neighbors> GraphAccess::Hop(std::span<const HopSeeds> seeds,
                                        std::span<const SamplingRule> rules,
                                        const HopOptions& options, std::span<const HopRows> rows) {
  return HopExecutor(*this).Run({seeds, rules, options, rows});
}

void GraphAccess::Barrier() {
  CheckProcess();
  // The daemon of partition 0 keeps the barrier of the whole job.
  if (links_.empty() || !links_[0]) return;
  constexpr std::chrono::milliseconds kLeast{1};
  const auto start = Clock::now();
  const uint64_t entry = next_entry_++;
  uint64_t barrier = last_barrier_;
  for (;;) {
    links_[0]->ReconnectIfBroken();
    const uint64_t generation = links_[0]->generation();
    try {
      const auto passed =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
      StartBarrier(*links_[0], std::max(timeout_ - passed, kLeast), entry, barrier).Wait();
      last_barrier_ = barrier;
      return;
    } catch (const Error& error) {
      // If a trainer has left, the barrier fails. If the daemon restarts, the barrier is only
      // interrupted, and this trainer enters it again. It may have passed and lost the answer;
      // the daemon then lets it pass at once.
      const bool interrupted = links_[0]->is_broken() || links_[0]->generation() != generation;
      if (error.code() != ErrorCode::kUnavailable || !interrupted ||
          Clock::now() - start > timeout_) {
        throw;
      }
    }
  }
}

void GraphAccess::Retry(const std::function<void()>& f) {
  CheckProcess();
  RetryWhileUnavailable(
      timeout_,
      [this] {
        for (size_t p = 0; p < links_.size(); p++) {
          if (links_[p] && !mapped_[p]) links_[p]->ReconnectIfBroken();
        }
      },
      f);
}

std::shared_ptr<const Segment> GraphAccess::MapIndexOf(PartId part, const EdgeIndexSpec& spec) {
  DaemonLink& link = *links_[Index(part)];
  std::shared_ptr<const Segment> segment;
  link.RetryWhileUnavailable([&] { segment = MapIndex(link, part, spec); });
  return segment;
}

Tensor GraphAccess::NewTensor(DType dtype, std::vector<int64_t> shape) const {
  CheckProcess();
  Tensor measured(dtype, shape, nullptr, nullptr);
  auto buffer = std::make_shared<PooledBuffer>(buffers_->Get(measured.num_bytes()));
  std::byte* data = buffer->data();
  return Tensor(dtype, std::move(shape), data, std::move(buffer));
}

GraphAccess::Loan::Loan(GraphAccess& access) : access_(access) {
  access.CheckProcess();
  const MutexLock lock(access.mutex_);
  if (access.idle_.empty()) {
    scratch_ = std::make_unique<AccessScratch>();
  } else {
    scratch_ = std::move(access.idle_.back());
    access.idle_.pop_back();
  }
}

GraphAccess::Loan::~Loan() {
  // If the call has failed, other calls must not wait for its rows any longer, nor write rows to
  // its output.
  if (access_.shared_rows_ != nullptr) scratch_->ClearMissing();
  const MutexLock lock(access_.mutex_);
  access_.idle_.push_back(std::move(scratch_));
}

RelabelTable& GraphAccess::relabel(AccessScratch& scratch, NodeTypeId ntype) const {
  const auto index = static_cast<size_t>(ntype);
  if (scratch.relabel.size() <= index) scratch.relabel.resize(index + 1);
  if (!scratch.relabel[index]) {
    scratch.relabel[index] = std::make_unique<RelabelTable>(meta_->book.nodes().count(ntype));
  }
  return *scratch.relabel[index];
}

RelabelTable& GraphAccess::relabel_any(AccessScratch& scratch, NodeTypeId ntype) {
  const auto index = static_cast<size_t>(ntype);
  while (scratch.relabel_any.size() <= index) scratch.relabel_any.emplace_back(INT64_MAX, 0);
  return scratch.relabel_any[index];
}

}  // namespace graphd
