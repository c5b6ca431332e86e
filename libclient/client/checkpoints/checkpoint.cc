// SPDX-License-Identifier: Apache-2.0
#include "graphd/checkpoint.h"

#include "client/checkpoints/client.h"
#include "client/checkpoints/restore.h"

namespace graphd {

Checkpoint CreateCheckpoint(const DistGraph& graph, const std::string& name,
                            const CheckpointOptions& options) {
  CheckpointClient client(graph.session()->options());
  client.Create(name, options);
  return client.Find(name);
}

std::vector<Checkpoint> ListCheckpoints(const DistGraph& graph) {
  return CheckpointClient(graph.session()->options()).List();
}

Checkpoint FindCheckpoint(const DistGraph& graph, const std::string& name) {
  return CheckpointClient(graph.session()->options()).Find(name);
}

void RestoreCheckpoint(const DistGraph& graph, const std::string& name,
                       const std::vector<std::string>& tensors) {
  CheckpointClient client(graph.session()->options());
  CheckpointRestore(client).Restore(name, tensors);
}

std::string ReadCheckpointFile(const DistGraph& graph, const std::string& name,
                               const std::string& file) {
  return CheckpointClient(graph.session()->options()).ReadFile(name, file);
}

void DeleteCheckpoint(const DistGraph& graph, const std::string& name) {
  CheckpointClient(graph.session()->options()).Delete(name);
}

}  // namespace graphd
