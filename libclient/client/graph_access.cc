// SPDX-License-Identifier: Apache-2.0
#include "client/graph_access.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "sampling/gather.h"

namespace graphd {

GraphAccess::GraphAccess(std::shared_ptr<const GraphMeta> meta,
                         std::vector<std::vector<FeatureInfo>> node_features,
                         std::vector<std::vector<FeatureInfo>> edge_features,
                         std::vector<std::shared_ptr<const Partition>> mapped,
                         std::vector<std::shared_ptr<DaemonLink>> links,
                         std::chrono::milliseconds timeout)
    : meta_(std::move(meta)),
      node_features_(std::move(node_features)),
      edge_features_(std::move(edge_features)),
      mapped_(std::move(mapped)),
      links_(std::move(links)),
      timeout_(timeout),
      buffers_(BufferPool::Create()) {}

const std::vector<FeatureInfo>& GraphAccess::features(bool is_edge, int32_t type) const {
  const auto& all = is_edge ? edge_features_ : node_features_;
  if (type < 0 || static_cast<size_t>(type) >= all.size()) {
    Throw(ErrorCode::kInvalid, is_edge ? "edge" : "node", " type ", type, " is outside 0..",
          static_cast<int64_t>(all.size()) - 1);
  }
  return all[static_cast<size_t>(type)];
}

const FeatureInfo& GraphAccess::feature(const FeatureRef& ref) const {
  std::vector<std::string> names;
  for (const FeatureInfo& info : features(ref.is_edge, ref.type)) {
    if (info.name == ref.name) return info;
    names.push_back(info.name);
  }
  Throw(ErrorCode::kNotFound, ref.is_edge ? "edge" : "node", " type '",
        ref.is_edge ? meta_->schema.etype(ref.type).ToString() : meta_->schema.ntype(ref.type),
        "' has no feature '", ref.name,
        "'; there are: ", names.empty() ? "none" : Join(names, ", "));
}

void GraphAccess::SplitByOwner(const IdMap& map, int32_t type, std::span<const int64_t> ids,
                               AccessScratch& scratch) const {
  const auto num_parts = static_cast<size_t>(map.num_parts());
  scratch.parts.resize(num_parts);
  scratch.owners.resize(ids.size());
  for (auto& part : scratch.parts) {
    part.ids.clear();
    part.positions.clear();
  }
  const int64_t count = map.count(type);
  for (size_t i = 0; i < ids.size(); i++) {
    if (ids[i] < 0 || ids[i] >= count) {
      Throw(ErrorCode::kInvalid, "id ", ids[i], " at position ", i, " is outside 0..", count - 1);
    }
  }
  if (num_parts == 1) {
    std::fill(scratch.owners.begin(), scratch.owners.end(), 0);
  } else if (num_parts == 2 && map.is_range()) {
    const int64_t boundary = map.type_begin(1, type);
    for (size_t i = 0; i < ids.size(); i++) scratch.owners[i] = ids[i] >= boundary;
  } else {
    for (size_t i = 0; i < ids.size(); i++) scratch.owners[i] = map.Owner(type, ids[i]);
  }
  for (size_t i = 0; i < ids.size(); i++) {
    auto& part = scratch.parts[static_cast<size_t>(scratch.owners[i])];
    part.ids.push_back(ids[i]);
    part.positions.push_back(static_cast<int64_t>(i));
  }
}

void GraphAccess::LocalRows(const IdMap& map, int32_t type, PartId part,
                            AccessScratch::PerPart& some) const {
  some.rows.resize(some.ids.size());
  if (map.is_range()) {
    const int64_t first = map.type_begin(part, type);
    for (size_t i = 0; i < some.ids.size(); i++) some.rows[i] = some.ids[i] - first;
  } else {
    for (size_t i = 0; i < some.ids.size(); i++) some.rows[i] = map.LocalRow(type, some.ids[i]);
  }
}

void GraphAccess::Gather(const FeatureRef& ref, std::span<const int64_t> ids,
                         std::span<std::byte> out) {
  const FeatureInfo& info = feature(ref);
  size_t row_bytes = DTypeSize(info.dtype);
  for (int64_t extent : info.row_shape) row_bytes *= static_cast<size_t>(extent);
  if (out.size() != ids.size() * row_bytes) {
    Throw(ErrorCode::kInvalid, "output of ", out.size(), " bytes for ", ids.size(), " rows of ",
          row_bytes);
  }
  if (ids.empty()) return;
  const IdMap& map = ref.is_edge ? meta_->book.edges() : meta_->book.nodes();
  Loan loan(*this);
  SplitByOwner(map, ref.type, ids, *loan);
  Retry([&] {
    std::vector<RpcThread::Pending> pending;
    for (PartId p = 0; p < map.num_parts(); p++) {
      auto& some = loan->parts[static_cast<size_t>(p)];
      if (some.ids.empty() || is_mapped(p)) continue;
      pending.push_back(links_[static_cast<size_t>(p)]->Gather(
          p, ref, row_bytes, map.count(ref.type), some.ids, some.positions, out.data()));
    }
    for (PartId p = 0; p < map.num_parts(); p++) {
      auto& some = loan->parts[static_cast<size_t>(p)];
      if (some.ids.empty() || !is_mapped(p)) continue;
      LocalRows(map, ref.type, p, some);
      const Partition& partition = *mapped_[static_cast<size_t>(p)];
      const Tensor& table = ref.is_edge ? partition.edge_feature(ref.type, ref.name)
                                        : partition.node_feature(ref.type, ref.name);
      const bool all = some.ids.size() == ids.size();
      GatherRows(table.data(), row_bytes, some.rows,
                 all ? std::span<const int64_t>() : std::span<const int64_t>(some.positions),
                 out.data());
    }
    for (auto& call : pending) call.Wait();
  });
}

void GraphAccess::Slice(const FeatureRef& ref, int64_t begin, int64_t end,
                        std::span<std::byte> out) {
  const IdMap& map = ref.is_edge ? meta_->book.edges() : meta_->book.nodes();
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
        pending.push_back(
            links_[static_cast<size_t>(p)]->Slice(p, ref, row_bytes, from - first, target));
        continue;
      }
      const Partition& partition = *mapped_[static_cast<size_t>(p)];
      const Tensor& table = ref.is_edge ? partition.edge_feature(ref.type, ref.name)
                                        : partition.node_feature(ref.type, ref.name);
      std::memcpy(target.data(), table.data() + static_cast<size_t>(from - first) * row_bytes,
                  target.size());
    }
    for (auto& call : pending) call.Wait();
  });
}

void GraphAccess::SampleLocal(PartId part, EdgeTypeId etype, const SampleOptions& options,
                              uint64_t key, AccessScratch& scratch) const {
  auto& some = scratch.parts[static_cast<size_t>(part)];
  const Partition& partition = *mapped_[static_cast<size_t>(part)];
  LocalRows(meta_->book.nodes(), meta_->schema.dst_type(etype), part, some);
  some.sampled.counts.resize(some.ids.size());
  const size_t total =
      scratch.sampler.Plan(partition.csc(etype), some.rows, some.ids,
                           {options.fanout, options.replace, key}, some.sampled.counts);
  some.sampled.neighbors.resize(total);
  some.sampled.edge_ids.resize(options.edge_ids ? total : 0);
  // Edge ids are non-negative, so their int64 and uint64 forms are the same bytes.
  auto* positions = reinterpret_cast<uint64_t*>(some.sampled.edge_ids.data());
  scratch.sampler.Pick(some.sampled.neighbors.data(), options.edge_ids ? positions : nullptr);
  if (options.edge_ids) PositionsToEdgeIds(partition, etype, {positions, total});
}

void GraphAccess::Assemble(AccessScratch& scratch, bool edge_ids, Neighbors& out) {
  struct Cursor {
    size_t seed = 0, edge = 0;
  };
  std::vector<Cursor> cursors(scratch.parts.size());
  out.indptr.resize(scratch.owners.size() + 1);
  out.indptr[0] = 0;
  size_t total = 0;
  for (const auto& part : scratch.parts) {
    if (!part.ids.empty()) total += part.sampled.neighbors.size();
  }
  out.neighbors.resize(total);
  out.edge_ids.resize(edge_ids ? total : 0);
  size_t at = 0;
  for (size_t i = 0; i < scratch.owners.size(); i++) {
    const auto owner = static_cast<size_t>(scratch.owners[i]);
    const SampledPart& from = scratch.parts[owner].sampled;
    Cursor& cursor = cursors[owner];
    const uint32_t count = from.counts[cursor.seed++];
    const int64_t* neighbors = from.neighbors.data() + cursor.edge;
    for (uint32_t k = 0; k < count; k++) out.neighbors[at + k] = neighbors[k];
    if (edge_ids) {
      const int64_t* ids = from.edge_ids.data() + cursor.edge;
      for (uint32_t k = 0; k < count; k++) out.edge_ids[at + k] = ids[k];
    }
    cursor.edge += count;
    at += count;
    out.indptr[i + 1] = static_cast<int64_t>(at);
  }
}

void GraphAccess::Sample(EdgeTypeId etype, std::span<const int64_t> seeds,
                         const SampleOptions& options, Neighbors& out) {
  if (etype < 0 || etype >= meta_->schema.num_etypes()) {
    Throw(ErrorCode::kInvalid, "edge type ", etype, " is outside 0..",
          meta_->schema.num_etypes() - 1);
  }
  if (options.fanout < -1) {
    Throw(ErrorCode::kInvalid, "fanout ", options.fanout, ": use -1 for all, or 0 and more");
  }
  out.etype = etype;
  const NodeTypeId src = meta_->schema.src_type(etype), dst = meta_->schema.dst_type(etype);
  const IdMap& nodes = meta_->book.nodes();
  const uint64_t key = SampleKey(options.seed, options.layer, etype);
  Loan loan(*this);
  SplitByOwner(nodes, dst, seeds, *loan);
  Retry([&] {
    std::vector<RpcThread::Pending> pending;
    for (PartId p = 0; p < nodes.num_parts(); p++) {
      auto& some = loan->parts[static_cast<size_t>(p)];
      if (some.ids.empty() || is_mapped(p)) continue;
      pending.push_back(links_[static_cast<size_t>(p)]->Sample(
          p, etype, options, key, nodes.count(src), nodes.count(dst),
          meta_->book.edges().count(etype), some.ids, &some.sampled));
    }
    for (PartId p = 0; p < nodes.num_parts(); p++) {
      if (loan->parts[static_cast<size_t>(p)].ids.empty() || !is_mapped(p)) continue;
      SampleLocal(p, etype, options, key, *loan);
    }
    for (auto& call : pending) call.Wait();
  });
  Assemble(*loan, options.edge_ids, out);
}

void GraphAccess::Barrier() {
  // The daemon of partition 0 counts for the whole job.
  if (links_.empty() || !links_[0]) return;
  const auto start = Clock::now();
  for (;;) {
    links_[0]->ReconnectIfBroken();
    try {
      return links_[0]->Barrier().Wait();
    } catch (const Error& error) {
      // A trainer that has left fails the barrier; a daemon that restarts only interrupts it.
      if (error.code() != ErrorCode::kUnavailable || !links_[0]->is_broken() ||
          Clock::now() - start > timeout_) {
        throw;
      }
    }
  }
}

void GraphAccess::Retry(const std::function<void()>& f) {
  const auto start = Clock::now();
  for (;;) {
    try {
      return f();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable || Clock::now() - start > timeout_) throw;
    }
    // The call may have failed before the link knows that it is broken.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (size_t p = 0; p < links_.size(); p++) {
      if (links_[p] && !mapped_[p]) links_[p]->ReconnectIfBroken();
    }
  }
}

Tensor GraphAccess::NewTensor(DType dtype, std::vector<int64_t> shape) const {
  Tensor measured(dtype, shape, nullptr, nullptr);
  auto buffer = std::make_shared<PooledBuffer>(buffers_->Get(measured.num_bytes()));
  std::byte* data = buffer->data();
  return Tensor(dtype, std::move(shape), data, std::move(buffer));
}

GraphAccess::Loan::Loan(GraphAccess& access) : access_(access) {
  std::lock_guard lock(access.mutex_);
  if (access.idle_.empty()) {
    scratch_ = std::make_unique<AccessScratch>();
  } else {
    scratch_ = std::move(access.idle_.back());
    access.idle_.pop_back();
  }
}

GraphAccess::Loan::~Loan() {
  std::lock_guard lock(access_.mutex_);
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

}  // namespace graphd
