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

// A graph that lies in the partitions of several daemons, seen as one. Matches dgl.distributed's
// DistGraph; ids are type-wise, int64, and 0-based. Everything here is thread-safe.

namespace GRAPHD_EXPORT graphd {

// What there is of one feature. Matches DGL's Scheme.
struct FeatureScheme {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;  // of one row
};

struct EdgeEnds {
  std::vector<int64_t> src, dst;  // type-wise
};

// What this process has sent to daemons and received from them since Initialize, over all graphs of
// the session. Each message is a request with its answer.
struct TrafficCounts {
  uint64_t messages = 0;        // sampling and queries, with the rows that travel along
  uint64_t row_messages = 0;    // rows alone: reads of features, cut into pieces of 2 MiB
  uint64_t sampling_bytes = 0;  // of hops, rows not counted
  uint64_t row_bytes = 0;       // rows, and the ids that they were asked for by
};

class DistGraph {
 public:
  // Throws Error(kNotFound) if the daemons serve another graph than `graph_name`, Error(kInvalid)
  // on a null session. An empty name takes what they serve.
  explicit DistGraph(std::shared_ptr<Session> session, const std::string& graph_name = "");

  const std::string& name() const noexcept;
  const Schema& schema() const noexcept;
  // Matches get_partition_book().
  const PartitionBook& partition_book() const noexcept;
  const std::shared_ptr<Session>& session() const noexcept { return session_; }

  // Of one type, or of all types together.
  int64_t num_nodes() const noexcept;
  int64_t num_nodes(NodeTypeId ntype) const;
  int64_t num_edges() const noexcept;
  int64_t num_edges(EdgeTypeId etype) const;

  // Names of types, by id. canonical_etypes() is also the metagraph's edge list. Matches ntypes,
  // canonical_etypes; Schema::EdgeTypeIdOf is to_canonical_etype, NodeTypeIdOf get_ntype_id.
  std::vector<std::string> ntypes() const;
  std::vector<std::string> etypes() const;  // relations; the same name may occur several times
  std::vector<CanonicalEdgeType> canonical_etypes() const;

  // Features of a type: names, dtypes and row shapes. Match node_attr_schemes, edge_attr_schemes.
  std::vector<FeatureScheme> node_attr_schemes(NodeTypeId ntype = 0) const;
  std::vector<FeatureScheme> edge_attr_schemes(EdgeTypeId etype = 0) const;

  // Degrees, in the order of `nodes`, duplicates allowed, along one edge type. Match in_degrees and
  // out_degrees. Out-edges lie with their destinations, so OutDegrees asks every partition (DGL
  // counts only those in the source's own). All functions from here on send one message to each
  // partition that is not mapped, more for more than 100,000 ids; they throw Error(kInvalid) on a
  // type or id out of range, Error(kUnavailable), Error(kDeadline).
  std::vector<int64_t> InDegrees(std::span<const int64_t> nodes, EdgeTypeId etype = 0) const;
  std::vector<int64_t> OutDegrees(std::span<const int64_t> nodes, EdgeTypeId etype = 0) const;

  // Sources and destinations of edges, by type-wise id, in the order of `eids`. Matches find_edges,
  // and needs no particular --graph_format.
  EdgeEnds FindEdges(std::span<const int64_t> eids, EdgeTypeId etype = 0) const;

  // For each pair whether there is an edge src[i] -> dst[i]: 1 or 0. Matches DGLGraph's
  // has_edges_between. Throws Error(kInvalid) also on lists of different length.
  std::vector<uint8_t> HasEdges(std::span<const int64_t> src, std::span<const int64_t> dst,
                                EdgeTypeId etype = 0) const;

  // Features by name, and tensors that were attached. Matches g.nodes[ntype].data[name],
  // g.ndata[name] for one node type. Throws Error(kNotFound) listing the names there are.
  DistTensor ndata(const std::string& name, NodeTypeId ntype = 0) const;
  DistTensor edata(const std::string& name, EdgeTypeId etype = 0) const;
  std::vector<std::string> ndata_names(NodeTypeId ntype = 0) const;
  std::vector<std::string> edata_names(EdgeTypeId etype = 0) const;
  // From now on this object and its copies have the tensor, under this name, among the data of its
  // node or edge type; instead of an attached one of that name. Matches g.ndata[name] = tensor and
  // del g.ndata[name]. Throw Error(kInvalid) for a tensor with rows of its own (kRange),
  // Error(kExists) for the name of a feature, Error(kNotFound).
  void Attach(const std::string& name, const DistTensor& tensor) const;
  void DetachNdata(const std::string& name, NodeTypeId ntype = 0) const;
  void DetachEdata(const std::string& name, EdgeTypeId etype = 0) const;

  // The partition of this trainer's machine: Options::part.
  PartId local_partition() const noexcept;
  // Whether a partition is read through mapped memory, without RPC.
  bool is_mapped(PartId part) const;

  TrafficCounts traffic() const noexcept;

  // Matches barrier().
  void Barrier() const { session_->Barrier(); }

  // Internal: how samplers reach the partitions.
  const std::shared_ptr<GraphAccess>& access() const noexcept { return access_; }

 private:
  struct Attached;
  std::shared_ptr<Session> session_;
  std::shared_ptr<GraphAccess> access_;
  std::shared_ptr<Attached> attached_;
};

}  // namespace graphd
