// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/link/rpc_thread.h"
#include "graph/partition.h"
#include "graphd/checkpoint.h"
#include "graphd/initialize.h"
#include "wire/ip_config.h"

namespace graphd {

// The client that creates, lists, reads and deletes checkpoints on all daemons of a server, over
// its own connections. It implements graphd/checkpoint.h and `graphctl checkpoint`. Not
// thread-safe.
class CheckpointClient {
 public:
  // Connects to the daemons of options.ip_config, within options.timeout, and joins the job
  // options.job_id as a member for which its barriers do not wait. The sockets of daemons on this
  // machine are below `runtime_dir` or, if that is empty, where FindSocket looks for them. Throws
  // Error(kUnavailable), and Error(kInvalid) in standalone mode.
  explicit CheckpointClient(const Options& options, const std::string& runtime_dir = {});
  ~CheckpointClient();
  CheckpointClient(const CheckpointClient&) = delete;
  CheckpointClient& operator=(const CheckpointClient&) = delete;

  // The following functions do what the functions in graphd/checkpoint.h do.
  void Create(const std::string& name, const CheckpointOptions& options);
  std::vector<Checkpoint> List();
  Checkpoint Find(const std::string& name);
  std::string ReadFile(const std::string& name, const std::string& file);
  void Delete(const std::string& name);

  // Consecutive rows of a tensor in a checkpoint.
  struct Rows {
    // Row i belongs to original id orig_ids[i] or, without original ids, to local row begin + i of
    // partition `part`.
    PartId part = 0;
    int64_t begin = 0, count = 0;
    std::span<const int64_t> orig_ids;
    std::span<const std::byte> values, states;
  };
  // Calls f for all rows of all partitions, piece by piece. Throws Error(kCorrupt) if rows are
  // missing.
  void EachRows(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                const std::function<void(const Rows&)>& f);
  // The callback to which EachRows reports how many of the tensor's rows it has read; may be an
  // empty function.
  std::function<void(const std::string& tensor, int64_t rows, int64_t of)> on_progress;

 private:
  friend class CheckpointRestore;
  struct Empty {};
  CheckpointClient(const Options& options, Empty);

  struct Peer;   // a daemon
  struct Found;  // a checkpoint, with the daemons that store its parts
  using Call = std::function<kj::Promise<void>(Peer&)>;

  // Calls all daemons concurrently and waits. If several fail, throws the error of the first one.
  void OnAll(const std::string& what, std::chrono::milliseconds limit, const Call& call);
  void OnAllBut(const Peer* excluded, const std::string& what, std::chrono::milliseconds limit,
                const Call& call);
  // Calls one daemon and waits. `what` describes the call in messages.
  void On(Peer& peer, const std::string& what, std::chrono::milliseconds limit, const Call& call);
  Peer& FirstPeer();  // the daemon of partition 0
  std::vector<Found> FindAll();
  Found FindOne(const std::string& name);
  std::string ReadFileOf(const Found& found, const std::string& file);

  const Options options_;
  RpcThread thread_;
  std::vector<std::unique_ptr<Peer>> peers_;  // must be destroyed on the thread
  std::shared_ptr<const GraphMeta> meta_;
};

}  // namespace graphd
