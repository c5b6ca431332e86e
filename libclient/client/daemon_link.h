// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "client/rpc_thread.h"
#include "graph/partition.h"
#include "graphd/initialize.h"
#include "graphd/sampling.h"
#include "wire/ip_config.h"

namespace graphd {

// What a daemon told at attach.
struct AttachInfo {
  std::shared_ptr<const GraphMeta> meta;
  std::vector<PartId> parts;
  // Features of its partitions; the same in all of them.
  std::vector<std::vector<FeatureInfo>> node_features, edge_features;  // [type]
  // Mapped partitions, if memory was shared.
  std::vector<std::shared_ptr<const Partition>> mapped;
};

// One feature, as requests name it.
struct FeatureRef {
  bool is_edge;
  int32_t type;
  std::string name;
};

// Counts and ids that sampling gave for some seeds, in their order.
struct SampledPart {
  std::vector<uint32_t> counts;
  std::vector<int64_t> neighbors;
  std::vector<int64_t> edge_ids;
};

// The connections to one daemon (a second one for rows, unless its memory is mapped): attached when
// made, attached again by Reconnect. Thread-safe: the connection belongs to the RpcThread,
// reconnecting is serialised by a mutex.
class DaemonLink {
 public:
  DaemonLink(std::shared_ptr<RpcThread> thread, std::shared_ptr<BufferPool> buffers,
             const Options& options, DaemonAddress address);
  ~DaemonLink();
  DaemonLink(const DaemonLink&) = delete;
  DaemonLink& operator=(const DaemonLink&) = delete;

  // "127.0.0.1:30050" or the socket's path.
  const std::string& peer() const noexcept { return peer_; }

  // Connects and attaches; waits up to the timeout for a daemon that does not answer yet.
  AttachInfo Attach();

  // The calls below start and return; Wait on what they return. Out-parameters are written by the
  // RPC thread. They are repeated by Retry when the daemon has restarted.
  RpcThread::Pending Gather(PartId part, const FeatureRef& feature, size_t row_bytes,
                            int64_t type_count, std::span<const int64_t> ids,
                            std::span<const int64_t> positions, std::byte* out);
  RpcThread::Pending Slice(PartId part, const FeatureRef& feature, size_t row_bytes, int64_t begin,
                           std::span<std::byte> out);
  // `src_count`, `dst_count`, `edge_count`: objects of the types, for the width of their ids.
  RpcThread::Pending Sample(PartId part, EdgeTypeId etype, const SampleOptions& options,
                            uint64_t key, int64_t src_count, int64_t dst_count, int64_t edge_count,
                            std::span<const int64_t> seeds, SampledPart* out);
  RpcThread::Pending Barrier();

  // Attaches anew if the connection with number `seen` is the current one. False when the daemon
  // serves something else now.
  void Reconnect(uint64_t seen);
  uint64_t connection_number() const;

 private:
  struct Live;  // connections and sessions, on the RPC thread
  AttachInfo AttachOnce();
  UniqueFd Connect() const;
  // What the two connections are for.
  enum class Lane { kSmall, kBulk };
  wire::Session::Client session(Lane lane) const;

  std::shared_ptr<RpcThread> thread_;
  std::shared_ptr<BufferPool> buffers_;
  const Options options_;
  const DaemonAddress address_;
  bool use_unix_ = false;
  std::string socket_path_, peer_;
  std::unique_ptr<Live> live_;  // touched on the RPC thread only
  mutable std::mutex mutex_;    // guards number_, and reconnecting
  uint64_t number_ = 0;
};

}  // namespace graphd
