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

// Rows to write to a table: the rows of `payload` at `positions` belong to `ids`, which the
// partition owns. Views, which must outlive the call that they are passed to.
struct RowsToPush {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  const std::byte* payload = nullptr;
  size_t row_bytes = 0;
  size_t id_bytes = 0;  // on the wire
};

// The keeper of the tensors of some partitions: a daemon, or in standalone mode this process. The
// methods have the names and the meaning that they have on the wire (graphd.capnp). Thread-safe.
class TensorPort {
 public:
  struct Opened {
    TensorShare share;
    bool fill = false, filling = false;
  };

  virtual ~TensorPort() = default;
  TensorPort(const TensorPort&) = delete;
  TensorPort& operator=(const TensorPort&) = delete;

  // The next methods wait. Those that may be repeated are repeated while the daemon is unavailable,
  // until the timeout.
  virtual Opened Open(PartId part, const TensorSpec& spec, bool create, bool caller_fills) = 0;
  virtual void Filled(uint32_t table, bool given_up) = 0;
  virtual uint64_t LastStep(uint32_t table) = 0;
  virtual bool Lease(uint32_t table, bool hold) = 0;
  virtual std::vector<TensorShare> List() = 0;
  virtual void Drop(uint32_t table) = 0;

  // Copies the rows of a push that will be sent soon to memory that its daemon reads, if such
  // memory exists; Push of the same number then does not copy them.
  virtual void Prepare(const store::ClientId& /*client*/, uint64_t /*sequence*/,
                       const RowsToPush& /*rows*/) {}

  // The next methods start a call once and return; the caller decides about repeating it.
  // PrepareState ends when the table's memory is prepared, or after store::kLongestPreparation.
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
  // A number that changes whenever memory that was mapped before is no longer the daemon's.
  virtual uint64_t generation() const noexcept = 0;

 protected:
  TensorPort() = default;
};

}  // namespace graphd
