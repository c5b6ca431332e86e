// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/export.h"

// Functions that divide the nodes or edges chosen by a mask among the trainers of a job. They match
// dgl.distributed.node_split(nodes, partition_book, ntype, rank, force_even, node_trainer_ids) and
// edge_split.
//
// Every chosen object is assigned to exactly one trainer, for every mask and every number of
// partitions (P) and trainers (W). Results are type-wise ids in ascending order. They are a
// function of mask, partition book, rank and W: the trainers do not communicate, may call at
// different times, and any trainer may ask for any rank.
//
// The chosen objects are ordered by partition, then (with trainer_ids) by trainer id, then by id.
//
// With force_even, that order is cut into W chunks whose sizes differ by at most 1, and trainer r
// gets chunk r. Because trainers are numbered partition by partition, most of a chunk is owned by
// the trainer's own partition. (DGL cuts into P chunks and divides each at random among the
// trainers of a machine, so that sizes differ by up to 2 and locality is lost; it requires W to be
// a multiple of P.)
//
// Without force_even, trainers get objects of their own partitions only. With W >= P, partition p
// belongs to the trainers r with floor(r * P / W) == p, which are those on its machine if graphctl
// launch starts the same number on every machine; they divide its objects into chunks whose sizes
// differ by at most 1. With W < P, trainer r gets all of the partitions p with floor(p * W / P) ==
// r. (In DGL, the last trainer of a machine gets the whole rest, partitions without trainers are
// lost, and trainer ids are ignored.)
//
// K remote trainers, which run on machines that serve no partition and have the last ranks, share
// all partitions. The first (W - K) / W of the objects of each partition are divided among the
// other trainers as above, with W - K in place of W. The remaining objects of all partitions are
// cut into K chunks whose sizes differ by at most 1, one for each remote trainer. With force_even,
// the sizes of all W shares differ by at most 1.
//
// trainer_ids is the name of an integer feature that gives, for each object, the trainer for which
// it was partitioned. Partitioning for several trainers per machine writes such a feature
// ("trainer_id"). If it names M trainers and M = k * W, each of the W trainers gets the objects of
// k of these M trainers, as far as the sizes above permit. Other values of M work, too (DGL:
// AssertionError).
//
// A mask has the shape [objects of the type] and dtype uint8 or bool; elements other than 0 choose
// objects. It is read in blocks of a few MiB: all of it with force_even, otherwise only the
// partitions of the trainer. Apart from these blocks, only the result takes much memory.
//
// All functions throw Error(kInvalid) on a mask of another dtype or length, a rank outside 0..W-1
// and trainer ids that are not integers in 0..2^20-1, and Error(kNotFound) on an unknown feature.
// They are thread-safe.

namespace GRAPHD_EXPORT graphd {

// The settings of NodeSplit and EdgeSplit.
struct SplitOptions {
  int rank = -1;           // rank whose share is returned; -1: this trainer's
  int world_size = -1;     // number of trainers, W; -1: the session's
  bool force_even = true;  // false: trainers get objects of their own partitions only
  // Name of the feature with trainer ids (DGL: node_trainer_ids, edge_trainer_ids); empty: none.
  std::string trainer_ids = {};
  // Number of remote trainers, K: the last K ranks run on machines that serve no partition. -1: the
  // session's number if world_size equals the session's world size, else 0.
  int remote_trainers = -1;
};

// Divides the nodes that `mask`, a node feature, selects. The node type is that of the feature.
std::vector<int64_t> NodeSplit(const DistGraph& graph, const DistTensor& mask,
                               const SplitOptions& options = {});
// Divides the edges that `mask`, an edge feature, selects. The edge type is that of the feature.
std::vector<int64_t> EdgeSplit(const DistGraph& graph, const DistTensor& mask,
                               const SplitOptions& options = {});

// Divides nodes of a type by a mask in memory, which must be the same in every trainer.
std::vector<int64_t> NodeSplit(const DistGraph& graph, const Tensor& mask, NodeTypeId ntype,
                               const SplitOptions& options = {});
// Divides edges of a type by a mask in memory, which must be the same in every trainer.
std::vector<int64_t> EdgeSplit(const DistGraph& graph, const Tensor& mask, EdgeTypeId etype,
                               const SplitOptions& options = {});

// The type that stands for all types: the mask is over the homogeneous ids of the nodes (or edges),
// and the result has homogeneous ids. (DGL: the default names "_N" and "_E" on a graph with several
// types.)
inline constexpr int32_t kHomogeneous = -1;

// Divides nodes without a graph. options.rank and world_size must be given, trainer_ids must be
// empty, and ntype may be kHomogeneous.
std::vector<int64_t> NodeSplit(const PartitionBook& book, const Tensor& mask, NodeTypeId ntype,
                               const SplitOptions& options);
// Divides edges without a graph, in the same way.
std::vector<int64_t> EdgeSplit(const PartitionBook& book, const Tensor& mask, EdgeTypeId etype,
                               const SplitOptions& options);

}  // namespace graphd
