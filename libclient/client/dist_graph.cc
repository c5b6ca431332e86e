// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_graph.h"

#include "base/strings.h"
#include "client/graph_access.h"

namespace graphd {
namespace {

std::vector<std::string> NamesOf(const std::vector<FeatureInfo>& infos) {
  std::vector<std::string> names;
  for (const FeatureInfo& info : infos) names.push_back(info.name);
  return names;
}

std::vector<FeatureScheme> SchemesOf(const std::vector<FeatureInfo>& infos) {
  std::vector<FeatureScheme> schemes;
  for (const FeatureInfo& info : infos) schemes.push_back({info.name, info.dtype, info.row_shape});
  return schemes;
}

}  // namespace

DistTensor::DistTensor(std::shared_ptr<GraphAccess> access, bool is_edge, int32_t type,
                       std::string name)
    : access_(std::move(access)), is_edge_(is_edge), type_(type), name_(std::move(name)) {
  const FeatureInfo& info = access_->feature({is_edge_, type_, name_});
  const PartitionBook& book = access_->meta().book;
  dtype_ = info.dtype;
  shape_ = info.row_shape;
  shape_.insert(shape_.begin(), (is_edge ? book.edges() : book.nodes()).count(type));
}

Tensor DistTensor::Read(std::span<const int64_t> ids) const {
  std::vector<int64_t> shape = shape_;
  shape[0] = static_cast<int64_t>(ids.size());
  Tensor rows = access_->NewTensor(dtype_, std::move(shape));
  ReadInto(ids, {rows.data(), rows.num_bytes()});
  return rows;
}

void DistTensor::ReadInto(std::span<const int64_t> ids, std::span<std::byte> out) const {
  access_->Gather({is_edge_, type_, name_}, ids, out);
}

Tensor DistTensor::Slice(int64_t begin, int64_t end) const {
  if (begin < 0 || end < begin || end > num_rows()) {
    Throw(ErrorCode::kInvalid, "rows [", begin, ", ", end, ") of '", name_, "' are outside 0..",
          num_rows());
  }
  std::vector<int64_t> shape = shape_;
  shape[0] = end - begin;
  Tensor rows = access_->NewTensor(dtype_, std::move(shape));
  access_->Slice({is_edge_, type_, name_}, begin, end, {rows.data(), rows.num_bytes()});
  return rows;
}

DistGraph::DistGraph(std::shared_ptr<Session> session, const std::string& graph_name)
    : session_(std::move(session)) {
  if (!session_) Throw(ErrorCode::kInvalid, "a graph needs a session; call Initialize first");
  access_ = session_->access();
  if (!graph_name.empty() && graph_name != name()) {
    Throw(ErrorCode::kNotFound, "the servers hold graph '", name(), "', not '", graph_name,
          "'; check --graph_name and --server_name");
  }
}

const std::string& DistGraph::name() const noexcept { return access_->meta().graph_name; }
const Schema& DistGraph::schema() const noexcept { return access_->meta().schema; }
const PartitionBook& DistGraph::partition_book() const noexcept { return access_->meta().book; }
int64_t DistGraph::num_nodes() const noexcept { return partition_book().nodes().total(); }
int64_t DistGraph::num_nodes(NodeTypeId ntype) const {
  return partition_book().nodes().count(ntype);
}
int64_t DistGraph::num_edges() const noexcept { return partition_book().edges().total(); }
int64_t DistGraph::num_edges(EdgeTypeId etype) const {
  return partition_book().edges().count(etype);
}

std::vector<std::string> DistGraph::ntypes() const {
  std::vector<std::string> names;
  for (NodeTypeId t = 0; t < schema().num_ntypes(); t++) names.push_back(schema().ntype(t));
  return names;
}
std::vector<std::string> DistGraph::etypes() const {
  std::vector<std::string> names;
  for (const CanonicalEdgeType& etype : canonical_etypes()) names.push_back(etype.rel);
  return names;
}
std::vector<CanonicalEdgeType> DistGraph::canonical_etypes() const {
  std::vector<CanonicalEdgeType> types;
  for (EdgeTypeId e = 0; e < schema().num_etypes(); e++) types.push_back(schema().etype(e));
  return types;
}

std::vector<FeatureScheme> DistGraph::node_attr_schemes(NodeTypeId ntype) const {
  return SchemesOf(access_->features(false, ntype));
}
std::vector<FeatureScheme> DistGraph::edge_attr_schemes(EdgeTypeId etype) const {
  return SchemesOf(access_->features(true, etype));
}

std::vector<int64_t> DistGraph::InDegrees(std::span<const int64_t> nodes, EdgeTypeId etype) const {
  std::vector<int64_t> degrees(nodes.size());
  access_->Degrees(etype, Direction::kIn, nodes, degrees);
  return degrees;
}
std::vector<int64_t> DistGraph::OutDegrees(std::span<const int64_t> nodes, EdgeTypeId etype) const {
  std::vector<int64_t> degrees(nodes.size());
  access_->Degrees(etype, Direction::kOut, nodes, degrees);
  return degrees;
}
EdgeEnds DistGraph::FindEdges(std::span<const int64_t> eids, EdgeTypeId etype) const {
  EdgeEnds ends{std::vector<int64_t>(eids.size()), std::vector<int64_t>(eids.size())};
  access_->FindEdges(etype, eids, ends.src, ends.dst);
  return ends;
}
std::vector<uint8_t> DistGraph::HasEdges(std::span<const int64_t> src, std::span<const int64_t> dst,
                                         EdgeTypeId etype) const {
  std::vector<uint8_t> found(src.size());
  access_->HasEdges(etype, src, dst, found);
  return found;
}

DistTensor DistGraph::ndata(const std::string& name, NodeTypeId ntype) const {
  return DistTensor(access_, false, ntype, name);
}
DistTensor DistGraph::edata(const std::string& name, EdgeTypeId etype) const {
  return DistTensor(access_, true, etype, name);
}
std::vector<std::string> DistGraph::ndata_names(NodeTypeId ntype) const {
  return NamesOf(access_->features(false, ntype));
}
std::vector<std::string> DistGraph::edata_names(EdgeTypeId etype) const {
  return NamesOf(access_->features(true, etype));
}

TrafficCounts DistGraph::traffic() const noexcept {
  const Traffic& counted = access_->traffic();
  return {counted.messages, counted.row_messages, counted.sampling_bytes, counted.row_bytes};
}

PartId DistGraph::local_partition() const noexcept { return session_->options().part; }
bool DistGraph::is_mapped(PartId part) const { return access_->is_mapped(part); }

}  // namespace graphd
