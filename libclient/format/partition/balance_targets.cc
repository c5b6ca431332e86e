// SPDX-License-Identifier: Apache-2.0
#include "format/partition/balance_targets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/file.h"
#include "base/strings.h"
#include "format/partition/node_integers.h"
#include "format/partition/node_sequence.h"

namespace graphd {
namespace {

constexpr size_t kMaxClasses = 1024;

// The split of a node type into classes.
struct TypeSplit {
  std::string name;  // name of the feature or file
  std::vector<int64_t> values;
};

template <class T>
std::vector<int64_t> Widen(const Tensor& values) {
  const auto from = values.as<T>();
  return {from.begin(), from.end()};
}

std::vector<int64_t> FeatureClasses(const RawFeature& feature, const std::string& ntype) {
  const Tensor& values = feature.values;
  if (values.num_elements() == values.num_rows()) {
    switch (values.dtype()) {
      case DType::kBool:
        return Widen<bool>(values);
      case DType::kUInt8:
        return Widen<uint8_t>(values);
      case DType::kInt8:
        return Widen<int8_t>(values);
      case DType::kInt16:
        return Widen<int16_t>(values);
      case DType::kInt32:
        return Widen<int32_t>(values);
      case DType::kInt64:
        return Widen<int64_t>(values);
      case DType::kUInt16:
        return Widen<uint16_t>(values);
      case DType::kUInt32:
        return Widen<uint32_t>(values);
      default:
        break;
    }
  }
  Throw(ErrorCode::kInvalid, "--balance_ntypes: feature '", feature.name, "' of node type '", ntype,
        "' is ", DTypeName(values.dtype()), " with ", values.num_elements(), " numbers for ",
        values.num_rows(), " nodes; expected one integer for each");
}

const RawFeature* FindFeature(const RawNodes& nodes, const std::string& name) {
  for (const RawFeature& feature : nodes.features) {
    if (feature.name == name) return &feature;
  }
  return nullptr;
}

class Splits {
 public:
  explicit Splits(const RawGraph& graph) : graph_(graph), splits_(graph.nodes.size()) {}

  const std::optional<TypeSplit>& of(size_t type) const { return splits_[type]; }

  // Adds an argument: "FEATURE", "TYPE/FEATURE", "PATH" or "TYPE=PATH".
  void Add(const std::string& argument) {
    if (AddFeature(argument) || AddFile(argument)) return;
    std::vector<std::string> names;
    for (size_t t = 0; t < graph_.nodes.size(); t++) {
      for (const RawFeature& feature : graph_.nodes[t].features) {
        names.push_back(TypeName(t) + "/" + feature.name);
      }
    }
    Throw(ErrorCode::kNotFound, "--balance_ntypes ", argument,
          ": there is no such node feature or file; there are: ",
          names.empty() ? "none" : Join(names, ", "));
  }

 private:
  std::string TypeName(size_t type) const {
    return graph_.schema.ntype(static_cast<NodeTypeId>(type));
  }

  void Set(size_t type, TypeSplit split) {
    if (splits_[type]) {
      Throw(ErrorCode::kInvalid, "--balance_ntypes splits node type '", TypeName(type),
            "' twice: by ", splits_[type]->name, " and by ", split.name);
    }
    splits_[type] = std::move(split);
  }

  bool AddFeature(const std::string& argument) {
    bool found = false;
    for (size_t t = 0; t < graph_.nodes.size(); t++) {
      const std::string prefix = TypeName(t) + "/";
      for (const std::string& name :
           {argument, argument.starts_with(prefix) ? argument.substr(prefix.size()) : ""}) {
        const RawFeature* feature = FindFeature(graph_.nodes[t], name);
        if (!feature || name.empty()) continue;
        Set(t, {feature->name, FeatureClasses(*feature, TypeName(t))});
        found = true;
      }
    }
    return found;
  }

  bool AddFile(const std::string& argument) {
    size_t type = 0;
    std::string path = argument;
    const size_t equals = argument.find('=');
    if (!FileExists(argument) && equals != argument.npos) {
      type = static_cast<size_t>(graph_.schema.NodeTypeIdOf(argument.substr(0, equals)));
      path = argument.substr(equals + 1);
    } else if (!FileExists(argument)) {
      return false;
    } else if (graph_.nodes.size() > 1) {
      Throw(ErrorCode::kInvalid, "--balance_ntypes ", argument, ": the graph has ",
            graph_.nodes.size(), " node types; give TYPE=", argument);
    }
    Set(type,
        {path, ReadNodeIntegers(path, graph_.nodes[type].count, std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max(), "class")});
    return true;
  }

  const RawGraph& graph_;
  std::vector<std::optional<TypeSplit>> splits_;
};

// Appends the classes of a type and returns the class of each node; empty if it has one class.
std::vector<uint32_t> AddClasses(const TypeSplit& split, const std::string& ntype,
                                 std::vector<std::string>& classes) {
  std::vector<int64_t> distinct = split.values;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (classes.size() + distinct.size() > kMaxClasses) {
    Throw(ErrorCode::kInvalid, "--balance_ntypes: ", split.name, " of node type '", ntype, "' has ",
          distinct.size(), " values; at most ", kMaxClasses, " classes can be balanced");
  }
  const size_t first = classes.size();
  for (int64_t value : distinct) classes.push_back(StrCat(ntype, "/", split.name, "=", value));
  std::vector<uint32_t> class_of;
  class_of.reserve(split.values.size());
  for (int64_t value : split.values) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin();
    class_of.push_back(static_cast<uint32_t>(first + static_cast<size_t>(at)));
  }
  return class_of;
}

std::vector<uint32_t> InDegrees(const RawGraph& graph, const NodeSequence& sequence) {
  std::vector<uint32_t> degrees(sequence.size(), 0);
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const size_t first = sequence.first(graph.schema.dst_type(e));
    graph.edges[static_cast<size_t>(e)].ForEach([&](size_t, uint64_t, uint64_t v) {
      uint32_t& degree = degrees[first + v];
      if (degree < std::numeric_limits<uint32_t>::max()) degree++;
    });
  }
  return degrees;
}

}  // namespace

BalanceTargets FindBalanceTargets(const RawGraph& graph, const AssignOptions& options) {
  Splits splits(graph);
  for (const std::string& argument : options.balance_ntypes) splits.Add(argument);
  const NodeSequence sequence(graph);
  BalanceTargets targets;
  for (size_t t = 0; t < graph.nodes.size(); t++) {
    const auto count = static_cast<size_t>(graph.nodes[t].count);
    const std::string& ntype = graph.schema.ntype(static_cast<NodeTypeId>(t));
    if (count == 0) continue;
    if (splits.of(t)) {
      const std::vector<uint32_t> classes = AddClasses(*splits.of(t), ntype, targets.classes);
      targets.class_of.insert(targets.class_of.end(), classes.begin(), classes.end());
    } else {
      // A graph of one class needs no list.
      if (count < sequence.size()) {
        targets.class_of.insert(targets.class_of.end(), count,
                                static_cast<uint32_t>(targets.classes.size()));
      }
      targets.classes.push_back(ntype);
    }
  }
  if (targets.classes.size() <= 1) targets.class_of = {};
  if (options.balance_edges) targets.in_degrees = InDegrees(graph, sequence);
  return targets;
}

std::vector<ClassShares> CountClasses(const RawGraph& graph, const AssignOptions& options,
                                      const NodeOwners& owners) {
  if (options.balance_ntypes.empty()) return {};
  const BalanceTargets targets = FindBalanceTargets(graph, options);
  const auto parts = static_cast<size_t>(options.num_parts);
  std::vector<ClassShares> shares;
  for (const std::string& name : targets.classes) {
    shares.push_back({name, std::vector<int64_t>(parts, 0), {}});
    if (options.balance_edges) shares.back().edges.assign(parts, 0);
  }
  size_t node = 0;
  for (const auto& of_type : owners) {
    for (PartId owner : of_type) {
      const auto p = static_cast<size_t>(owner);
      ClassShares& of_class = shares[targets.ClassOf(node)];
      of_class.nodes[p]++;
      if (options.balance_edges) of_class.edges[p] += targets.in_degrees[node];
      node++;
    }
  }
  return shares;
}

uint64_t PartitionRoom(uint64_t total, size_t parts) noexcept {
  const double share = static_cast<double>(total) / static_cast<double>(parts);
  return static_cast<uint64_t>(std::max(std::ceil(share), std::floor(kMaxImbalance * share)));
}

double Imbalance(const std::vector<int64_t>& shares) noexcept {
  int64_t sum = 0, largest = 0;
  for (int64_t share : shares) {
    sum += share;
    largest = std::max(largest, share);
  }
  if (sum == 0) return 1;
  return static_cast<double>(largest) * static_cast<double>(shares.size()) /
         static_cast<double>(sum);
}

}  // namespace graphd
