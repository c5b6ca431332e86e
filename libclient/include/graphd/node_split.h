// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Dividing the nodes or edges that a mask chooses among the trainers of a job. Match
// dgl.distributed.node_split(nodes, partition_book, ntype, rank, force_even, node_trainer_ids) and
// edge_split.
//
// Every chosen object goes to exactly one trainer, whatever the mask and the numbers of partitions
// (P) and trainers (W). Results are ascending type-wise ids. They are a pure function of mask,
// partition book, rank and W: there is no communication, trainers may ask at different times, and
// any trainer may ask for any rank.
//
// The chosen objects are put in order by partition, then (with trainer_ids) by trainer id, then by
// id.
//
// force_even: that order is cut into W chunks whose sizes differ by at most 1; trainer r gets chunk
// r. As trainers are numbered partition by partition, most of a chunk lies in the trainer's own
// partition. (DGL cuts into P chunks and divides those at random among a machine's trainers, so
// that sizes differ by up to 2 and nothing is near anything; and wants W to be a multiple of P.)
//
// Otherwise: trainers get only objects of partitions of their own. With W >= P, partition p belongs
// to the trainers r with floor(r * P / W) == p, which are those that graphctl launch starts beside
// it if it starts as many everywhere; they divide its objects into chunks whose sizes differ by at
// most
// 1. With W < P, trainer r gets all of the partitions p with floor(p * W / P) == r. (DGL: the last
// trainer of a machine gets the whole rest, partitions without trainers are lost, and trainer ids
// are not used.)
//
// trainer_ids names an integer feature that says for which trainer each object was cut out, as
// partitioning for several trainers per machine writes it ("trainer_id"). If it counts M trainers,
// and M is k * W, each trainer gets what was meant for k of them, as far as the sizes above allow.
// Other M work too (DGL: AssertionError).
//
// A mask is one-dimensional, uint8 or bool, of one element per object of its type; what is not 0 is
// chosen. It is read in blocks of a few MiB: all of it with force_even, otherwise only the
// partitions of the trainer. Memory beyond that is the result's. Throws Error(kInvalid) on a mask
// of another dtype or length, a rank outside 0..W-1, and trainer ids that are no integers in
// 0..2^20-1; Error(kNotFound) on an unknown feature. Thread-safe.

namespace GRAPHD_EXPORT graphd {

struct SplitOptions {
  int rank = -1;        // whose share; -1: this trainer's
  int world_size = -1;  // W; -1: the session's
  bool force_even = true;
  std::string trainer_ids = {};  // node_trainer_ids, edge_trainer_ids; empty: none
};

// With a feature as mask, which knows its type (no ntype or etype to give).
std::vector<int64_t> NodeSplit(const DistGraph& graph, const DistTensor& mask,
                               const SplitOptions& options = {});
std::vector<int64_t> EdgeSplit(const DistGraph& graph, const DistTensor& mask,
                               const SplitOptions& options = {});

// With a mask of this process, the same in every trainer.
std::vector<int64_t> NodeSplit(const DistGraph& graph, const Tensor& mask, NodeTypeId ntype,
                               const SplitOptions& options = {});
std::vector<int64_t> EdgeSplit(const DistGraph& graph, const Tensor& mask, EdgeTypeId etype,
                               const SplitOptions& options = {});

// The homogeneous id space as a type: a mask over the nodes (edges) of all types, by homogeneous
// id, and homogeneous ids as the result. (DGL: the default names "_N" and "_E" on a graph of
// several types.)
inline constexpr int32_t kHomogeneous = -1;

// Without a graph: rank and world_size must be given, type may be kHomogeneous, there are no
// trainer_ids.
std::vector<int64_t> NodeSplit(const PartitionBook& book, const Tensor& mask, NodeTypeId ntype,
                               const SplitOptions& options);
std::vector<int64_t> EdgeSplit(const PartitionBook& book, const Tensor& mask, EdgeTypeId etype,
                               const SplitOptions& options);

}  // namespace graphd
