// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_graph.h"

#include <map>
#include <optional>
#include <tuple>

#include "base/strings.h"
#include "base/threads/mutex.h"
#include "client/routing/edge_queries.h"
#include "client/routing/graph_access.h"
#include "client/tensors/tensor_source.h"

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

// The attached tensors, by (is edge, type, name).
struct DistGraph::Attached {
  Mutex mutex;
  std::map<std::tuple<bool, int32_t, std::string>, DistTensor> tensors GRAPHD_GUARDED_BY(mutex);

  std::optional<DistTensor> Find(bool is_edge, int32_t type, const std::string& name) {
    const MutexLock lock(mutex);
    const auto found = tensors.find({is_edge, type, name});
    if (found == tensors.end()) return std::nullopt;
    return found->second;
  }
  void AddNames(bool is_edge, int32_t type, std::vector<std::string>& names) {
    const MutexLock lock(mutex);
    for (const auto& [key, tensor] : tensors) {
      if (std::get<0>(key) == is_edge && std::get<1>(key) == type) {
        names.push_back(std::get<2>(key));
      }
    }
  }
  void Remove(bool is_edge, int32_t type, const std::string& name) {
    const MutexLock lock(mutex);
    if (tensors.erase({is_edge, type, name}) == 0) {
      Throw(ErrorCode::kNotFound, "no tensor is attached as '", name, "'");
    }
  }
};

DistGraph::DistGraph(std::shared_ptr<Session> session, const std::string& graph_name)
    : session_(std::move(session)), attached_(std::make_shared<Attached>()) {
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
  return SchemesOf(access_->features(ntype));
}
std::vector<FeatureScheme> DistGraph::edge_attr_schemes(EdgeTypeId etype) const {
  return SchemesOf(access_->features(etype));
}

std::vector<int64_t> DistGraph::InDegrees(std::span<const int64_t> nodes, EdgeTypeId etype) const {
  std::vector<int64_t> degrees(nodes.size());
  EdgeQueries(*access_).Degrees(etype, Direction::kIn, nodes, degrees);
  return degrees;
}
std::vector<int64_t> DistGraph::OutDegrees(std::span<const int64_t> nodes, EdgeTypeId etype) const {
  std::vector<int64_t> degrees(nodes.size());
  EdgeQueries(*access_).Degrees(etype, Direction::kOut, nodes, degrees);
  return degrees;
}
EdgeEnds DistGraph::FindEdges(std::span<const int64_t> eids, EdgeTypeId etype) const {
  EdgeEnds ends{std::vector<int64_t>(eids.size()), std::vector<int64_t>(eids.size())};
  EdgeQueries(*access_).FindEdges(etype, eids, ends.src, ends.dst);
  return ends;
}
std::vector<uint8_t> DistGraph::HasEdges(std::span<const int64_t> src, std::span<const int64_t> dst,
                                         EdgeTypeId etype) const {
  std::vector<uint8_t> found(src.size());
  EdgeQueries(*access_).HasEdges(etype, src, dst, found);
  return found;
}

DistTensor DistGraph::ndata(const std::string& name, NodeTypeId ntype) const {
  if (auto attached = attached_->Find(false, ntype, name)) return *attached;
  return DistTensor(MakeFeatureSource(access_, {ntype, name}));
}
DistTensor DistGraph::edata(const std::string& name, EdgeTypeId etype) const {
  if (auto attached = attached_->Find(true, etype, name)) return *attached;
  return DistTensor(MakeFeatureSource(access_, {etype, name}));
}
std::vector<std::string> DistGraph::ndata_names(NodeTypeId ntype) const {
  std::vector<std::string> names = NamesOf(access_->features(ntype));
  attached_->AddNames(false, ntype, names);
  return names;
}
std::vector<std::string> DistGraph::edata_names(EdgeTypeId etype) const {
  std::vector<std::string> names = NamesOf(access_->features(etype));
  attached_->AddNames(true, etype, names);
  return names;
}

void DistGraph::Attach(const std::string& name, const DistTensor& tensor) const {
  if (tensor.spec().policy == TensorPolicy::kRange) {
    Throw(ErrorCode::kInvalid, "tensor '", tensor.name(),
          "' has rows of its own (kRange) and belongs ", "neither to nodes nor to edges");
  }
  const auto& features = tensor.is_edge() ? access_->features(EdgeTypeId(tensor.type()))
                                          : access_->features(NodeTypeId(tensor.type()));
  for (const FeatureInfo& info : features) {
    if (info.name == name) {
      Throw(ErrorCode::kExists, "the graph has a feature '", name, "'; attach '", tensor.name(),
            "' under another name");
    }
  }
  const MutexLock lock(attached_->mutex);
  attached_->tensors.insert_or_assign({tensor.is_edge(), tensor.type(), name}, tensor);
}
void DistGraph::DetachNdata(const std::string& name, NodeTypeId ntype) const {
  attached_->Remove(false, ntype, name);
}
void DistGraph::DetachEdata(const std::string& name, EdgeTypeId etype) const {
  attached_->Remove(true, etype, name);
}

RowCacheStatistics DistGraph::row_cache_statistics() const noexcept {
  const SharedRows* rows = access_->shared_rows();
  const RowCache* cache = rows == nullptr ? nullptr : rows->cache();
  if (cache == nullptr) return {};
  const RowCacheCounts counts = cache->counts();
  return {counts.hits,    counts.misses,     counts.hit_bytes,    counts.inserted,
          counts.evicted, cache->capacity(), cache->used_bytes(), counts.kept};
}

TrafficCounts DistGraph::traffic() const noexcept {
  const Traffic& counted = access_->traffic();
  return {counted.messages, counted.row_messages, counted.sampling_bytes, counted.row_bytes};
}

PartId DistGraph::local_partition() const noexcept { return session_->options().part; }
bool DistGraph::is_mapped(PartId part) const { return access_->is_mapped(part); }

void DistGraph::WaitForAll() const {
  for (;;) {
    try {
      return session_->Barrier();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kDeadline) throw;
      // The other trainers may compute for longer than a call's timeout. If instead a daemon does
      // not answer, List throws such an error, too.
      DistTensor::List(*this);
    }
  }
}

}  // namespace graphd
