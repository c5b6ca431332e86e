// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "client/link/attach_info.h"
#include "client/link/daemon_connections.h"
#include "client/link/feature_ref.h"
#include "client/link/mapped_read_counts.h"
#include "client/link/row_encodings.h"
#include "client/link/rpc_thread.h"
#include "graphd/initialize.h"
#include "wire/graphd.capnp.h"
#include "wire/ip_config.h"

namespace graphd {

// The counters behind TrafficCounts (graphd/dist_graph.h), over all links.
struct Traffic {
  std::atomic<uint64_t> messages{0}, row_messages{0}, sampling_bytes{0}, row_bytes{0};
};

// The rows to read: the row of ids[i], which the partition owns, is written to row positions[i] of
// `out`. The members are views, whose memory must outlive the call that they are passed to.
struct RowsToRead {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  std::byte* out = nullptr;
  size_t row_bytes = 0;
  size_t id_bytes = 0;  // size of an id on the wire
};

// The connections to one daemon: one for small messages and, unless the daemon's memory is mapped,
// one for rows. Attach opens them. When they are lost, the next call opens them again. If no call
// comes, a thread of the link does so, because a daemon keeps the lease and the tensors of a job
// without connections for seconds only. When a call times out, a ping finds out whether the daemon
// answers at all. If it does not, the connections are closed and opened again, so that other calls
// need not wait for their own timeouts.
// Calls are free functions (start_hop.h, row_calls.h, edge_calls.h, ...) that use StartSteps.
// Thread-safe: the connections belong to the RpcThread, reconnecting is serialised by a mutex.
class DaemonLink {
 public:
  DaemonLink(std::shared_ptr<RpcThread> thread, std::shared_ptr<BufferPool> buffers,
             std::shared_ptr<Traffic> traffic, const Options& options, DaemonAddress address);
  ~DaemonLink();
  DaemonLink(const DaemonLink&) = delete;
  DaemonLink& operator=(const DaemonLink&) = delete;

  // Returns the daemon's address, such as "127.0.0.1:30050", or the path of its socket.
  const std::string& peer() const noexcept { return peer_; }

  // Connects and attaches for the first time; must be called once. Waits up to the timeout for a
  // daemon that does not answer yet, but only five seconds if the server's name is probably
  // mistyped (IsUnknownServer). If the daemon serves the graph `known`, a large partition book is
  // not read again.
  AttachInfo Attach(std::shared_ptr<const GraphMeta> known = nullptr,
                    std::optional<std::string> version = std::nullopt);

  // The encodings in which the daemon can send rows. They never change, because the link refuses a
  // daemon with other files when it attaches again.
  const RowEncodings& encodings() const noexcept { return encodings_; }

  // Attaches again within the timeout of the options, if the connection is still broken. Throws as
  // Attach does, and Error(kInvalid) if the daemon serves another graph now. If one attempt fails,
  // all threads that called this function meanwhile fail with it.
  void ReconnectIfBroken();
  bool is_broken() const noexcept { return broken_; }
  // Returns how often this link has attached.
  uint64_t generation() const noexcept { return generation_; }
  // Counts of rows that were looked up in the cache of this process, and that have not been
  // reported to the daemon yet.
  struct Cached {
    uint64_t found = 0, not_found = 0;
  };
  void CountCached(const Cached& rows) noexcept {
    cached_.fetch_add(rows.found, std::memory_order_relaxed);
    not_cached_.fetch_add(rows.not_found, std::memory_order_relaxed);
  }
  // Writes these counts into a request, and resets them to 0.
  template <class Request>
  void WriteCached(Request& request) noexcept {
    if (cached_.load(std::memory_order_relaxed) == 0 &&
        not_cached_.load(std::memory_order_relaxed) == 0) {
      return;
    }
    request.setCached(cached_.exchange(0, std::memory_order_relaxed));
    request.setNotCached(not_cached_.exchange(0, std::memory_order_relaxed));
  }
  // Counts what this process has read in the daemon's mapped memory; the daemon is told soon.
  void CountMapped(const MappedReads& reads) noexcept { mapped_reads_->Add(reads); }
  // Returns whether this process works for the trainer of its rank (Options::is_worker).
  bool is_worker() const noexcept { return options_.is_worker; }
  // Returns whether the daemon's memory may be mapped.
  bool shares_memory() const noexcept {
    return use_unix_ && options_.transport == Transport::kAuto;
  }

  // Returns the timeout of the options.
  std::chrono::milliseconds timeout() const noexcept { return options_.timeout; }

  // The two connections: for small messages, and for rows.
  enum class Lane { kSmall, kBulk };
  // Starts step(session, 0) .. step(session, count-1) on the RPC thread, of which a bounded number
  // are in flight at once, and returns without waiting. The caller must call Wait on the result.
  // All steps together may take `patience`, which is the timeout of the options by default.
  using Step = std::function<kj::Promise<void>(wire::Session::Client&, size_t)>;
  RpcThread::Pending StartSteps(Lane lane, size_t count, Step step,
                                std::optional<std::chrono::milliseconds> patience = {});
  // Calls f. While f fails because the daemon is unavailable, reconnects and calls f again, until
  // the timeout.
  void RetryWhileUnavailable(const std::function<void()>& f);
  Traffic& traffic() noexcept { return *traffic_; }

 private:
  AttachInfo AttachPatiently(std::chrono::milliseconds patience) GRAPHD_REQUIRES(reconnecting_);
  AttachInfo AttachOnce(std::chrono::milliseconds to_connect, std::chrono::milliseconds to_answer)
      GRAPHD_REQUIRES(reconnecting_);
  AttachInfo AttachTo(ClientSocket small, std::optional<ClientSocket> bulk,
                      std::chrono::milliseconds patience,
                      const std::shared_ptr<const GraphMeta>& known,
                      const std::optional<std::string>& version, const std::string& fingerprint);
  ClientSocket Connect(std::chrono::milliseconds patience) const;
  // Connects to the TCP port; throws Error(kInvalid) if the daemon is on this machine and has none.
  ClientSocket ConnectOverTcp(int timeout_ms) const;
  // These are called on the RPC thread.
  void Lost(DaemonConnections* connections);
  void Ping(Lane lane);
  void CheckAnswer(wire::Daemon::AttachResults::Reader answer, const std::string& known);
  DaemonConnections::Attached* AttachedFor(Lane lane);
  void KeepAttached();
  void TellLastReads() noexcept;

  std::shared_ptr<RpcThread> thread_;
  std::shared_ptr<BufferPool> buffers_;
  std::shared_ptr<Traffic> traffic_;
  RowEncodings encodings_;  // set by Attach
  const Options options_;
  const DaemonAddress address_;
  bool use_unix_ = false;
  std::string socket_path_, peer_;
  ClientCredentials credentials_;                   // none for a Unix socket
  std::unique_ptr<DaemonConnections> connections_;  // touched on the RPC thread only
  std::atomic<bool> broken_{true};                  // before attaching, and after losing the peer
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> cached_{0}, not_cached_{0};
  const std::shared_ptr<MappedReadCounts> mapped_reads_ = std::make_shared<MappedReadCounts>();
  Mutex reconnecting_;  // one thread at a time attaches
  // The graph of the first attach.
  std::shared_ptr<const GraphMeta> meta_ GRAPHD_GUARDED_BY(reconnecting_);
  // The graph that the caller of Attach knew, until meta_ is set.
  std::shared_ptr<const GraphMeta> known_ GRAPHD_GUARDED_BY(reconnecting_);
  // The version of the graph that the job uses.
  std::optional<std::string> version_ GRAPHD_GUARDED_BY(reconnecting_);
  std::string fingerprint_ GRAPHD_GUARDED_BY(reconnecting_);  // AttachInfo::fingerprint
  // The error of the last failed attempt, and when it ended.
  std::optional<Error> failure_ GRAPHD_GUARDED_BY(reconnecting_);
  Clock::time_point failed_ GRAPHD_GUARDED_BY(reconnecting_);
  std::atomic<bool> closing_{false};
  Mutex keeping_;       // only for waiting on lost_
  CondVar lost_;        // broken_ or closing_ is set
  std::thread keeper_;  // started by the first Attach
};

}  // namespace graphd
