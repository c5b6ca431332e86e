// SPDX-License-Identifier: Apache-2.0
#include "graph/partition.h"

#include "base/strings.h"

namespace graphd {
namespace {

// The parts of an array's name: those of "csc/3/indptr" are "csc", 3 and "indptr". The last part
// may contain slashes, because a feature's name may.
struct ArrayName {
  std::string kind;
  int64_t type;
  std::string name;
};

ArrayName ParseArrayName(const std::string& text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string::npos ? first : text.find('/', first + 1);
  if (second == std::string::npos) {
    Throw(ErrorCode::kCorrupt, "array '", text, "': expected kind/type/name");
  }
  return {text.substr(0, first),
          ParseInt(std::string_view(text).substr(first + 1, second - first - 1),
                   "type of array '" + text + "'", 0, INT32_MAX),
          text.substr(second + 1)};
}

}  // namespace

IdSpan::IdSpan(const Tensor& tensor) : size_(static_cast<size_t>(tensor.num_elements())) {
  if (tensor.dtype() == DType::kUInt32) {
    narrow_ = reinterpret_cast<const uint32_t*>(tensor.data());
  } else if (tensor.dtype() == DType::kUInt64) {
    wide_ = reinterpret_cast<const uint64_t*>(tensor.data());
  } else {
    Throw(ErrorCode::kCorrupt, "ids are stored as ", DTypeName(tensor.dtype()),
          ", expected uint32 or uint64");
  }
}

Partition::Partition(std::shared_ptr<const GraphMeta> meta, PartId id,
                     std::vector<std::shared_ptr<const Segment>> segments)
    : meta_(std::move(meta)), id_(id), segments_(std::move(segments)) {
  const Schema& schema = meta_->schema;
  csc_.resize(static_cast<size_t>(schema.num_etypes()));
  node_features_.resize(static_cast<size_t>(schema.num_ntypes()));
  edge_features_.resize(static_cast<size_t>(schema.num_etypes()));

  for (const auto& segment : segments_) {
    for (const ArraySpec& spec : segment->layout().arrays()) {
      const ArrayName name = ParseArrayName(spec.name);
      const bool is_node = name.kind == "node";
      if (name.type >= (is_node ? schema.num_ntypes() : schema.num_etypes())) {
        Throw(ErrorCode::kCorrupt, "array '", spec.name,
              "' belongs to a type that the graph does not have");
      }
      const auto type = static_cast<size_t>(name.type);
      if (is_node) {
        AddFeature(node_features_[type], spec, name.name,
                   num_inner_nodes(static_cast<NodeTypeId>(name.type)), *segment);
      } else if (name.kind == "edge") {
        AddFeature(edge_features_[type], spec, name.name,
                   num_inner_edges(static_cast<EdgeTypeId>(name.type)), *segment);
      } else if (name.kind == "csc") {
        const Tensor array = segment->array(spec.name);
        if (array.shape().size() != 1 || !spec.encoding.is_plain()) {
          Throw(ErrorCode::kCorrupt, "array '", spec.name, "' is not one-dimensional, or encoded");
        }
        if (name.name == "indptr" && spec.dtype() == DType::kUInt64) {
          csc_[type].indptr = array.as<uint64_t>();
        } else if (name.name == "indices") {
          csc_[type].indices = IdSpan(array);
        } else if (name.name == "edge_rows") {
          csc_[type].edge_rows = IdSpan(array);
        } else {
          Throw(ErrorCode::kCorrupt, "array '", spec.name, "' (", DTypeName(spec.dtype()),
                ") is not an array of a partition");
        }
      } else {
        Throw(ErrorCode::kCorrupt, "array '", spec.name, "' is of an unknown kind");
      }
    }
  }

  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const Csc& csc = csc_[static_cast<size_t>(e)];
    const auto nodes = static_cast<size_t>(num_inner_nodes(schema.dst_type(e)));
    const auto edges = static_cast<size_t>(num_inner_edges(e));
    if (csc.indptr.size() != nodes + 1 || csc.indices.size() != edges ||
        (csc.edge_rows && csc.edge_rows->size() != edges)) {
      Throw(ErrorCode::kCorrupt, "partition ", id_, ", edge type ", schema.etype(e).ToString(),
            ": ", csc.indptr.size(), " offsets and ", csc.indices.size(), " edges, expected ",
            nodes + 1, " and ", edges);
    }
  }
}

void Partition::AddFeature(Features& features, const ArraySpec& spec, const std::string& name,
                           int64_t rows, const Segment& segment) {
  if (spec.shape.empty() || spec.shape[0] != rows) {
    Throw(ErrorCode::kCorrupt, "partition ", id_, ": feature '", spec.name, "' has ",
          spec.shape.empty() ? 0 : spec.shape[0], " rows, expected ", rows);
  }
  features.infos.push_back({name, spec.encoding.dtype, {spec.shape.begin() + 1, spec.shape.end()}});
  features.tables.emplace_back(segment.array(spec.name), spec.encoding);
}

const std::vector<FeatureInfo>& Partition::node_features(NodeTypeId t) const {
  return node_features_.at(static_cast<size_t>(t)).infos;
}

const std::vector<FeatureInfo>& Partition::edge_features(EdgeTypeId e) const {
  return edge_features_.at(static_cast<size_t>(e)).infos;
}

const FeatureTable& Partition::Find(const Features& features, const std::string& name,
                                    const std::string& what) {
  std::vector<std::string> names;
  for (size_t i = 0; i < features.infos.size(); i++) {
    if (features.infos[i].name == name) return features.tables[i];
    names.push_back(features.infos[i].name);
  }
  Throw(ErrorCode::kNotFound, what, " has no feature '", name,
        "'; there are: ", names.empty() ? "none" : Join(names, ", "));
}

const FeatureTable& Partition::node_feature(NodeTypeId t, const std::string& name) const {
  return Find(node_features_.at(static_cast<size_t>(t)), name,
              "node type '" + meta_->schema.ntype(t) + "'");
}

const FeatureTable& Partition::edge_feature(EdgeTypeId e, const std::string& name) const {
  return Find(edge_features_.at(static_cast<size_t>(e)), name,
              "edge type '" + meta_->schema.etype(e).ToString() + "'");
}

void Partition::Validate() const {
  const Schema& schema = meta_->schema;
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    const Csc& csc = csc_[static_cast<size_t>(e)];
    const std::string where = StrCat("partition ", id_, ", edge type ", schema.etype(e).ToString());
    if (csc.indptr.front() != 0 || csc.indptr.back() != csc.indices.size()) {
      Throw(ErrorCode::kCorrupt, where, ": offsets run from ", csc.indptr.front(), " to ",
            csc.indptr.back(), ", expected 0 to ", csc.indices.size());
    }
    for (size_t i = 1; i < csc.indptr.size(); i++) {
      if (csc.indptr[i] < csc.indptr[i - 1]) {
        Throw(ErrorCode::kCorrupt, where, ": offset ", i, " falls from ", csc.indptr[i - 1], " to ",
              csc.indptr[i]);
      }
    }
    const auto check_below = [&](const IdSpan& ids, int64_t limit, const char* what) {
      ids.Visit([&](auto span) {
        uint64_t largest = 0;
        for (auto id : span) largest = std::max<uint64_t>(largest, id);
        if (!span.empty() && largest >= static_cast<uint64_t>(limit)) {
          Throw(ErrorCode::kCorrupt, where, ": ", what, " ", largest, " is outside 0..", limit - 1);
        }
      });
    };
    check_below(csc.indices, meta_->book.nodes().count(schema.src_type(e)), "source node");
    if (csc.edge_rows) check_below(*csc.edge_rows, num_inner_edges(e), "edge row");
  }
}

uint64_t Partition::bytes() const noexcept {
  uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment->size();
  return sum;
}

}  // namespace graphd
