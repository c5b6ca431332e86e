// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/checkpoints/client.h"
#include "graphd/checkpoint.h"

namespace graphd {

// The restoring of tensors from a checkpoint, which implements RestoreCheckpoint of
// graphd/checkpoint.h and `graphctl checkpoint restore`. It uses the connections of `client`, which
// must outlive it, and calls client.on_progress. Not thread-safe.
class CheckpointRestore {
 public:
  explicit CheckpointRestore(CheckpointClient& client) : client_(client) {}

  // Restores the named tensors, or all if `names` is empty, with the semantics of
  // RestoreCheckpoint. Unless `keep_leases` is set, the leases of the tensors are given back at the
  // end.
  void Restore(const std::string& name, const std::vector<std::string>& names,
               bool keep_leases = true);

 private:
  using IdPairs = std::vector<std::pair<int64_t, int64_t>>;
  struct TensorLoader;

  // Creates or opens a tensor and takes its leases; no row changes.
  TensorLoader OpenTensor(const Checkpoint& checkpoint, const CheckpointTensor& tensor);
  // Returns the pairs (original id, current id) of the tensor's type, ascending; empty if the graph
  // has no original ids.
  IdPairs CurrentIds(const TensorSpec& spec);
  // Makes all daemons check their files of the checkpoint.
  void VerifyFiles(const std::string& name, const std::vector<const CheckpointTensor*>& tensors);

  CheckpointClient& client_;
};

}  // namespace graphd
