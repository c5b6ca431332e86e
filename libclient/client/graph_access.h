// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "client/daemon_link.h"
#include "graph/partition.h"
#include "graphd/sampling.h"
#include "sampling/relabel.h"
#include "sampling/uniform.h"
#include "wire/buffer_pool.h"

namespace graphd {

// Memory that one call borrows, and the next one reuses.
struct AccessScratch {
  struct PerPart {
    std::vector<int64_t> ids, positions, rows;
    SampledPart sampled;
  };
  std::vector<PerPart> parts;
  std::vector<PartId> owners;
  UniformSampler sampler;
  std::vector<std::unique_ptr<RelabelTable>> relabel;  // [ntype], made when first used
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
              std::chrono::milliseconds timeout);

  const GraphMeta& meta() const noexcept { return *meta_; }
  bool is_mapped(PartId part) const { return mapped_.at(static_cast<size_t>(part)) != nullptr; }
  const std::vector<FeatureInfo>& features(bool is_edge, int32_t type) const;
  // Throws Error(kNotFound) listing the names there are.
  const FeatureInfo& feature(const FeatureRef& ref) const;

  // out row i = feature row of ids[i].
  void Gather(const FeatureRef& ref, std::span<const int64_t> ids, std::span<std::byte> out);
  // Rows of the ids [begin, end).
  void Slice(const FeatureRef& ref, int64_t begin, int64_t end, std::span<std::byte> out);
  void Sample(EdgeTypeId etype, std::span<const int64_t> seeds, const SampleOptions& options,
              Neighbors& out);
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
  // Sorts ids by owner into scratch.parts; Error(kInvalid) with the id that is out of range.
  void SplitByOwner(const IdMap& map, int32_t type, std::span<const int64_t> ids,
                    AccessScratch& scratch) const;
  void LocalRows(const IdMap& map, int32_t type, PartId part, AccessScratch::PerPart& some) const;
  void SampleLocal(PartId part, EdgeTypeId etype, const SampleOptions& options, uint64_t key,
                   AccessScratch& scratch) const;
  static void Assemble(AccessScratch& scratch, bool edge_ids, Neighbors& out);
  // Runs f again after reconnecting while daemons are away, until the timeout.
  void Retry(const std::function<void()>& f);

  std::shared_ptr<const GraphMeta> meta_;
  std::vector<std::vector<FeatureInfo>> node_features_, edge_features_;
  std::vector<std::shared_ptr<const Partition>> mapped_;
  std::vector<std::shared_ptr<DaemonLink>> links_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<BufferPool> buffers_;
  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<AccessScratch>> idle_;
};

}  // namespace graphd
