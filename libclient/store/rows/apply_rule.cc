// SPDX-License-Identifier: Apache-2.0
#include "store/rows/apply_rule.h"

#include <cmath>

#include "base/processor.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

const char* KindName(UpdateKind kind) {
  switch (kind) {
    case UpdateKind::kSet:
      return "set";
    case UpdateKind::kAdd:
      return "add";
    case UpdateKind::kSgd:
      return "SGD";
    case UpdateKind::kAdagrad:
      return "Adagrad";
    case UpdateKind::kRowAdagrad:
      return "row-wise Adagrad";
    case UpdateKind::kAdam:
      return "Adam";
    case UpdateKind::kLoad:
      return "load";
  }
  return "?";
}

// Returns the mean of squares of the gradient with weight decay. Uses eight running sums, so that
// the compiler may use vectors without changing the result.
__attribute__((always_inline)) inline float MeanOfSquares(const float* gradient, const float* value,
                                                          float decay, size_t elements) {
  float sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= elements; i += 8) {
    for (size_t k = 0; k < 8; k++) {
      const float g = gradient[i + k] + decay * value[i + k];
      sums[k] += g * g;
    }
  }
  for (size_t k = 0; i < elements; i++, k++) {
    const float g = gradient[i] + decay * value[i];
    sums[k] += g * g;
  }
  const float sum =
      ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  return sum / static_cast<float>(elements);
}

__attribute__((always_inline)) inline void Adam(const UpdateRule& rule, size_t elements,
                                                const float* __restrict gradient,
                                                float* __restrict value, float* __restrict state) {
  float* __restrict mean = state;
  float* __restrict power = state + elements;
  float& step = state[2 * elements];
  step += 1;
  // Near 1, powers of beta2 in float32 would lose most digits of 1 - beta2^step.
  const float mean_scale = static_cast<float>(1 / (1 - std::pow(double{rule.beta1}, double{step})));
  const float power_scale =
      static_cast<float>(1 / (1 - std::pow(double{rule.beta2}, double{step})));
  for (size_t i = 0; i < elements; i++) {
    const float g = gradient[i] + rule.weight_decay * value[i];
    mean[i] = rule.beta1 * mean[i] + (1 - rule.beta1) * g;
    power[i] = rule.beta2 * power[i] + (1 - rule.beta2) * g * g;
    value[i] -= rule.lr * (mean[i] * mean_scale) / (std::sqrt(power[i] * power_scale) + rule.eps);
  }
}

__attribute__((always_inline)) inline void StepWith(const UpdateRule& rule, size_t elements,
                                                    const float* __restrict gradient,
                                                    float* __restrict value,
                                                    float* __restrict state) {
  const float decay = rule.weight_decay;
  switch (rule.kind) {
    case UpdateKind::kSgd:
      for (size_t i = 0; i < elements; i++) {
        value[i] -= rule.lr * (gradient[i] + decay * value[i]);
      }
      return;
    case UpdateKind::kAdagrad:
      for (size_t i = 0; i < elements; i++) {
        const float g = gradient[i] + decay * value[i];
        state[i] += g * g;
        value[i] -= rule.lr * g / (std::sqrt(state[i]) + rule.eps);
      }
      return;
    case UpdateKind::kRowAdagrad: {
      state[0] += MeanOfSquares(gradient, value, decay, elements);
      const float scale = rule.lr / (std::sqrt(state[0]) + rule.eps);
      for (size_t i = 0; i < elements; i++) {
        value[i] -= scale * (gradient[i] + decay * value[i]);
      }
      return;
    }
    case UpdateKind::kAdam:
      Adam(rule, elements, gradient, value, state);
      return;
    case UpdateKind::kSet:
    case UpdateKind::kAdd:
    case UpdateKind::kLoad:
      return;
  }
}

// Does the same as StepWith for eight elements at once, with the same operations in the same order,
// so that the results are identical bit for bit.
__attribute__((target("avx2"))) void StepBy8(const UpdateRule& rule, size_t elements,
                                             const float* gradient, float* value, float* state) {
  StepWith(rule, elements, gradient, value, state);
}

template <class T>
void AddElements(const std::byte* payload, std::byte* value, size_t count) {
  const T* more = reinterpret_cast<const T*>(payload);
  T* sum = reinterpret_cast<T*>(value);
  for (size_t i = 0; i < count; i++) {
    if constexpr (std::is_integral_v<T>) {  // wraps, as NumPy's and torch's integers do
      using Unsigned = std::make_unsigned_t<T>;
      sum[i] = static_cast<T>(
          static_cast<Unsigned>(static_cast<Unsigned>(sum[i]) + static_cast<Unsigned>(more[i])));
    } else {
      sum[i] += more[i];
    }
  }
}

}  // namespace

void CheckRule(const UpdateRule& rule, DType dtype, OptimizerState state) {
  if (static_cast<uint8_t>(rule.kind) >= kUpdateKinds) {
    Throw(ErrorCode::kInvalid, "unknown kind of update ", static_cast<int>(rule.kind));
  }
  if (rule.kind == UpdateKind::kSet || rule.kind == UpdateKind::kLoad) return;
  if (rule.kind == UpdateKind::kAdd) {
    if (dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kBool) {
      Throw(ErrorCode::kInvalid, "rows of ", DTypeName(dtype),
            " can't be added to; write whole rows instead");
    }
    return;
  }
  if (dtype != DType::kFloat32) {
    Throw(ErrorCode::kInvalid, KindName(rule.kind), " is for rows of float32, not ",
          DTypeName(dtype));
  }
  OptimizerState wanted = OptimizerState::kNone;
  if (rule.kind == UpdateKind::kAdagrad) wanted = OptimizerState::kAdagrad;
  if (rule.kind == UpdateKind::kRowAdagrad) wanted = OptimizerState::kRowAdagrad;
  if (rule.kind == UpdateKind::kAdam) wanted = OptimizerState::kAdam;
  if (wanted != state && rule.kind != UpdateKind::kSgd) {
    Throw(ErrorCode::kInvalid, KindName(rule.kind), " needs a table with state '",
          OptimizerStateName(wanted), "'; this one has '", OptimizerStateName(state), "'");
  }
  const bool finite = std::isfinite(rule.lr) && std::isfinite(rule.weight_decay);
  if (!finite || !(rule.eps >= 0) || !(rule.beta1 >= 0 && rule.beta1 < 1) ||
      !(rule.beta2 >= 0 && rule.beta2 < 1)) {
    Throw(ErrorCode::kInvalid, KindName(rule.kind), " with lr ", rule.lr, ", eps ", rule.eps,
          ", betas ", rule.beta1, " and ", rule.beta2, ", weight decay ", rule.weight_decay,
          ": they must be finite, eps not negative, betas in [0, 1)");
  }
}

void Step(const UpdateRule& rule, size_t elements, const float* gradient, float* value,
          float* state) {
  if (kVectorBits >= 256) return StepBy8(rule, elements, gradient, value, state);
  StepWith(rule, elements, gradient, value, state);
}

void AddRow(DType dtype, const std::byte* payload, std::span<std::byte> value) {
  const size_t count = value.size() / DTypeSize(dtype);
  switch (dtype) {
    case DType::kFloat32:
      return AddElements<float>(payload, value.data(), count);
    case DType::kFloat64:
      return AddElements<double>(payload, value.data(), count);
    case DType::kUInt8:
      return AddElements<uint8_t>(payload, value.data(), count);
    case DType::kInt8:
      return AddElements<int8_t>(payload, value.data(), count);
    case DType::kInt16:
      return AddElements<int16_t>(payload, value.data(), count);
    case DType::kInt32:
      return AddElements<int32_t>(payload, value.data(), count);
    case DType::kInt64:
      return AddElements<int64_t>(payload, value.data(), count);
    case DType::kUInt16:
      return AddElements<uint16_t>(payload, value.data(), count);
    case DType::kUInt32:
      return AddElements<uint32_t>(payload, value.data(), count);
    case DType::kUInt64:
      return AddElements<uint64_t>(payload, value.data(), count);
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kBool:
      return;
  }
}

}  // namespace graphd::store
