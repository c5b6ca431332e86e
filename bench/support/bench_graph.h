// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "graphd/dist_graph.h"
#include "graphd/tensor_spec.h"

namespace graphd::bench {

// The parameters of a random graph.
struct Shape {
  int64_t nodes;        // nodes of each type
  int64_t degree;       // in-edges per node and edge type that ends in its type
  int32_t ntypes = 1;   // one type of each: homogeneous
  int32_t etypes = 1;   // type e leads from node type e % ntypes to e / ntypes % ntypes
  bool weights = true;  // edge feature "weight" of all types: float, whole numbers from 1 to 10
  int64_t hubs = 0;     // number of nodes per type with in-edges; 0: all

  size_t etype_edges() const { return static_cast<size_t>((hubs ? hubs : nodes) * degree); }
  // Returns the bytes of all edges' sources, the table that samplers read at random.
  size_t table_bytes() const { return etype_edges() * static_cast<size_t>(etypes) * 4; }
  auto operator<=>(const Shape&) const = default;
};

// The sources of the small graphs fit a cache, those of the large ones don't; the hubs have 200,000
// edges each.
inline constexpr Shape kSmall{20000, 50}, kLarge{1500000, 50};
inline constexpr Shape kTypedSmall{1000, 20, 4, 32}, kTypedLarge{100000, 20, 4, 32};
inline constexpr Shape kHubs{200000, 200000, 1, 1, true, 50};
// Return the graph of one partition, as standalone mode opens it; created once per shape and kept.
const Partition& LocalPartition(const Shape& shape);
const DistGraph& LocalGraph(const Shape& shape);

// Returns the spec of a tensor "sums" of floats to whose rows several trainers may add.
TensorSpec SumsSpec(int64_t rows, int64_t columns);

std::vector<int64_t> RandomIds(size_t count, int64_t below, uint64_t seed);

// The distribution of the ends of edges: uniform, or R-MAT's (Chakrabarti, Zhan and Faloutsos,
// 2004) with the parameters of Graph500, whose degrees follow a power law.
enum class Ends { kUniform, kPowerLaw };

// A homogeneous graph with node features "feat", written to a temporary directory and served by a
// graphd process with the additional arguments. Both are removed with the object. Tensors are
// stored in the directory.
class ServedGraph {
 public:
  // `store_as` as in StorageOptions.
  ServedGraph(int64_t nodes, int64_t degree, int64_t columns,
              const std::vector<std::string>& arguments = {}, Ends ends = Ends::kUniform,
              const std::vector<std::string>& store_as = {});
  ~ServedGraph();
  ServedGraph(const ServedGraph&) = delete;
  ServedGraph& operator=(const ServedGraph&) = delete;
  Options ClientOptions(Transport transport) const;
  pid_t pid() const noexcept { return pid_; }
  uint16_t port() const noexcept { return port_; }  // on loopback
  const std::string& directory() const noexcept { return directory_; }
  // Kills the process with SIGKILL, starts another one and waits until it serves.
  void KillAndStartAgain();

 private:
  void Start();

  std::string directory_, ip_config_, socket_;
  std::vector<std::string> words_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace graphd::bench
