// SPDX-License-Identifier: Apache-2.0
#include "format/native/storage_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/index.h"
#include "base/strings.h"
#include "format/native/encoder.h"

namespace graphd {
namespace {

// The arguments of --store_as, and which of them some feature has matched.
class StoreAs {
 public:
  explicit StoreAs(const std::vector<std::string>& arguments) {
    for (const std::string& argument : arguments) {
      const size_t end = argument.rfind('=');
      if (end == std::string::npos || end == 0 || end + 1 == argument.size()) {
        Throw(ErrorCode::kInvalid, "--store_as ", argument, ", expected [TYPE/]NAME=DTYPE");
      }
      try {
        entries_.push_back(
            {argument, argument.substr(0, end), DTypeFromName(argument.substr(end + 1)), false});
      } catch (const Error&) {
        Throw(ErrorCode::kInvalid, "--store_as ", argument,
              ": expected float16, bfloat16 or int8 behind the '='");
      }
    }
  }

  std::optional<DType> Find(const std::string& type, const std::string& name) {
    features_.push_back(type + "/" + name);
    std::optional<DType> found;
    for (Entry& entry : entries_) {
      if (entry.feature != name && entry.feature != features_.back()) continue;
      entry.matched = true;
      found = entry.dtype;
    }
    return found;
  }

  // Throws if an argument has matched no feature.
  void CheckAllMatched() const {
    for (const Entry& entry : entries_) {
      if (entry.matched) continue;
      Throw(ErrorCode::kInvalid, "--store_as ", entry.argument, ": no type has the feature '",
            entry.feature, "'; there are: ", features_.empty() ? "none" : Join(features_, ", "));
    }
  }

 private:
  struct Entry {
    std::string argument, feature;
    DType dtype;
    bool matched;
  };
  std::vector<Entry> entries_;
  std::vector<std::string> features_;
};

std::vector<Encoding> EncodingsOf(const std::vector<RawFeature>& features, const std::string& type,
                                  StoreAs& store_as) {
  std::vector<Encoding> encodings;
  for (const RawFeature& feature : features) {
    const std::optional<DType> wanted = store_as.Find(type, feature.name);
    const std::string what = "feature '" + feature.name + "' of '" + type + "'";
    encodings.push_back(wanted ? EncodingFor(feature.values, *wanted, what)
                               : NarrowestEncoding(feature.values));
  }
  return encodings;
}

// Returns the encoding of the original ids of `count` objects, of which the last `count` - `stored`
// are reverse edges. Without `orig_id`, their original ids are 0 .. count - 1.
Encoding GivenIdEncoding(const std::optional<Tensor>& orig_id, int64_t count, int64_t stored) {
  if (!orig_id) return OrigIdEncoding(count);
  const auto ids = orig_id->as<int64_t>();
  if (ids.empty()) return Encoding::Plain(DType::kInt64);
  const auto [least, most] = std::minmax_element(ids.begin(), ids.end());
  return NarrowestEncoding(DType::kInt64, *least, *most + (count > stored ? stored : 0));
}

}  // namespace

Encoding OrigIdEncoding(int64_t count) {
  return NarrowestEncoding(DType::kInt64, 0, std::max<int64_t>(count - 1, 0));
}

StoragePlan MakeStoragePlan(const RawGraph& graph, const StorageOptions& options) {
  StoreAs store_as(options.store_as);
  StoragePlan plan;
  plan.edge_orig_id = options.edge_orig_id;
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    const RawNodes& nodes = graph.nodes[Index(t)];
    plan.node_features.push_back(EncodingsOf(nodes.features, graph.schema.ntype(t), store_as));
    plan.node_orig_ids.push_back(GivenIdEncoding(nodes.orig_id, nodes.count, nodes.count));
  }
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const RawEdges& edges = graph.edges[Index(e)];
    plan.edge_features.push_back(
        EncodingsOf(edges.features, graph.schema.etype(e).ToString(), store_as));
    plan.edge_orig_ids.push_back(GivenIdEncoding(edges.orig_id, edges.count(), edges.stored()));
  }
  store_as.CheckAllMatched();
  return plan;
}

}  // namespace graphd
