// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/tensor.h"

// The description of a distributed tensor, as plain values.

namespace GRAPHD_EXPORT graphd {

// The kind of a tensor's initial values. They are a function of the seed and the row's id alone,
// and do not depend on partitions, threads or the time of first access. Daemons compute them.
enum class InitKind : uint8_t { kConstant, kUniform, kNormal };
// The number of kinds.
inline constexpr uint8_t kInitKinds = 3;

// The rule that gives the rows of a new tensor their initial values.
struct Initializer {
  InitKind kind = InitKind::kConstant;
  // kConstant: the value. kUniform: the lower bound, inclusive. kNormal: the mean.
  double a = 0;
  // kUniform: the upper bound, exclusive. kNormal: the standard deviation.
  double b = 0;
  uint64_t seed = 0;
  bool operator==(const Initializer&) const = default;

  // Initialises with 0, for every dtype.
  static Initializer Zeros() noexcept { return {}; }
  // Initialises every element with `value`. The dtype must be float32 or float64, or else an
  // integer or bool that can represent `value` exactly.
  static Initializer Constant(double value) noexcept { return {InitKind::kConstant, value, 0, 0}; }
  // Initialises float32 and float64 tensors uniformly in [low, high).
  static Initializer Uniform(double low, double high, uint64_t seed = 0) noexcept {
    return {InitKind::kUniform, low, high, seed};
  }
  // Initialises float32 and float64 tensors with a normal distribution.
  static Initializer Normal(double mean, double stddev, uint64_t seed = 0) noexcept {
    return {InitKind::kNormal, mean, stddev, seed};
  }
  // Initialises a tensor of this shape as torch.nn.init.xavier_uniform_ does (Glorot and Bengio,
  // "Understanding the difficulty of training deep feedforward neural networks", 2010): fan_in is
  // shape[1] and fan_out is shape[0], both times the product of the later dimensions. Throws
  // Error(kInvalid) if there are fewer than two dimensions.
  static Initializer XavierUniform(const std::vector<int64_t>& shape, uint64_t seed = 0,
                                   double gain = 1);
  // Does the same as torch.nn.init.xavier_normal_.
  static Initializer XavierNormal(const std::vector<int64_t>& shape, uint64_t seed = 0,
                                  double gain = 1);
};

// The way in which rows are distributed over partitions. Matches DGL's PartitionPolicy.
enum class TensorPolicy : uint8_t {
  kNode,   // with the nodes of a type
  kEdge,   // with the edges of a type
  kRange,  // by number: of N rows, partition p of P has the rows from p*N/P to (p+1)*N/P
};
// The number of policies.
inline constexpr uint8_t kTensorPolicies = 3;

// The jobs that may change a persistent tensor. A lease is the right to change it
// (DistTensor::Acquire).
enum class TensorWriters : uint8_t {
  kExclusive,  // one job at a time, which takes a lease with its first write
  kMany,       // every job: daemons apply the changes of all jobs one after another, each row
               // atomically; of several writes the last one wins
};
// The number of values of TensorWriters.
inline constexpr uint8_t kTensorWriters = 2;

// The optimiser state that is stored with each row.
enum class OptimizerState : uint8_t {
  kNone,        // no state
  kAdagrad,     // a sum of squares per element
  kRowAdagrad,  // one sum per row (DGL 0.6's SparseAdagrad)
  kAdam,        // two moments per element, and a count of steps per row
};
// The number of kinds of state.
inline constexpr uint8_t kOptimizerStates = 4;
// Returns "none", "adagrad", "row_adagrad" or "adam".
const char* OptimizerStateName(OptimizerState state) noexcept;

// The description of a distributed tensor.
struct TensorSpec {
  std::string name;         // 1 to 255 bytes, no control characters
  bool persistent = false;  // true: outlives the job; false: ends with the job
  TensorPolicy policy = TensorPolicy::kNode;
  int32_t type = 0;   // id of the node type (kNode) or edge type (kEdge)
  int64_t rows = -1;  // rows of all partitions; -1: as many as the type has
  DType dtype = DType::kFloat32;
  std::vector<int64_t> row_shape;  // dimensions after the first; empty: the tensor is a vector
  Initializer initializer;
  TensorWriters writers = TensorWriters::kExclusive;

  // Returns the number of elements of a row.
  size_t row_elements() const noexcept;
  // Returns the bytes of a row.
  size_t row_bytes() const noexcept { return row_elements() * DTypeSize(dtype); }
  // Returns [rows, row_shape ...].
  std::vector<int64_t> shape() const;
};

// The description and the state of an existing distributed tensor.
struct TensorInfo {
  TensorSpec spec;
  OptimizerState state = OptimizerState::kNone;  // optimiser state
  std::string job_id;                            // job that it belongs to, unless it is persistent
  std::string holder;  // job that has its lease; empty: no job has it, or no lease is needed
};

}  // namespace graphd
