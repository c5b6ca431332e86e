// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graphd/dist_tensor.h"
#include "graphd/export.h"
#include "graphd/initialize.h"
#include "graphd/partition_book.h"
#include "graphd/schema.h"
#include "graphd/tensor.h"

// A graph whose partitions are served by several daemons, presented as one. Matches DGL's
// dgl.distributed.DistGraph. Ids are type-wise, int64 and 0-based unless stated otherwise.
// Everything here is thread-safe.

namespace GRAPHD_EXPORT graphd {

// The name, dtype and shape of a feature. Matches DGL's Scheme.
struct FeatureScheme {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;  // shape of one row
};

// The endpoints of edges.
struct EdgeEnds {
  std::vector<int64_t> src, dst;  // src[i] and dst[i]: type-wise ids of the endpoints of edge i
};

// The traffic between this process and the daemons since Initialize, over all graphs of the
// session. A message is a request with its answer.
struct TrafficCounts {
  uint64_t messages = 0;        // sampling and queries, including rows sent with them
  uint64_t row_messages = 0;    // reads of rows alone, in pieces of 2 MiB, and changes of rows
  uint64_t sampling_bytes = 0;  // bytes of sampled hops, rows excluded
  uint64_t row_bytes = 0;       // bytes of rows, and of the ids that request them
};

// Counts of what this process has done with the row cache of its machine (Options::row_cache) since
// Initialize. All are 0 without a cache.
struct RowCacheStatistics {
  uint64_t hits = 0;            // rows copied from the cache or from another thread's request
  uint64_t misses = 0;          // rows that were not in the cache
  uint64_t hit_bytes = 0;       // size of the rows that `hits` counts
  uint64_t inserted = 0;        // rows that this process has stored
  uint64_t evicted = 0;         // rows that the inserted rows have replaced
  uint64_t capacity_bytes = 0;  // size of the cache
  uint64_t used_bytes = 0;      // memory that all processes have taken for rows
  uint64_t kept = 0;            // rows that this process keeps there (DistTensor::KeepCached)
};

// A handle of a distributed graph. Copies are handles of the same graph and keep its session alive.
class DistGraph {
 public:
  // Opens the graph that the session's daemons serve. An empty name accepts any graph. Throws
  // Error(kNotFound) if they serve a graph with a different name, Error(kInvalid) on a null
  // session.
  explicit DistGraph(std::shared_ptr<Session> session, const std::string& graph_name = "");

  // Returns the graph's name.
  const std::string& name() const noexcept;
  // Returns the graph's node types and edge types.
  const Schema& schema() const noexcept;
  // Returns the assignment of nodes and edges to partitions. Matches get_partition_book().
  const PartitionBook& partition_book() const noexcept;
  // Returns the session that the graph was opened with.
  const std::shared_ptr<Session>& session() const noexcept { return session_; }

  // Returns the number of nodes of all types. Matches num_nodes.
  int64_t num_nodes() const noexcept;
  // Returns the number of nodes of a type. Throws Error(kInvalid) on a type out of range.
  int64_t num_nodes(NodeTypeId ntype) const;
  // Returns the number of edges of all types. Matches num_edges.
  int64_t num_edges() const noexcept;
  // Returns the number of edges of a type. Throws Error(kInvalid) on a type out of range.
  int64_t num_edges(EdgeTypeId etype) const;

  // Returns the names of the node types, by id. Matches ntypes; Schema::NodeTypeIdOf matches
  // get_ntype_id.
  std::vector<std::string> ntypes() const;
  // Returns the relations of the edge types, by id; a relation may occur several times. Matches
  // etypes.
  std::vector<std::string> etypes() const;
  // Returns the canonical edge types, by id; this is also the edge list of the metagraph. Matches
  // canonical_etypes; Schema::EdgeTypeIdOf matches to_canonical_etype.
  std::vector<CanonicalEdgeType> canonical_etypes() const;

  // Returns the features of a node type. Matches node_attr_schemes. Throws Error(kInvalid) on a
  // type out of range.
  std::vector<FeatureScheme> node_attr_schemes(NodeTypeId ntype = 0) const;
  // Returns the features of an edge type. Matches edge_attr_schemes. Throws Error(kInvalid) on a
  // type out of range.
  std::vector<FeatureScheme> edge_attr_schemes(EdgeTypeId etype = 0) const;

  // Returns the in-degrees of nodes along one edge type, in the order of `nodes`; duplicates are
  // allowed. Matches in_degrees. This function and the three that follow send one message to each
  // partition that is not mapped, or several messages if there are more than 100,000 ids. They
  // throw Error(kInvalid) on a type or id out of range, Error(kUnavailable) and Error(kDeadline).
  std::vector<int64_t> InDegrees(std::span<const int64_t> nodes, EdgeTypeId etype = 0) const;
  // Returns the out-degrees of nodes. Matches out_degrees. Out-edges are stored with their
  // destinations, so every partition is asked. (DGL counts only the out-edges in the partition of
  // the source.)
  std::vector<int64_t> OutDegrees(std::span<const int64_t> nodes, EdgeTypeId etype = 0) const;

  // Returns the sources and destinations of edges, in the order of `eids`. Matches find_edges, but
  // works with every --graph_format of graphctl launch.
  EdgeEnds FindEdges(std::span<const int64_t> eids, EdgeTypeId etype = 0) const;

  // Returns for each i whether there is an edge src[i] -> dst[i]: 1 or 0. Matches DGLGraph's
  // has_edges_between. Throws also Error(kInvalid) on lists of different lengths.
  std::vector<uint8_t> HasEdges(std::span<const int64_t> src, std::span<const int64_t> dst,
                                EdgeTypeId etype = 0) const;

  // Returns a feature of a node type, or a tensor attached to it. Matches
  // g.nodes[ntype].data[name], and g.ndata[name] of a graph with one node type. Throws
  // Error(kNotFound), which lists the existing names.
  DistTensor ndata(const std::string& name, NodeTypeId ntype = 0) const;
  // Returns a feature of an edge type, or a tensor attached to it. Matches
  // g.edges[etype].data[name]. Throws the same errors.
  DistTensor edata(const std::string& name, EdgeTypeId etype = 0) const;
  // Returns the names of the features of a node type and of the tensors attached to it.
  std::vector<std::string> ndata_names(NodeTypeId ntype = 0) const;
  // Returns the names of the features of an edge type and of the tensors attached to it.
  std::vector<std::string> edata_names(EdgeTypeId etype = 0) const;
  // Adds a tensor to the data of its node or edge type, under a name, for this object and its
  // copies. A tensor that is already attached under this name is replaced. Matches g.ndata[name] =
  // tensor. Throws Error(kInvalid) for a tensor with policy kRange, Error(kExists) for the name of
  // a feature.
  void Attach(const std::string& name, const DistTensor& tensor) const;
  // Removes a tensor attached to a node type. Matches del g.ndata[name]. Throws Error(kNotFound) if
  // no tensor of this name is attached.
  void DetachNdata(const std::string& name, NodeTypeId ntype = 0) const;
  // Removes a tensor attached to an edge type. Throws the same errors.
  void DetachEdata(const std::string& name, EdgeTypeId etype = 0) const;

  // Returns the partition of this trainer's machine, Options::part.
  PartId local_partition() const noexcept;
  // Returns whether a partition is read through mapped memory, without RPC.
  bool is_mapped(PartId part) const;

  // Returns the traffic of the session so far.
  TrafficCounts traffic() const noexcept;
  // Returns the statistics of the row cache so far.
  RowCacheStatistics row_cache_statistics() const noexcept;

  // Waits for all trainers of the job, as Session::Barrier does. Matches barrier().
  void Barrier() const { session_->Barrier(); }
  // Waits for all trainers as Barrier does, but without a time limit, because the others may
  // compute for long. Throws Error(kUnavailable) if a trainer has left the job, and
  // Error(kDeadline) if a daemon does not answer.
  void WaitForAll() const;

  // Internal: the object through which samplers access the partitions.
  const std::shared_ptr<GraphAccess>& access() const noexcept { return access_; }

 private:
  struct Attached;
  std::shared_ptr<Session> session_;
  std::shared_ptr<GraphAccess> access_;
  std::shared_ptr<Attached> attached_;
};

}  // namespace graphd
