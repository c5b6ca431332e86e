// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "client/tensors/table_change.h"
#include "client/tensors/tensor_source.h"
#include "graph/tensor_rows.h"

namespace graphd {

// A tensor whose rows are stored by daemons or, in standalone mode, by this process. If the memory
// of a share's daemon is mapped, rows are read there. Rows that are not in memory, and all rows of
// other shares, are read by RPC. Thread-safe.
class TableSource final : public TensorSource {
 public:
  // `tables` has the table number of each partition's share.
  TableSource(std::shared_ptr<GraphAccess> access, TensorSpec spec, std::vector<uint32_t> tables);

  void Read(std::span<const int64_t> ids, std::span<std::byte> out) override;
  void Slice(int64_t begin, int64_t end, std::span<std::byte> out) override;
  int64_t KeepCached(std::span<const int64_t> ids) override;
  bool is_feature() const noexcept override { return false; }
  void Write(UpdateKind kind, std::span<const int64_t> ids,
             std::span<const std::byte> rows) override;
  void Acquire() override;
  void Release() override;

  // Takes the lease if the tensor needs one and this object does not have it.
  void AcquireForWriting();
  // Adds the state of an optimiser to the tensor, and waits until the memory of all its shares is
  // prepared, for at most store::kLongestPreparation. Throws Error(kInvalid) if the tensor has the
  // state of another optimiser.
  void PrepareState(OptimizerState state);

  const TensorRows& rows() const noexcept { return rows_; }
  size_t num_parts() const noexcept { return shares_.size(); }
  uint32_t table(PartId part) const { return shares_.at(static_cast<size_t>(part))->table; }
  TensorPort& port(PartId part) const { return *access_->ports().at(static_cast<size_t>(part)); }
  // Returns the error with an explanation for the caller of the library.
  Error Explain(const Error& error) const;

 private:
  // The share of one partition.
  struct Share {
    uint32_t table = 0;
    Mutex mutex;
    std::shared_ptr<const store::ArenaReader> reader GRAPHD_GUARDED_BY(mutex);
    // Generation of the port when `reader` was mapped.
    uint64_t generation GRAPHD_GUARDED_BY(mutex) = 0;
    // Time at which the tensor was last known to exist.
    Clock::time_point asked GRAPHD_GUARDED_BY(mutex);
  };
  std::shared_ptr<const store::ArenaReader> Reader(PartId part);
  std::unique_ptr<PushChannels> TakeChannels();
  void ReadOnce(const OwnerSplit& split, std::vector<int64_t>& scratch, std::byte* out);
  bool needs_lease() const noexcept {
    return spec().persistent && spec().writers == TensorWriters::kExclusive;
  }

  const TensorRows rows_;
  std::vector<std::unique_ptr<Share>> shares_;
  Mutex lease_mutex_;  // serialises taking and giving back the lease
  std::atomic<bool> has_lease_{false};
  Mutex channels_mutex_;
  std::vector<std::unique_ptr<PushChannels>> idle_channels_ GRAPHD_GUARDED_BY(channels_mutex_);
};

}  // namespace graphd
