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
    : session_(std::move(session)), access_(session_->access()) {
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

PartId DistGraph::local_partition() const noexcept { return session_->options().part; }
bool DistGraph::is_mapped(PartId part) const { return access_->is_mapped(part); }

}  // namespace graphd
