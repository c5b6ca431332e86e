// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "client/link/rpc_thread.h"
#include "graph/partition.h"
#include "graphd/initialize.h"
#include "sampling/hop_request.h"
#include "sampling/index/edge_index.h"
#include "wire/graphd.capnp.h"
#include "wire/ip_config.h"

namespace graphd {

// Names, dtypes and row shapes of one partition's features.
struct PartitionFeatures {
  PartId part = 0;
  std::vector<std::vector<FeatureInfo>> nodes, edges;  // [type]
};

// What a daemon told at attach.
struct AttachInfo {
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartitionFeatures> partitions;
  // Mapped partitions, if memory was shared.
  std::vector<std::shared_ptr<const Partition>> mapped;
};

// Throws Error(kInvalid) unless both describe the same graph, cut the same way.
void CheckSameGraph(const GraphMeta& a, const GraphMeta& b, const std::string& peer_a,
                    const std::string& peer_b);

// One feature, as requests name it.
struct FeatureRef {
  bool is_edge;
  int32_t type;
  std::string name;
};

// graphd/dist_graph.h's TrafficCounts of all links, while they count.
struct Traffic {
  std::atomic<uint64_t> messages{0}, row_messages{0}, sampling_bytes{0}, row_bytes{0};
};

// Bytes of an id on the wire.
struct EdgeWidths {
  size_t src, dst, edge;
};

// Rows that are wanted: that of ids[i], which the partition owns, goes to out row positions[i].
// Views, which must outlive the call that they are given to.
struct RowsToRead {
  std::span<const int64_t> ids;
  std::span<const int64_t> positions;
  std::byte* out = nullptr;
  size_t row_bytes = 0;
  size_t id_bytes = 0;  // on the wire
};

// Of some nodes' in-edges those that begin in a set of members.
struct InducedPart {
  std::vector<uint32_t> counts;   // per node
  std::vector<uint32_t> indices;  // per edge: the source's position among the members
  std::vector<int64_t> edge_ids;
};

// Calls f. While it throws Error(kUnavailable), and until the timeout, calls `reconnect` and then f
// again.
void RetryWhileUnavailable(std::chrono::milliseconds timeout,
                           const std::function<void()>& reconnect, const std::function<void()>& f);

// The connections to one daemon (a second one for rows, unless its memory is mapped): attached by
// Attach, and again when they are lost, by the next call or, if none comes, by a thread of the
// link's own: a daemon keeps a job's lease and its tensors for seconds only when its connections
// are gone. Thread-safe: the connection belongs to the RpcThread, reconnecting is serialised by a
// mutex.
class DaemonLink {
 public:
  DaemonLink(std::shared_ptr<RpcThread> thread, std::shared_ptr<BufferPool> buffers,
             std::shared_ptr<Traffic> traffic, const Options& options, DaemonAddress address);
  ~DaemonLink();
  DaemonLink(const DaemonLink&) = delete;
  DaemonLink& operator=(const DaemonLink&) = delete;

  // "127.0.0.1:30050" or the socket's path.
  const std::string& peer() const noexcept { return peer_; }

  // Connects and attaches, once and for the first time; waits up to the timeout for a daemon that
  // does not answer yet.
  AttachInfo Attach();

  // The calls below start and return; Wait on what they return. Out-parameters are written by the
  // RPC thread.
  RpcThread::Pending Gather(PartId part, const FeatureRef& feature, const RowsToRead& rows);
  RpcThread::Pending Slice(PartId part, const FeatureRef& feature, size_t row_bytes, int64_t begin,
                           std::span<std::byte> out);
  // One message, whatever the hop holds. `meta`: of the link's graph.
  RpcThread::Pending Hop(PartId part, const GraphMeta& meta, const HopRequest& hop,
                         const HopAnswer& answer);
  // Widths are those of the ids' types. Cut into messages of a good size.
  RpcThread::Pending FindEdges(PartId part, EdgeTypeId etype, const EdgeWidths& widths,
                               std::span<const int64_t> ids, int64_t* src, int64_t* dst);
  RpcThread::Pending HasEdges(PartId part, EdgeTypeId etype, const EdgeWidths& widths,
                              std::span<const int64_t> src, std::span<const int64_t> dst,
                              uint8_t* found);
  RpcThread::Pending Degrees(PartId part, EdgeTypeId etype, bool outward, size_t width,
                             std::span<const int64_t> ids, int64_t* degrees);
  RpcThread::Pending Induced(PartId part, EdgeTypeId etype, const EdgeWidths& widths,
                             std::span<const int64_t> seeds, std::span<const int64_t> members,
                             InducedPart* out);
  // A derived array in the daemon's memory, mapped. Waits until it is made.
  std::shared_ptr<const Segment> MapIndex(PartId part, const EdgeIndexSpec& spec);
  RpcThread::Pending Barrier();

  // Attaches anew if the connection is broken still. Throws as Attach does, and Error(kInvalid) if
  // the daemon serves another graph now. Threads that ask at the same time fail together.
  void ReconnectIfBroken();
  bool is_broken() const noexcept { return broken_; }
  // How often this link has attached.
  uint64_t generation() const noexcept { return generation_; }
  // Whether the daemon's memory may be mapped.
  bool shares_memory() const noexcept {
    return use_unix_ && options_.transport == Transport::kAuto;
  }

  // For those who make calls of their own. What the two connections are for:
  enum class Lane { kSmall, kBulk };
  // Calls step(session, 0) .. step(session, count-1), a bounded number of them under way at once.
  using Step = std::function<kj::Promise<void>(wire::Session::Client&, size_t)>;
  RpcThread::Pending StartSteps(Lane lane, size_t count, Step step);
  // Calls f, and again after reconnecting while the daemon is away, until the timeout.
  void RetryWhileUnavailable(const std::function<void()>& f);
  Traffic& traffic() noexcept { return *traffic_; }

 private:
  struct Connections;  // connections and sessions, on the RPC thread
  AttachInfo AttachPatiently();
  AttachInfo AttachOnce(std::chrono::milliseconds to_connect, std::chrono::milliseconds to_answer);
  AttachInfo AttachTo(UniqueFd small_fd, UniqueFd bulk_fd, std::chrono::milliseconds patience);
  UniqueFd Connect(std::chrono::milliseconds patience) const;
  void Lost(Connections* connections);  // on the RPC thread
  void KeepAttached();
  void ReadHopAnswer(wire::Session::HopResults::Reader results, const GraphMeta& meta,
                     const HopRequest& hop, const HopAnswer& answer, uint64_t asked_bytes);

  std::shared_ptr<RpcThread> thread_;
  std::shared_ptr<BufferPool> buffers_;
  std::shared_ptr<Traffic> traffic_;
  const Options options_;
  const DaemonAddress address_;
  bool use_unix_ = false;
  std::string socket_path_, peer_;
  std::unique_ptr<Connections> connections_;  // touched on the RPC thread only
  std::atomic<bool> broken_{true};            // until attached, and when the peer has gone
  std::atomic<uint64_t> generation_{0};
  std::mutex reconnecting_;                // one thread at a time attaches
  std::shared_ptr<const GraphMeta> meta_;  // as first attached; guarded by reconnecting_
  std::optional<Error> failure_;           // of the last attempt that failed; guarded likewise
  Clock::time_point failed_;               // when it ended; guarded likewise
  std::atomic<bool> closing_{false};
  std::mutex keeping_;            // for waiting
  std::condition_variable lost_;  // broken_ or closing_ is set
  std::thread keeper_;            // from the first Attach on
};

}  // namespace graphd
