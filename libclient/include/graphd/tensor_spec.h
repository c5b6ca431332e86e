// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/tensor.h"

// What a distributed tensor is: plain values.

namespace GRAPHD_EXPORT graphd {

// First values of a tensor's rows. They are a function of the seed and the row's id alone, so they
// do not depend on partitions, threads, or when the row is first touched. Daemons compute them.
enum class InitKind : uint8_t { kConstant, kUniform, kNormal };
inline constexpr uint8_t kInitKinds = 3;

struct Initializer {
  InitKind kind = InitKind::kConstant;
  double a = 0;  // kConstant: the value. kUniform: [a, b). kNormal: mean a, standard deviation b.
  double b = 0;
  uint64_t seed = 0;
  bool operator==(const Initializer&) const = default;

  // Random values are for float32 and float64; constants also for integers and bool, where they are
  // whole and fit; zero for every dtype.
  static Initializer Zeros() noexcept { return {}; }
  static Initializer Constant(double value) noexcept { return {InitKind::kConstant, value, 0, 0}; }
  static Initializer Uniform(double low, double high, uint64_t seed = 0) noexcept {
    return {InitKind::kUniform, low, high, seed};
  }
  static Initializer Normal(double mean, double stddev, uint64_t seed = 0) noexcept {
    return {InitKind::kNormal, mean, stddev, seed};
  }
  // Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
  // 2010, for a tensor of this shape, as torch.nn.init.xavier_uniform_ and xavier_normal_ have it:
  // fan_in is shape[1], fan_out shape[0], both times the product of the later extents. Throw
  // Error(kInvalid) for fewer than two extents.
  static Initializer XavierUniform(const std::vector<int64_t>& shape, uint64_t seed = 0,
                                   double gain = 1);
  static Initializer XavierNormal(const std::vector<int64_t>& shape, uint64_t seed = 0,
                                  double gain = 1);
};

// How rows are spread over partitions. Matches DGL's PartitionPolicy.
enum class TensorPolicy : uint8_t {
  kNode,   // with the nodes of a type
  kEdge,   // with the edges of a type
  kRange,  // of its own: partition p of P has the rows from p*N/P to (p+1)*N/P
};
inline constexpr uint8_t kTensorPolicies = 3;

// Who may write a persistent tensor.
enum class TensorWriters : uint8_t {
  kExclusive,  // one job at a time, which takes a lease with its first write
  kMany,       // every job: pushes of all are applied one after another, each row's at once; where
               // they set rows, the last one wins
};
inline constexpr uint8_t kTensorWriters = 2;

// What an optimiser keeps beside each row.
enum class OptimizerState : uint8_t {
  kNone,
  kAdagrad,     // a sum of squares per element
  kRowAdagrad,  // one sum per row (DGL 0.6's SparseAdagrad)
  kAdam,        // two moments per element, and a count of steps per row
};
inline constexpr uint8_t kOptimizerStates = 4;
// "none", "adagrad", "row_adagrad", "adam".
const char* OptimizerStateName(OptimizerState state) noexcept;

struct TensorSpec {
  std::string name;         // 1 to 255 bytes, no control characters
  bool persistent = false;  // belongs to the server, and lasts; false: to the job, and ends with it
  TensorPolicy policy = TensorPolicy::kNode;
  int32_t type = 0;   // node or edge type id, by policy
  int64_t rows = -1;  // of all partitions; -1: as many as the type has
  DType dtype = DType::kFloat32;
  std::vector<int64_t> row_shape;  // extents after the first; empty: a vector
  Initializer initializer;
  TensorWriters writers = TensorWriters::kExclusive;

  size_t row_elements() const noexcept;
  size_t row_bytes() const noexcept { return row_elements() * DTypeSize(dtype); }
  // [rows, row_shape ...]
  std::vector<int64_t> shape() const;
};

// A distributed tensor that exists.
struct TensorInfo {
  TensorSpec spec;
  OptimizerState state = OptimizerState::kNone;
  std::string job_id;  // whose it is, unless it is persistent
  std::string holder;  // the job that may write it; empty: nobody has, or every one may
};

}  // namespace graphd
