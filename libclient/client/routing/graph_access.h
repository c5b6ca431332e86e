// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "client/link/daemon_link.h"
#include "client/link/tensor_port.h"
#include "client/routing/owner_split.h"
#include "graph/partition.h"
#include "graphd/sampling.h"
#include "sampling/hop_picker.h"
#include "sampling/relabel.h"
#include "sampling/rule_traits.h"
#include "wire/buffer_pool.h"

namespace graphd {

// Memory that one call borrows, and the next one reuses.
struct AccessScratch {
  std::vector<OwnerSplit> splits;  // [ntype], or the first for calls on one type
  std::vector<int64_t> rows;
  HopPicker picker;
  struct HopPart {
    HopRequest request;
    HopAnswer answer;
    std::vector<SampledEdges<int64_t>> answers;                // by rule of the call
    std::vector<std::vector<int64_t>> streams, times, places;  // owned by lists and rows of the hop
    std::vector<std::vector<double>> real_times;
    std::vector<std::vector<int64_t>> exclude;  // [etype]
    // Rows that don't travel with the hop, and their places.
    std::vector<SeedRows> large_rows;
    std::vector<HopAnswer::Rows> large_places;
  };
  std::vector<HopPart> hop_parts;
  std::vector<std::unique_ptr<RelabelTable>> relabel;  // [ntype], made when first used
};

// Rows of a node feature that travel with a hop: those of the seeds of a type from `begin` on, to
// `out`.
struct HopRows {
  NodeTypeId ntype;
  std::string name;
  size_t begin;
  std::byte* out;
};

// Splits every call by owner: mapped partitions are read in place, the others by RPC, in parallel,
// and the answer is put together in the caller's order. Thread-safe.
class GraphAccess {
 public:
  // Every partition is mapped, or has a link, or both (then it is read in place).
  GraphAccess(std::shared_ptr<const GraphMeta> meta,
              std::vector<std::vector<FeatureInfo>> node_features,
              std::vector<std::vector<FeatureInfo>> edge_features,
              std::vector<std::shared_ptr<const Partition>> mapped,  // [part], null: remote
              std::vector<std::shared_ptr<DaemonLink>> links,        // [part], null: mapped only
              std::vector<std::shared_ptr<TensorPort>> ports,        // [part]
              std::shared_ptr<Traffic> traffic, std::chrono::milliseconds timeout);

  const GraphMeta& meta() const noexcept { return *meta_; }
  const std::shared_ptr<const GraphMeta>& shared_meta() const noexcept { return meta_; }
  // Who keeps the tensors of each partition.
  const std::vector<std::shared_ptr<TensorPort>>& ports() const noexcept { return ports_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  bool is_mapped(PartId part) const { return mapped(part) != nullptr; }
  bool all_mapped() const noexcept {
    return std::find(mapped_.begin(), mapped_.end(), nullptr) == mapped_.end();
  }
  // Null if the partition is reached by RPC.
  const std::shared_ptr<const Partition>& mapped(PartId part) const {
    return mapped_.at(static_cast<size_t>(part));
  }
  const std::vector<FeatureInfo>& features(bool is_edge, int32_t type) const;
  // Throws Error(kNotFound) listing the names there are.
  const FeatureInfo& feature(const FeatureRef& ref) const;

  // out row i = feature row of ids[i].
  void Gather(const FeatureRef& ref, std::span<const int64_t> ids, std::span<std::byte> out);
  // Rows of the ids [begin, end).
  void Slice(const FeatureRef& ref, int64_t begin, int64_t end, std::span<std::byte> out);
  // graphd/sampling.h's SampleHop, with rows. One message per partition that is not mapped, unless
  // the answer would be too large for one.
  std::vector<Neighbors> Hop(std::span<const HopSeeds> seeds, std::span<const SamplingRule> rules,
                             const HopOptions& options, std::span<const HopRows> rows = {});

  // Ends of edges, in the order of `ids`; src and dst of that size.
  void FindEdges(EdgeTypeId etype, std::span<const int64_t> ids, std::span<int64_t> src,
                 std::span<int64_t> dst);
  void HasEdges(EdgeTypeId etype, std::span<const int64_t> src, std::span<const int64_t> dst,
                std::span<uint8_t> found);
  void Degrees(EdgeTypeId etype, Direction direction, std::span<const int64_t> nodes,
               std::span<int64_t> degrees);
  // In-edges of `seeds` (of the destination type) whose source is in `members` (ascending,
  // distinct): indptr over seeds, indices into members, edge ids.
  void Induced(EdgeTypeId etype, std::span<const int64_t> seeds, std::span<const int64_t> members,
               std::vector<int64_t>& indptr, std::vector<int64_t>& indices,
               std::vector<int64_t>& edge_ids);
  const Traffic& traffic() const noexcept { return *traffic_; }
  // The barrier of the job; nothing in standalone mode.
  void Barrier();

  // A tensor in pooled memory.
  Tensor NewTensor(DType dtype, std::vector<int64_t> shape) const;

  // Scratch on loan for one call.
  class Loan {
   public:
    explicit Loan(GraphAccess& access);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    AccessScratch& operator*() const noexcept { return *scratch_; }
    AccessScratch* operator->() const noexcept { return scratch_.get(); }

   private:
    GraphAccess& access_;
    std::unique_ptr<AccessScratch> scratch_;
  };
  RelabelTable& relabel(AccessScratch& scratch, NodeTypeId ntype) const;

 private:
  // hop.cc
  void CheckHop(std::span<const HopSeeds> seeds, std::span<const SamplingRule> rules,
                const HopOptions& options) const;
  size_t SeedsPerMessage(std::span<const SamplingRule> rules) const;
  struct HopCall;
  std::vector<Neighbors> HopOnce(const HopCall& call);
  void SplitHop(const HopCall& call, AccessScratch& scratch) const;
  void PrepareHop(const HopCall& call, PartId part, AccessScratch& scratch) const;
  std::vector<RpcThread::Pending> StartHop(PartId part, AccessScratch::HopPart& work);
  void RunHop(PartId part, AccessScratch& scratch);
  Neighbors AssembleHop(const HopCall& call, size_t rule, AccessScratch& scratch) const;
  std::shared_ptr<const Segment> MapIndex(PartId part, const EdgeIndexSpec& spec);
  size_t RowBytes(const FeatureInfo& info) const;
  EdgeWidths Widths(EdgeTypeId etype) const;
  void CheckEtype(EdgeTypeId etype) const;
  // Calls f(part, split of the part) for parts that own ids: remote ones first, to be waited for.
  void ForParts(const OwnerSplit& split,
                const std::function<RpcThread::Pending(PartId, const OwnerSplit::Part&)>& remote,
                const std::function<void(PartId, const OwnerSplit::Part&)>& local);
  // Runs f again after reconnecting while daemons are away, until the timeout.
  void Retry(const std::function<void()>& f);

  std::shared_ptr<const GraphMeta> meta_;
  std::vector<std::vector<FeatureInfo>> node_features_, edge_features_;
  std::vector<std::shared_ptr<const Partition>> mapped_;
  std::vector<std::shared_ptr<DaemonLink>> links_;
  std::vector<std::shared_ptr<TensorPort>> ports_;
  std::vector<std::unique_ptr<EdgeIndexes>> indexes_;  // [part], null: not mapped
  std::shared_ptr<Traffic> traffic_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<BufferPool> buffers_;
  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<AccessScratch>> idle_;
};

}  // namespace graphd
