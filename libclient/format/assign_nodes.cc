// SPDX-License-Identifier: Apache-2.0
#include "format/assign_nodes.h"

#include "base/rng.h"
#include "base/strings.h"

namespace graphd {

const char* PartMethodName(PartMethod method) noexcept {
  return method == PartMethod::kMetis ? "metis" : "random";
}

PartMethod PartMethodFromName(const std::string& name) {
  for (PartMethod method : {PartMethod::kMetis, PartMethod::kRandom}) {
    if (name == PartMethodName(method)) return method;
  }
  Throw(ErrorCode::kInvalid, "unknown partition method '", name, "'; there are: metis, random");
}

NodeOwners AssignRandomly(const RawGraph& graph, PartId num_parts, uint64_t seed) {
  NodeOwners owners;
  for (const RawNodes& nodes : graph.nodes) {
    const uint64_t type_key = CombineKeys(seed, owners.size());
    std::vector<PartId> of_type(static_cast<size_t>(nodes.count));
    for (size_t i = 0; i < of_type.size(); i++) {
      CounterRng rng(CombineKeys(type_key, i));
      of_type[i] = static_cast<PartId>(rng.Below(static_cast<uint64_t>(num_parts)));
    }
    owners.push_back(std::move(of_type));
  }
  return owners;
}

NodeOwners AssignNodes(const RawGraph& graph, PartId num_parts, PartMethod method, uint64_t seed) {
  if (num_parts == 1) {
    NodeOwners owners;
    for (const RawNodes& nodes : graph.nodes) owners.emplace_back(nodes.count, 0);
    return owners;
  }
  return method == PartMethod::kMetis ? AssignByMetis(graph, num_parts, seed)
                                      : AssignRandomly(graph, num_parts, seed);
}

}  // namespace graphd
