// SPDX-License-Identifier: Apache-2.0
#include "format/partition/assign_nodes.h"

#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

constexpr std::pair<PartMethod, const char*> kMethods[] = {
    {PartMethod::kMetis, "metis"},
    {PartMethod::kRandom, "random"},
    {PartMethod::kHash, "hash"},
    {PartMethod::kFile, "file"},
    {PartMethod::kLdg, "ldg"},
    {PartMethod::kFennel, "fennel"},
    {PartMethod::kMultilevel, "multilevel"},
};

bool LooksAtEdges(PartMethod method) {
  return method == PartMethod::kMetis || method == PartMethod::kLdg ||
         method == PartMethod::kFennel || method == PartMethod::kMultilevel;
}

NodeOwners Assign(const RawGraph& graph, const AssignOptions& options,
                  const StepProgress& progress) {
  switch (options.method) {
    case PartMethod::kFile:
      return AssignByFile(graph, options);
    case PartMethod::kMetis:
      return AssignByMetis(graph, options, progress);
    case PartMethod::kLdg:
    case PartMethod::kFennel:
      return AssignByStream(graph, options, progress);
    case PartMethod::kMultilevel:
      return AssignByMultilevel(graph, options, progress);
    case PartMethod::kRandom:
    case PartMethod::kHash:
      break;
  }
  return AssignRandomly(graph, options.num_parts, options.seed);
}

// Returns the partition of each node. As in DGL, a partition is the union of one machine's
// trainers.
NodeOwners OwnersOf(const NodeOwners& trainers, int per_machine) {
  NodeOwners owners = trainers;
  for (auto& of_type : owners) {
    for (PartId& owner : of_type) owner = owner / per_machine;
  }
  return owners;
}

}  // namespace

const char* PartMethodName(PartMethod method) noexcept {
  for (const auto& [candidate, name] : kMethods) {
    if (candidate == method) return name;
  }
  return "unknown";
}

PartMethod PartMethodFromName(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [method, candidate] : kMethods) {
    if (name == candidate) return method;
    names.emplace_back(candidate);
  }
  Throw(ErrorCode::kInvalid, "unknown partition method '", name,
        "'; there are: ", Join(names, ", "));
}

Objective ObjectiveFromName(const std::string& name) {
  if (name == "cut") return Objective::kCut;
  if (name == "vol") return Objective::kVolume;
  Throw(ErrorCode::kInvalid, "unknown objective '", name, "'; there are: cut, vol");
}

void CheckAssignOptions(const AssignOptions& options) {
  const auto contradicts = [&](const char* option, const char* needed) {
    Throw(ErrorCode::kInvalid, option, " needs --part_method ", needed, ", not ",
          PartMethodName(options.method));
  };
  if (options.num_parts < 1 || options.num_parts > kMaxParts) {
    Throw(ErrorCode::kInvalid, "--num_parts ", options.num_parts, " is outside 1..", kMaxParts);
  }
  const int trainers = options.num_trainers_per_machine;
  if (trainers < 1 || trainers > kMaxParts / options.num_parts) {
    Throw(ErrorCode::kInvalid, "--num_trainers_per_machine ", trainers, " is outside 1..",
          kMaxParts / options.num_parts, "; partitions times trainers may be ", kMaxParts,
          " at most");
  }
  const bool by_file = options.method == PartMethod::kFile;
  if (!options.assignment.empty() && !by_file) contradicts("--assignment", "file");
  if (options.assignment.empty() && by_file) {
    Throw(ErrorCode::kInvalid, "--part_method file needs --assignment: the files with the ",
          "partition of each node");
  }
  const char* balancing = "metis, ldg, fennel or multilevel";
  if (!LooksAtEdges(options.method)) {
    if (!options.balance_ntypes.empty()) contradicts("--balance_ntypes", balancing);
    if (options.balance_edges) contradicts("--balance_edges", balancing);
  }
  if (options.method != PartMethod::kMetis) {
    if (!options.edge_weights.empty()) contradicts("--edge_weights", "metis");
    if (options.objective != Objective::kCut) contradicts("--objtype vol", "metis");
  }
  if (!options.edge_weights.empty() && options.objective == Objective::kVolume) {
    Throw(ErrorCode::kInvalid,
          "--edge_weights with --objtype vol: METIS's volume objective does not "
          "support edge weights; drop one of the two");
  }
}

NodeOwners AssignRandomly(const RawGraph& graph, int32_t num_parts, uint64_t seed) {
  NodeOwners owners;
  for (const RawNodes& nodes : graph.nodes) {
    const RandomAssignment assignment(seed, owners.size(), num_parts);
    std::vector<PartId> of_type(static_cast<size_t>(nodes.count));
    for (size_t i = 0; i < of_type.size(); i++) of_type[i] = assignment.OwnerOf(i);
    owners.push_back(std::move(of_type));
  }
  return owners;
}

Assignment AssignNodes(const RawGraph& graph, const AssignOptions& options,
                       const StepProgress& progress) {
  CheckAssignOptions(options);
  const int per_machine = options.num_trainers_per_machine;
  AssignOptions all = options;
  all.num_parts *= per_machine;
  Assignment assignment;
  if (all.num_parts == 1 && options.method != PartMethod::kFile) {
    for (const RawNodes& nodes : graph.nodes) assignment.owners.emplace_back(nodes.count, 0);
    return assignment;
  }
  if (progress) progress("assigning nodes to partitions", 0, 1);
  assignment.owners = Assign(graph, all, progress);
  if (progress) progress("assigning nodes to partitions", 1, 1);
  if (per_machine > 1) {
    assignment.trainers = std::move(assignment.owners);
    assignment.owners = OwnersOf(assignment.trainers, per_machine);
  }
  return assignment;
}

}  // namespace graphd
