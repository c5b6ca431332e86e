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

// Rows on their way into a table: those of `payload` at `positions` are for `ids`, which the
// partition owns. Views, which must outlive the call that they are given to.
struct RowsToPush {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  const std::byte* payload = nullptr;
  size_t row_bytes = 0;
  size_t id_bytes = 0;  // on the wire
};

// Whoever keeps the tensors of some partitions: a daemon, or in standalone mode this process. Names
// of methods and what they mean are those of the wire (graphd.capnp). Thread-safe.
class TensorPort {
 public:
  struct Opened {
    TensorShare share;
    bool fill = false, filling = false;
  };

  virtual ~TensorPort() = default;
  TensorPort(const TensorPort&) = delete;
  TensorPort& operator=(const TensorPort&) = delete;

  // These wait; what may be asked twice is, while the daemon is away, until the timeout.
  virtual Opened Open(PartId part, const TensorSpec& spec, bool create, bool caller_fills) = 0;
  virtual void Filled(uint32_t table, bool given_up) = 0;
  virtual uint64_t LastStep(uint32_t table) = 0;
  virtual bool Lease(uint32_t table, bool hold) = 0;
  virtual void PrepareState(uint32_t table, OptimizerState state) = 0;
  virtual std::vector<TensorShare> List() = 0;
  virtual void Drop(uint32_t table) = 0;

  // Copies the rows of a push that will be sent soon to where its daemon reads them, if there is
  // such a place; Push of the same number need not, then.
  virtual void Prepare(const store::ClientId& /*client*/, uint64_t /*sequence*/,
                       const RowsToPush& /*rows*/) {}

  // These start and return. Once; who calls them knows what may be repeated.
  virtual RpcThread::Pending ReadRows(uint32_t table, const RowsToRead& rows) = 0;
  virtual RpcThread::Pending Push(uint32_t table, const store::UpdateRule& rule,
                                  const store::ClientId& client, uint64_t sequence,
                                  const RowsToPush& rows) = 0;
  virtual RpcThread::Pending Stage(uint32_t table, const store::UpdateRule& rule, uint64_t step,
                                   const RowsToPush& rows) = 0;

  // The share's memory, mapped; null where it can't be.
  virtual std::unique_ptr<store::ArenaReader> Map(uint32_t table, int64_t rows,
                                                  size_t row_bytes) = 0;
  // Attaches anew if the connection is broken. Throws as DaemonLink::ReconnectIfBroken.
  virtual void Reconnect() = 0;
  // Changes whenever memory that was mapped before is no longer the daemon's.
  virtual uint64_t generation() const noexcept = 0;

 protected:
  TensorPort() = default;
};

}  // namespace graphd
