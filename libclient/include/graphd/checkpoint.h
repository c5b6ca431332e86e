// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Checkpoints: the persistent tensors of a graph's daemons as they were at one moment, optimisers'
// state included, and what a trainer wants to keep with them (its dense weights), under one name.
// They lie on the daemons' disks and outlive daemons; half-made ones are never seen. The same as
// `graphctl checkpoint`.

namespace GRAPHD_EXPORT graphd {

struct CheckpointTensor {
  TensorSpec spec;
  OptimizerState state = OptimizerState::kNone;
};

struct Checkpoint {
  std::string name;
  std::string graph_name;
  int num_parts = 0;
  std::string created;  // UTC, "2026-01-31T12:00:00Z"
  uint64_t bytes = 0;   // on the disks of all machines
  std::vector<CheckpointTensor> tensors;
  std::map<std::string, uint64_t> files;  // name, bytes
};

struct CheckpointOptions {
  // Tensors by name; empty: all persistent ones.
  std::vector<std::string> tensors = {};
  // What to keep with them: name (no '/'), contents.
  std::map<std::string, std::string> files = {};
};

// Makes a checkpoint of this name; a name is 1 to 128 of A-Z a-z 0-9 . _ -, not beginning with '.'.
// The cut is consistent over all machines: whatever a trainer had been told was applied before it
// sent a change that is in it, is in it too (Chandy and Lamport, "Distributed snapshots", 1985). A
// change that was under way to several machines may be in it on some of them: call it between two
// barriers, in one trainer of the job, and every step is in it in whole or not at all. Pushes wait
// while it is taken, for as long as what changed during the call's first pass takes to write (0.2 s
// after 1 GB of changes). Throws Error(kExists), Error(kInvalid), also in standalone mode,
// Error(kOverloaded) on a full disk, Error(kUnavailable); then nothing of it remains.
Checkpoint CreateCheckpoint(const DistGraph& graph, const std::string& name,
                            const CheckpointOptions& options = {});

// By name; only whole ones.
std::vector<Checkpoint> ListCheckpoints(const DistGraph& graph);
// Throws Error(kNotFound) naming those there are.
Checkpoint FindCheckpoint(const DistGraph& graph, const std::string& name);

// Gives the tensors that it names (all of the checkpoint if empty) the rows and states that they
// had; makes those that are not there any more. The graph may be cut into another number of
// partitions than when the checkpoint was made: rows of nodes and edges then find their place by
// `orig_id`. Takes the tensors' leases. Other trainers of the job must wait in a barrier. Throws
// Error(kInvalid) if a tensor is of another shape or dtype than it was, Error(kDenied) while
// another job may write it, Error(kCorrupt). If it fails half-way, the tensors can't be read or
// written until it is repeated with success, or they are dropped.
void RestoreCheckpoint(const DistGraph& graph, const std::string& name,
                       const std::vector<std::string>& tensors = {});

// The contents of a file that was kept with it. Throws Error(kNotFound).
std::string ReadCheckpointFile(const DistGraph& graph, const std::string& name,
                               const std::string& file);

// Throws Error(kNotFound).
void DeleteCheckpoint(const DistGraph& graph, const std::string& name);

}  // namespace graphd
