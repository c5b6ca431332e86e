// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Checkpoints of the persistent tensors of a graph: their rows and optimiser states at one point in
// time, together with files of a trainer (for example its dense weights), under one name.
// Checkpoints are stored on the disks of the daemons, and remain when the daemons end. Incomplete
// checkpoints are never listed. `graphctl checkpoint` offers the same operations. DGL has no
// counterpart.
//
// All functions here are thread-safe and throw Error(kUnavailable) or Error(kDeadline) if a daemon
// cannot be reached or does not answer in time, and Error(kInvalid) in standalone mode.

namespace GRAPHD_EXPORT graphd {

// The description of a tensor in a checkpoint.
struct CheckpointTensor {
  TensorSpec spec;
  OptimizerState state = OptimizerState::kNone;  // state that is stored with each row
};

// The description of a complete checkpoint.
struct Checkpoint {
  std::string name;
  std::string graph_name;
  int num_parts = 0;    // partitions of the graph when the checkpoint was made
  std::string created;  // UTC, e.g. "2026-01-31T12:00:00Z"
  uint64_t bytes = 0;   // bytes on the disks of all machines
  std::vector<CheckpointTensor> tensors;
  std::map<std::string, uint64_t> files;  // size in bytes by name of the file
};

// The contents of a new checkpoint.
struct CheckpointOptions {
  // Names of tensors. Empty: all persistent tensors, except those whose rows exist only in another
  // version of the graph (graphctl server switch).
  std::vector<std::string> tensors = {};
  // Contents of files by name; a name must not contain '/'.
  std::map<std::string, std::string> files = {};
};

// Creates a checkpoint and returns its description. A name has 1 to 128 of the characters A-Z a-z
// 0-9 . _ - and does not begin with '.'.
//
// The checkpoint is a consistent cut over all machines: if it contains a change, it also contains
// every change that was acknowledged to its sender before the sender sent it (Chandy and Lamport,
// "Distributed snapshots", 1985). A change that is in flight to several machines may be contained
// for some of them only. To have every step contained completely or not at all, call this function
// in one trainer of the job, between two barriers. The call first writes the changed rows to disk
// while trainers go on changing rows. The trainers' changes then wait only until the rows that
// changed during this first pass are written, too (0.2 s for 1 GB of changes).
//
// Throws Error(kExists) if the name is taken, Error(kInvalid) on a malformed name,
// Error(kOverloaded) if a disk is full. If it throws, nothing of the checkpoint remains.
Checkpoint CreateCheckpoint(const DistGraph& graph, const std::string& name,
                            const CheckpointOptions& options = {});

// Returns the complete checkpoints, sorted by name.
std::vector<Checkpoint> ListCheckpoints(const DistGraph& graph);
// Returns the description of a checkpoint. Throws Error(kNotFound), which lists the existing ones.
Checkpoint FindCheckpoint(const DistGraph& graph, const std::string& name);

// Restores rows and optimiser states of the named tensors, or of all tensors of the checkpoint if
// `tensors` is empty. Tensors that no longer exist are created. The graph may have another number
// of partitions than when the checkpoint was made; rows of nodes and edges are then matched by the
// feature `orig_id`. Takes the leases of the tensors. The other trainers of the job must wait in a
// barrier meanwhile.
//
// Throws Error(kNotFound) if there is no such checkpoint, Error(kInvalid) if a tensor has another
// shape or dtype than in the checkpoint, Error(kDenied) while another job has its lease,
// Error(kCorrupt) if the checkpoint is damaged. After a failure half-way, the tensors can be
// neither read nor written until a restore succeeds or they are dropped.
void RestoreCheckpoint(const DistGraph& graph, const std::string& name,
                       const std::vector<std::string>& tensors = {});

// Returns the contents of a file of a checkpoint. Throws Error(kNotFound).
std::string ReadCheckpointFile(const DistGraph& graph, const std::string& name,
                               const std::string& file);

// Deletes a checkpoint. Throws Error(kNotFound).
void DeleteCheckpoint(const DistGraph& graph, const std::string& name);

}  // namespace graphd
