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

// Checkpoints of all daemons of a server, over connections of its own. What graphd/checkpoint.h and
// `graphctl checkpoint` stand on. Not thread-safe.

namespace graphd {

class CheckpointClient {
 public:
  // Connects to the daemons of options.ip_config, within options.timeout, as a member of
  // options.job_id that no barrier counts. Throws Error(kUnavailable), Error(kInvalid) in
  // standalone mode.
  explicit CheckpointClient(const Options& options);
  ~CheckpointClient();
  CheckpointClient(const CheckpointClient&) = delete;
  CheckpointClient& operator=(const CheckpointClient&) = delete;

  // As the functions of graphd/checkpoint.h.
  void Create(const std::string& name, const CheckpointOptions& options);
  std::vector<Checkpoint> List();
  Checkpoint Find(const std::string& name);
  // Without `keep_leases` the job gives them back in the end.
  void Restore(const std::string& name, const std::vector<std::string>& tensors,
               bool keep_leases = true);
  std::string ReadFile(const std::string& name, const std::string& file);
  void Delete(const std::string& name);

  // Some rows of a tensor in a checkpoint, `count` of them.
  struct Rows {
    // Row i is that of orig_ids[i], or, without original ids, of local row begin + i of `part`.
    PartId part = 0;
    int64_t begin = 0, count = 0;
    std::span<const int64_t> orig_ids;
    std::span<const std::byte> values, states;
  };
  // Calls f for all rows of all partitions. Throws Error(kCorrupt) if some are not there.
  void EachRows(const Checkpoint& checkpoint, const CheckpointTensor& tensor,
                const std::function<void(const Rows&)>& f);
  // Told of rows that were read; for those who wait.
  std::function<void(const std::string& tensor, int64_t rows, int64_t of)> on_progress;

 private:
  struct Empty {};
  CheckpointClient(const Options& options, Empty);

  struct Peer;    // a daemon
  struct Found;   // a checkpoint, and who has its parts
  struct Loader;  // of one tensor
  using Call = std::function<kj::Promise<void>(Peer&)>;

  void OnAll(const std::string& what, std::chrono::milliseconds limit, const Call& call);
  void On(Peer& peer, const std::string& what, std::chrono::milliseconds limit, const Call& call);
  Peer& FirstPeer();  // that has partition 0
  std::vector<Found> FindAll();
  Found FindOne(const std::string& name);
  void LookAt(const std::string& name, const std::vector<const CheckpointTensor*>& tensors);
  std::string ReadFileOf(const Found& found, const std::string& file);
  std::vector<std::pair<int64_t, int64_t>> CurrentIds(const TensorSpec& spec);

  const Options options_;
  RpcThread thread_;
  std::vector<std::unique_ptr<Peer>> peers_;  // destroyed on the thread
  std::shared_ptr<const GraphMeta> meta_;
};

}  // namespace graphd
