// SPDX-License-Identifier: Apache-2.0
#include <metis.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/strings.h"
#include "format/assign_nodes.h"

namespace graphd {
namespace {

constexpr int64_t kMaxIndex = std::numeric_limits<idx_t>::max();

// Adjacency of the undirected simple graph, nodes of all types numbered in one sequence.
struct SimpleGraph {
  std::vector<idx_t> offsets, neighbours;
};

std::vector<uint64_t> FirstNodes(const RawGraph& graph) {
  std::vector<uint64_t> first{0};
  for (const RawNodes& nodes : graph.nodes) {
    first.push_back(first.back() + static_cast<uint64_t>(nodes.count));
  }
  return first;
}

// f(u, v) for every stored edge that is no self loop.
template <class F>
void ForEachPair(const RawGraph& graph, const std::vector<uint64_t>& first, F&& f) {
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const uint64_t src = first[static_cast<size_t>(graph.schema.src_type(e))];
    const uint64_t dst = first[static_cast<size_t>(graph.schema.dst_type(e))];
    graph.edges[static_cast<size_t>(e)].ForEachStored([&](size_t, uint64_t u, uint64_t v) {
      if (src + u != dst + v) f(src + u, dst + v);
    });
  }
}

[[noreturn]] void TooLarge(const char* what, uint64_t count) {
  Throw(ErrorCode::kInvalid, "the graph has ", count, " ", what, ", METIS with 32-bit indices ",
        "takes at most ", kMaxIndex, "; use --part_method random");
}

SimpleGraph Simplify(const RawGraph& graph) {
  const std::vector<uint64_t> first = FirstNodes(graph);
  const size_t nodes = first.back();
  if (nodes >= static_cast<size_t>(kMaxIndex)) TooLarge("nodes", nodes);
  std::vector<uint64_t> cursor(nodes + 1, 0);
  ForEachPair(graph, first, [&](uint64_t u, uint64_t v) { cursor[u + 1]++, cursor[v + 1]++; });
  for (size_t i = 0; i < nodes; i++) cursor[i + 1] += cursor[i];

  SimpleGraph simple;
  simple.neighbours.resize(cursor.back());
  ForEachPair(graph, first, [&](uint64_t u, uint64_t v) {
    simple.neighbours[cursor[u]++] = static_cast<idx_t>(v);
    simple.neighbours[cursor[v]++] = static_cast<idx_t>(u);
  });
  // cursor[i] is now the end of node i's list. Repeated neighbours go, and the lists close up.
  simple.offsets.reserve(nodes + 1);
  simple.offsets.push_back(0);
  uint64_t begin = 0, kept = 0;
  for (size_t i = 0; i < nodes; i++) {
    const auto at = [&](uint64_t position) {
      return simple.neighbours.begin() + static_cast<std::ptrdiff_t>(position);
    };
    std::sort(at(begin), at(cursor[i]));
    const auto end = std::unique_copy(at(begin), at(cursor[i]), at(kept));
    begin = cursor[i];
    kept = static_cast<uint64_t>(end - simple.neighbours.begin());
    if (kept > static_cast<uint64_t>(kMaxIndex)) TooLarge("pairs of neighbours or more", kept);
    simple.offsets.push_back(static_cast<idx_t>(kept));
  }
  simple.neighbours.resize(kept);
  simple.neighbours.shrink_to_fit();
  return simple;
}

std::vector<idx_t> RunMetis(SimpleGraph& simple, PartId num_parts, uint64_t seed) {
  auto nodes = static_cast<idx_t>(simple.offsets.size() - 1);
  std::vector<idx_t> owner(static_cast<size_t>(nodes));
  if (nodes <= idx_t{4} * num_parts || simple.neighbours.empty()) {
    for (size_t i = 0; i < owner.size(); i++) {
      owner[i] = static_cast<idx_t>(i * static_cast<size_t>(num_parts) / owner.size());
    }
    return owner;
  }
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = static_cast<idx_t>(seed & 0x7fffffff);
  options[METIS_OPTION_NUMBERING] = 0;
  idx_t constraints = 1, parts = num_parts, cut = 0;
  const int status = METIS_PartGraphKway(&nodes, &constraints, simple.offsets.data(),
                                         simple.neighbours.data(), nullptr, nullptr, nullptr,
                                         &parts, nullptr, nullptr, options, &cut, owner.data());
  if (status == METIS_ERROR_MEMORY) {
    Throw(ErrorCode::kOverloaded, "METIS has too little memory for ", nodes, " nodes and ",
          simple.neighbours.size() / 2, " pairs of neighbours; use --part_method random");
  }
  if (status != METIS_OK) {
    Throw(ErrorCode::kInternal, "METIS failed with status ", status, "; use --part_method random");
  }
  return owner;
}

}  // namespace

NodeOwners AssignByMetis(const RawGraph& graph, PartId num_parts, uint64_t seed) {
  SimpleGraph simple = Simplify(graph);
  const std::vector<idx_t> owner = RunMetis(simple, num_parts, seed);
  NodeOwners owners;
  auto next = owner.begin();
  for (const RawNodes& nodes : graph.nodes) {
    owners.emplace_back(next, next + nodes.count);
    next += nodes.count;
  }
  return owners;
}

}  // namespace graphd
