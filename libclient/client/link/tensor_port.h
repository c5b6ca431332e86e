// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "client/link/daemon_link.h"
#include "graph/tensor_share.h"
#include "store/rows/arena_reader.h"
#include "store/rows/push.h"

namespace graphd {

// The rows to write to a table: row positions[i] of `payload` is written to the row of ids[i],
// which the partition owns. The members are views, whose memory must outlive the call that they are
// passed to.
struct RowsToPush {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  const std::byte* payload = nullptr;
  size_t row_bytes = 0;
  size_t id_bytes = 0;  // size of an id on the wire
};

// The interface to the store of some partitions' tensors, which is a daemon or, in standalone mode,
// this process. The methods have the names and the meaning that they have in the protocol
// (graphd.capnp). Thread-safe.
class TensorPort {
 public:
  struct Opened {
    TensorShare share;
    bool fill = false, filling = false;
  };

  virtual ~TensorPort() = default;
  TensorPort(const TensorPort&) = delete;
  TensorPort& operator=(const TensorPort&) = delete;

  // The following methods wait for the answer. While the daemon is unavailable, methods that may be
  // repeated are repeated until the timeout.
  virtual Opened Open(PartId part, const TensorSpec& spec, bool create, bool caller_fills) = 0;
  virtual void Filled(uint32_t table, bool given_up) = 0;
  virtual uint64_t LastStep(uint32_t table) = 0;
  virtual bool Lease(uint32_t table, bool hold) = 0;
  virtual std::vector<TensorShare> List() = 0;
  virtual void Drop(uint32_t table) = 0;

  // Copies the rows of a push that will be sent soon to memory that its daemon reads, if such
  // memory exists. The Push with the same number then does not copy the rows.
  virtual void Prepare(const store::ClientId& /*client*/, uint64_t /*sequence*/,
                       const RowsToPush& /*rows*/) {}

  // The following methods start a call once and return without waiting. The caller decides whether
  // to repeat the call. The call of PrepareState ends when the table's memory is prepared, or after
  // store::kLongestPreparation.
  virtual RpcThread::Pending PrepareState(uint32_t table, OptimizerState state) = 0;
  virtual RpcThread::Pending ReadRows(uint32_t table, const RowsToRead& rows) = 0;
  virtual RpcThread::Pending Push(uint32_t table, const UpdateRule& rule,
                                  const store::ClientId& client, uint64_t sequence,
                                  const RowsToPush& rows) = 0;
  virtual RpcThread::Pending Stage(uint32_t table, const UpdateRule& rule, uint64_t step,
                                   const RowsToPush& rows) = 0;

  // Maps the share's memory; null if that is impossible.
  virtual std::unique_ptr<store::ArenaReader> Map(uint32_t table, int64_t rows,
                                                  size_t row_bytes) = 0;
  // Attaches again if the connection is broken. Throws as DaemonLink::ReconnectIfBroken.
  virtual void Reconnect() = 0;
  // Returns a number that changes whenever the daemon no longer uses memory that was mapped before.
  virtual uint64_t generation() const noexcept = 0;

 protected:
  TensorPort() = default;
};

}  // namespace graphd
