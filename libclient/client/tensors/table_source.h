// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "client/tensors/table_change.h"
#include "client/tensors/tensor_source.h"
#include "graph/tensor_rows.h"

namespace graphd {

// A tensor whose rows live in daemons, or in standalone mode in this process. Partitions' shares
// whose daemon's memory may be mapped are read there; what is not in memory, and other shares, by
// RPC. Thread-safe.
class TableSource final : public TensorSource {
 public:
  // `tables` are the shares' numbers, by partition.
  TableSource(std::shared_ptr<GraphAccess> access, TensorSpec spec, std::vector<uint32_t> tables);

  void Read(std::span<const int64_t> ids, std::span<std::byte> out) override;
  void Slice(int64_t begin, int64_t end, std::span<std::byte> out) override;
  bool is_feature() const noexcept override { return false; }
  void Write(store::UpdateKind kind, std::span<const int64_t> ids,
             std::span<const std::byte> rows) override;
  void Acquire() override;
  void Release() override;

  // Takes the lease if this tensor needs one and this object has not got it.
  void AcquireForWriting();
  // For an optimiser. Throws Error(kInvalid) if the tensor has the state of another.
  void PrepareState(OptimizerState state);

  const TensorRows& rows() const noexcept { return rows_; }
  size_t num_parts() const noexcept { return shares_.size(); }
  uint32_t table(PartId part) const { return shares_.at(static_cast<size_t>(part))->table; }
  TensorPort& port(PartId part) const { return *access_->ports().at(static_cast<size_t>(part)); }
  // The error as it should be told to the caller.
  Error Explain(const Error& error) const;

 private:
  // One partition's rows.
  struct Share {
    uint32_t table = 0;
    std::mutex mutex;  // guards the rest
    std::shared_ptr<const store::ArenaReader> reader;
    uint64_t generation = 0;  // of the port, when `reader` was mapped
    Clock::time_point asked;  // when the tensor was there still
  };
  std::shared_ptr<const store::ArenaReader> Reader(PartId part);
  std::unique_ptr<PushChannels> TakeChannels();
  void ReadOnce(const OwnerSplit& split, std::vector<int64_t>& scratch, std::byte* out);
  bool needs_lease() const noexcept {
    return spec().persistent && spec().writers == TensorWriters::kExclusive;
  }

  const TensorRows rows_;
  std::vector<std::unique_ptr<Share>> shares_;
  std::mutex lease_mutex_;  // one at a time takes it or gives it back
  std::atomic<bool> has_lease_{false};
  std::mutex channels_mutex_;  // guards idle_channels_
  std::vector<std::unique_ptr<PushChannels>> idle_channels_;
};

}  // namespace graphd
