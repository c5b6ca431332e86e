// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/export_partition.h"

#include <utility>
#include <vector>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/dgl/graph_writer.h"
#include "format/dgl/halo.h"
#include "format/dgl/magic.h"
#include "format/dgl/output.h"

namespace graphd {
namespace {

constexpr int kMaxHops = 100;

std::string NodeTypeName(const Schema& schema, NodeTypeId t) {
  return StrCat("node type '", schema.ntype(t), "'");
}

std::string EdgeTypeName(const Schema& schema, EdgeTypeId e) {
  return StrCat("edge type '", schema.etype(e).ToString(), "'");
}

void CheckName(const std::string& kind, const std::string& name, const char* forbidden) {
  const size_t at = name.find_first_of(forbidden);
  if (at != name.npos) {
    Throw(ErrorCode::kInvalid, kind, " '", name, "' has a '", name[at],
          "', at which DGL splits names; rename it, or write the native format");
  }
}

void CheckFeatures(const std::string& type, const std::vector<RawFeature>& features) {
  for (const RawFeature& feature : features) {
    CheckName(StrCat("feature of ", type, ":"), feature.name, "/~");
    if (feature.name == "_ID") {
      Throw(ErrorCode::kInvalid, "feature '_ID' of ", type,
            " has a name that DGL keeps for ids; rename it, or write the native format");
    }
    const DType dtype = feature.values.dtype();
    if (dtype == DType::kUInt16 || dtype == DType::kUInt32 || dtype == DType::kUInt64) {
      Throw(ErrorCode::kInvalid, "feature '", feature.name, "' of ", type, " is ", DTypeName(dtype),
            ", a dtype that DGL does not support; convert it to a signed type");
    }
  }
}

// Checks that DGL can load the features of partitions that have no rows of the type. `map` and
// `type` determine the rows of each partition.
void CheckEmptyFeatures(const std::string& type_name, const std::vector<RawFeature>& features,
                        const IdMap& map, int32_t type) {
  for (const RawFeature& feature : features) {
    if (feature.values.dtype() != DType::kBFloat16) continue;
    for (PartId p = 0; p < map.num_parts(); p++) {
      if (map.count_in(p, type) > 0) continue;
      Throw(ErrorCode::kInvalid, "feature '", feature.name, "' of ", type_name,
            " is bfloat16 and has no rows in partition ", p,
            ", which DGL can't load; convert it to float16 or float32");
    }
  }
}

// A file of features, written one array after another.
class FeatureFile {
 public:
  FeatureFile(const std::string& path, size_t count, const std::function<void(uint64_t)>& written)
      : out_(path, written) {
    out_.Put(dgl::kDictMagic);
    out_.Put(uint64_t{count});
    out_.Put(uint64_t{count});
  }

  // Writes `count` rows; row i is row(i) of `values`.
  template <class F>
  void PutRows(const std::string& key, const Tensor& values, int64_t count, F&& row) {
    std::vector<int64_t> shape = values.shape();
    shape[0] = count;
    const size_t bytes = values.row_bytes();
    out_.PutText(key);
    out_.BeginArray(values.dtype(), shape);
    for (size_t i = 0; i < Index(count); i++) {
      out_.PutBytes({values.data() + row(i) * bytes, bytes});
    }
    out_.EndArray();
  }

  template <class F>
  void PutOriginalIds(const std::string& key, int64_t count, F&& id) {
    out_.PutText(key);
    out_.BeginArray(DType::kInt64, {count});
    for (size_t i = 0; i < Index(count); i++) out_.Put(static_cast<int64_t>(id(i)));
    out_.EndArray();
  }

  uint64_t Finish() { return out_.Finish(); }

 private:
  DglOutput out_;
};

// Returns the number of features, including orig_id.
template <class Types>
size_t CountFeatures(const Types& types) {
  size_t count = 0;
  for (const auto& type : types) count += type.features.size() + 1;
  return count;
}

uint64_t WriteNodeFeatures(const RawGraph& graph, const PartitionPlan& plan, PartId part,
                           FeatureFile file) {
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    const int64_t count = plan.meta->book.nodes().count_in(part, t);
    const std::vector<int64_t> rows = OriginalIds(plan.owners[Index(t)], part, count);
    const std::string prefix = graph.schema.ntype(t) + "/";
    const auto original = [&](size_t i) { return Index(rows[i]); };
    for (const RawFeature& feature : graph.nodes[Index(t)].features) {
      file.PutRows(prefix + feature.name, feature.values, count, original);
    }
    file.PutOriginalIds(prefix + kOrigId, count,
                        [&](size_t i) { return graph.nodes[Index(t)].OriginalId(original(i)); });
  }
  return file.Finish();
}

uint64_t WriteEdgeFeatures(const RawGraph& graph, const PartitionPlan& plan, PartId part,
                           FeatureFile file) {
  const IdMap& map = plan.meta->book.edges();
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const RawEdges& raw = graph.edges[Index(e)];
    const int64_t count = map.count_in(part, e);
    const size_t first = Index(map.type_begin(part, e));
    const std::string prefix = graph.schema.etype(e).ToString() + "/";
    plan.edges[Index(e)].Visit([&](auto keys) {
      for (const RawFeature& feature : raw.features) {
        const size_t rows = Index(feature.values.num_rows());
        file.PutRows(prefix + feature.name, feature.values, count,
                     [&](size_t i) { return keys[first + i].edge() % rows; });
      }
      file.PutOriginalIds(prefix + kOrigId, count,
                          [&](size_t i) { return raw.OriginalId(keys[first + i].edge()); });
    });
  }
  return file.Finish();
}

}  // namespace

int64_t DglFormatsFromNames(const std::string& names) {
  int64_t formats = 0;
  if (names.empty()) return formats;
  for (const std::string& name : Split(names, ',')) {
    if (name == "coo") {
      formats |= dgl::kCoo;
    } else if (name == "csr") {
      formats |= dgl::kCsr;
    } else if (name == "csc") {
      formats |= dgl::kCsc;
    } else {
      Throw(ErrorCode::kInvalid, "graph format '", name, "' in '", names,
            "': expected some of coo, csc, csr, with commas between them");
    }
  }
  return formats;
}

void CheckDglOptions(const DglWriteOptions& options) {
  if (options.num_hops < 0 || options.num_hops > kMaxHops) {
    Throw(ErrorCode::kInvalid, "number of hops ", options.num_hops, " is outside 0..", kMaxHops);
  }
}

void CheckDglGraph(const RawGraph& graph) {
  const Schema& schema = graph.schema;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    CheckName("node type", schema.ntype(t), ":/~");
    CheckFeatures(NodeTypeName(schema, t), graph.nodes[Index(t)].features);
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    CheckName("relation", schema.etype(e).rel, ":/~");
    CheckFeatures(EdgeTypeName(schema, e), graph.edges[Index(e)].features);
  }
}

void CheckDglPlan(const RawGraph& graph, const PartitionPlan& plan,
                  const DglWriteOptions& options) {
  const int64_t cut = plan.edge_cut();
  if (options.num_hops == 0 && cut > 0) {
    Throw(ErrorCode::kInvalid, "with 0 hops no partition would hold the ", cut,
          " edges that join two partitions, and DGL refuses such data; use --num_hops 1 or more, ",
          "or the native format, which keeps them without a halo");
  }
  const PartitionBook& book = plan.meta->book;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    CheckEmptyFeatures(NodeTypeName(graph.schema, t), graph.nodes[Index(t)].features, book.nodes(),
                       t);
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    CheckEmptyFeatures(EdgeTypeName(graph.schema, e), graph.edges[Index(e)].features, book.edges(),
                       e);
  }
}

uint64_t WriteDglPartition(const RawGraph& graph, const PartitionPlan& plan,
                           const std::string& directory, PartId part,
                           const DglWriteOptions& options,
                           const std::function<void(uint64_t)>& written) {
  MakeDirectories(directory);
  uint64_t bytes = 0;
  {
    const DglHalo halo(plan, part, options.num_hops);
    DglOutput out(JoinPath(directory, "graph.dgl"), written);
    WriteDglGraph(halo, options.formats ? options.formats : int64_t{dgl::kCoo}, out);
    bytes += out.Finish();
  }
  const auto file = [&](const char* name, size_t count) {
    return FeatureFile(JoinPath(directory, name), count, written);
  };
  bytes += WriteNodeFeatures(graph, plan, part, file("node_feat.dgl", CountFeatures(graph.nodes)));
  bytes += WriteEdgeFeatures(graph, plan, part, file("edge_feat.dgl", CountFeatures(graph.edges)));
  return bytes;
}

}  // namespace graphd
