// SPDX-License-Identifier: Apache-2.0
#include "graphd/tensor_spec.h"

#include <cmath>

#include "base/strings.h"

namespace graphd {
namespace {

// Returns the standard deviation of Glorot's (Xavier) initialisation.
double GlorotDeviation(const std::vector<int64_t>& shape, double gain) {
  if (shape.size() < 2) {
    Throw(ErrorCode::kInvalid, "xavier needs a tensor of at least two dimensions, not ",
          shape.size());
  }
  double field = 1;
  for (size_t d = 2; d < shape.size(); d++) field *= static_cast<double>(shape[d]);
  const double fans = static_cast<double>(shape[0]) + static_cast<double>(shape[1]);
  return gain * std::sqrt(2 / (fans * field));
}

}  // namespace

Initializer Initializer::XavierUniform(const std::vector<int64_t>& shape, uint64_t seed,
                                       double gain) {
  const double bound = std::sqrt(3.0) * GlorotDeviation(shape, gain);
  return Uniform(-bound, bound, seed);
}

Initializer Initializer::XavierNormal(const std::vector<int64_t>& shape, uint64_t seed,
                                      double gain) {
  return Normal(0, GlorotDeviation(shape, gain), seed);
}

const char* OptimizerStateName(OptimizerState state) noexcept {
  switch (state) {
    case OptimizerState::kNone:
      return "none";
    case OptimizerState::kAdagrad:
      return "adagrad";
    case OptimizerState::kRowAdagrad:
      return "row_adagrad";
    case OptimizerState::kAdam:
      return "adam";
  }
  return "?";
}

size_t TensorSpec::row_elements() const noexcept {
  size_t elements = 1;
  for (const int64_t extent : row_shape) elements *= static_cast<size_t>(extent);
  return elements;
}

std::vector<int64_t> TensorSpec::shape() const {
  std::vector<int64_t> all = row_shape;
  all.insert(all.begin(), rows);
  return all;
}

}  // namespace graphd
