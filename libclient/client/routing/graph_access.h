// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/index.h"
#include "base/threads/mutex.h"
#include "client/link/daemon_link.h"
#include "client/link/session_process.h"
#include "client/link/tensor_port.h"
#include "client/routing/access_scratch.h"
#include "client/routing/hop_call.h"
#include "client/routing/shared_rows.h"
#include "graph/partition.h"
#include "graphd/sampling.h"
#include "sampling/index/edge_indexes.h"
#include "sampling/rule_traits.h"
#include "wire/memory/buffer_pool.h"

namespace graphd {

// Access to all partitions of a graph. Every call is split by the partitions that own its ids.
// Mapped partitions are read in place, and other partitions by RPC, in parallel. The answers are
// merged in the caller's order. HopPlan and HopExecutor plan and execute hops, and EdgeQueries
// answers queries of edges. Thread-safe.
class GraphAccess {
 public:
  // Every partition must be mapped or have a link. A partition that has both is read in place.
  GraphAccess(std::shared_ptr<const GraphMeta> meta,
              std::vector<std::vector<FeatureInfo>> node_features,
              std::vector<std::vector<FeatureInfo>> edge_features,
              std::vector<std::shared_ptr<const Partition>> mapped,  // [part], null: remote
              std::vector<std::shared_ptr<DaemonLink>> links,        // [part], null: mapped only
              std::vector<std::shared_ptr<TensorPort>> ports,        // [part]
              std::shared_ptr<Traffic> traffic, std::chrono::milliseconds timeout,
              std::unique_ptr<SharedRows> shared_rows = nullptr);  // null: nothing is shared

  // Throws Error(kInvalid) in a process that was forked from the session's. All functions that read
  // or change data call it.
  void CheckProcess() const { process_.Check(); }
  const GraphMeta& meta() const noexcept { return *meta_; }
  const std::shared_ptr<const GraphMeta>& shared_meta() const noexcept { return meta_; }
  // Returns the port to the tensors of each partition.
  const std::vector<std::shared_ptr<TensorPort>>& ports() const {
    CheckProcess();
    return ports_;
  }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  bool is_mapped(PartId part) const { return mapped(part) != nullptr; }
  bool all_mapped() const noexcept {
    return std::find(mapped_.begin(), mapped_.end(), nullptr) == mapped_.end();
  }
  // Returns a mapped partition, or null if the partition is reached by RPC.
  const std::shared_ptr<const Partition>& mapped(PartId part) const {
    return mapped_.at(Index(part));
  }
  // Returns the link to a partition that is not mapped.
  DaemonLink& link(PartId part) const { return *links_.at(Index(part)); }
  // Returns the indexes of a mapped partition, which are derived from its edges.
  EdgeIndexes& indexes(PartId part) const { return *indexes_.at(Index(part)); }
  int32_t num_parts() const noexcept { return static_cast<int32_t>(mapped_.size()); }
  // Throws Error(kInvalid) for an edge type out of range.
  void CheckEtype(EdgeTypeId etype) const;
  // Return the features of a type. Throw Error(kInvalid) for a type out of range.
  const std::vector<FeatureInfo>& features(NodeTypeId ntype) const;
  const std::vector<FeatureInfo>& features(EdgeTypeId etype) const;
  // Returns the description of a feature. Throws Error(kNotFound), which lists the existing names,
  // if the feature does not exist.
  const FeatureInfo& feature(const FeatureRef& ref) const;

  // Reads rows of a feature: out row i = row of ids[i].
  void Gather(const FeatureRef& ref, std::span<const int64_t> ids, std::span<std::byte> out);
  // Reads the rows of the ids [begin, end).
  void Slice(const FeatureRef& ref, int64_t begin, int64_t end, std::span<std::byte> out);
  // Does the work of SampleHop (graphd/sampling.h), and reads rows of features in the same
  // messages.
  std::vector<Neighbors> Hop(std::span<const HopSeeds> seeds, std::span<const SamplingRule> rules,
                             const HopOptions& options, std::span<const HopRows> rows = {});

  // Returns the object through which calls share the rows of partitions that are not mapped, or
  // null if all partitions are mapped.
  SharedRows* shared_rows() const noexcept { return shared_rows_.get(); }
  // Returns a feature's number in shared_rows(); nothing if its rows of this partition are not
  // shared.
  std::optional<size_t> SharedFeature(PartId part, const FeatureRef& feature) const;
  // Begins a read of rows of a remote partition: copies the rows that are cached to `out`, and puts
  // the other rows into `missing`. Returns false if the caller must request all rows itself,
  // because they are not shared.
  bool ReadShared(PartId part, const FeatureRef& feature, const RowsToRead& rows,
                  MissingRows& missing) const;
  // Finishes the reads that ReadShared has begun, once the rows that the call has requested have
  // arrived: shares these rows with other calls, waits for rows that other calls have requested,
  // and requests the rows that did not arrive. `reads` must contain all reads of the call.
  struct SharedRead {
    PartId part;
    FeatureRef feature;
    MissingRows* missing;
    std::byte* out;
  };
  void FinishShared(std::span<const SharedRead> reads);
  // Stores the rows of `ids` in the cache of this machine so that they are never evicted; requests
  // the rows that are not in the cache yet. Returns how many of the rows are kept. Rows of mapped
  // partitions are not cached, and do not count.
  int64_t KeepRows(const FeatureRef& feature, std::span<const int64_t> ids);

  const Traffic& traffic() const noexcept { return *traffic_; }
  // Counts reads of a partition's mapped memory; the partition's link reports the counts to its
  // daemon. Does nothing in standalone mode, where there is no daemon.
  void CountMapped(PartId part, const MappedReads& reads) const noexcept {
    if (const auto& link = links_[Index(part)]) link->CountMapped(reads);
  }
  // Waits in the barrier of the job; returns at once in standalone mode.
  void Barrier();

  // Returns a tensor in pooled memory.
  Tensor NewTensor(DType dtype, std::vector<int64_t> shape) const;

  // Calls a function for each partition that owns ids, with the partition's part of the split:
  // first `remote` for all remote partitions, then `local` for all mapped partitions. Then waits
  // for the results of `remote`. Repeats calls as Retry does.
  void ForParts(const OwnerSplit& split,
                const std::function<RpcThread::Pending(PartId, const OwnerSplit::Part&)>& remote,
                const std::function<void(PartId, const OwnerSplit::Part&)>& local);
  // Does what ForParts does, without repeating calls.
  void ForPartsOnce(
      const OwnerSplit& split,
      const std::function<RpcThread::Pending(PartId, const OwnerSplit::Part&)>& remote,
      const std::function<void(PartId, const OwnerSplit::Part&)>& local);
  // Calls f. While f fails because a daemon is unavailable, reconnects and calls f again, until the
  // timeout.
  void Retry(const std::function<void()>& f);

  // Scratch memory that a call borrows and returns at its end.
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
  // Returns a relabelling table that accepts any ids, such as the temporal sampler's numbers of
  // tree nodes.
  static RelabelTable& relabel_any(AccessScratch& scratch, NodeTypeId ntype);

 private:
  // Requests the rows for which SharedRows::ReadAwaited has waited in vain, stores them in the
  // cache of this machine, and gives them to calls that wait for them.
  void RequestAwaited(std::span<const SharedRead> reads);
  std::shared_ptr<const Segment> MapIndexOf(PartId part, const EdgeIndexSpec& spec);

  const SessionProcess process_;
  std::shared_ptr<const GraphMeta> meta_;
  std::vector<std::vector<FeatureInfo>> node_features_, edge_features_;
  std::vector<std::shared_ptr<const Partition>> mapped_;
  std::vector<std::shared_ptr<DaemonLink>> links_;
  std::vector<std::shared_ptr<TensorPort>> ports_;
  std::vector<std::unique_ptr<EdgeIndexes>> indexes_;  // [part], null: not mapped
  std::shared_ptr<Traffic> traffic_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<SharedRows> shared_rows_;
  std::shared_ptr<BufferPool> buffers_;
  std::atomic<uint64_t> next_entry_;       // number of the next entry into a barrier
  std::atomic<uint64_t> last_barrier_{0};  // number of the last barrier passed; 0: none yet
  Mutex mutex_;
  std::vector<std::unique_ptr<AccessScratch>> idle_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
