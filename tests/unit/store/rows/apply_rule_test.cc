// SPDX-License-Identifier: Apache-2.0
#include "store/rows/apply_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "graphd/error.h"

namespace graphd::store {
namespace {

constexpr size_t kRuleElements = 19;

// Random gradients, the same for rule and reference.
class Gradients {
 public:
  std::vector<float> Next() {
    std::vector<float> all(kRuleElements);
    for (float& g : all) g = static_cast<float>(rng_.Below(2001)) / 1000 - 1;
    return all;
  }

 private:
  CounterRng rng_{3};
};

// Compares ten steps of the rule with `reference(gradient, w)`, which computes in double precision.
template <class Reference>
void ExpectSteps(const UpdateRule& rule, OptimizerState kind, Reference reference) {
  std::vector<float> row(kRuleElements, 0.5F), state(StateFloats(kind, kRuleElements));
  std::vector<double> wanted(kRuleElements, 0.5);
  Gradients gradients;
  for (int step = 0; step < 10; step++) {
    const std::vector<float> gradient = gradients.Next();
    Step(rule, kRuleElements, gradient.data(), row.data(), state.data());
    reference(gradient, wanted);
    for (size_t i = 0; i < kRuleElements; i++) {
      EXPECT_NEAR(row[i], wanted[i], 1e-6) << "step " << step << ", element " << i;
    }
  }
}

TEST(UpdateRule, AdagradKeepsTheSumOfSquares) {
  // DGL's rule is documented to give these numbers, but its CPU implementation does not.
  float w = 0, state = 0;
  for (const float g : {2.0F, 3.0F, 4.0F}) {
    const UpdateRule rule{UpdateKind::kAdagrad, 1, 1.0F, 1e-10F, 0, 0, 0};
    Step(rule, 1, &g, &w, &state);
  }
  EXPECT_FLOAT_EQ(state, 29);
  EXPECT_NEAR(w, -2.5748, 1e-4);
}

TEST(UpdateRule, AdagradWithDecay) {
  std::vector<double> sums(kRuleElements);
  ExpectSteps({UpdateKind::kAdagrad, 1, 0.1F, 1e-10F, 0, 0, 0.01F}, OptimizerState::kAdagrad,
              [&](const std::vector<float>& gradient, std::vector<double>& w) {
                for (size_t i = 0; i < kRuleElements; i++) {
                  const double g = gradient[i] + double{0.01F} * w[i];
                  sums[i] += g * g;
                  w[i] -= double{0.1F} * g / (std::sqrt(sums[i]) + 1e-10);
                }
              });
}

TEST(UpdateRule, RowAdagradHasOneSumPerRow) {
  double sum = 0;
  ExpectSteps({UpdateKind::kRowAdagrad, 1, 0.1F, 1e-10F, 0, 0, 0}, OptimizerState::kRowAdagrad,
              [&](const std::vector<float>& gradient, std::vector<double>& w) {
                double squares = 0;
                for (const float g : gradient) squares += double{g} * g;
                sum += squares / kRuleElements;
                for (size_t i = 0; i < kRuleElements; i++) {
                  w[i] -= double{0.1F} * gradient[i] / (std::sqrt(sum) + 1e-10);
                }
              });
}

TEST(UpdateRule, AdamCorrectsItsMoments) {
  std::vector<double> mean(kRuleElements), power(kRuleElements);
  int step = 0;
  ExpectSteps({UpdateKind::kAdam, 1, 0.01F, 1e-8F, 0.9F, 0.999F, 0}, OptimizerState::kAdam,
              [&](const std::vector<float>& gradient, std::vector<double>& w) {
                step++;
                const double b1 = double{0.9F}, b2 = double{0.999F};
                for (size_t i = 0; i < kRuleElements; i++) {
                  const double g = gradient[i];
                  mean[i] = b1 * mean[i] + (1 - b1) * g;
                  power[i] = b2 * power[i] + (1 - b2) * g * g;
                  w[i] -= double{0.01F} * (mean[i] / (1 - std::pow(b1, step))) /
                          (std::sqrt(power[i] / (1 - std::pow(b2, step))) + 1e-8);
                }
              });
}

TEST(UpdateRule, SgdWithDecay) {
  ExpectSteps({UpdateKind::kSgd, 1, 0.1F, 0, 0, 0, 0.5F}, OptimizerState::kNone,
              [&](const std::vector<float>& gradient, std::vector<double>& w) {
                for (size_t i = 0; i < kRuleElements; i++) {
                  w[i] -= double{0.1F} * (gradient[i] + 0.5 * w[i]);
                }
              });
}

// The bits must not depend on the processor's vectors, because a log may be replayed on another
// one.
TEST(UpdateRule, GivesTheSameBitsAsOneElementAtATime) {
  Gradients gradients;
  const std::vector<float> g = gradients.Next();
  for (const auto& [kind, state_kind] : {std::pair(UpdateKind::kSgd, OptimizerState::kNone),
                                         std::pair(UpdateKind::kAdagrad, OptimizerState::kAdagrad),
                                         std::pair(UpdateKind::kAdam, OptimizerState::kAdam)}) {
    const UpdateRule rule{kind, 1, 0.03F, 1e-8F, 0.9F, 0.99F, 0.01F};
    for (size_t elements = 1; elements <= g.size(); elements++) {
      std::vector<float> row(elements, 0.37F), state(StateFloats(state_kind, elements));
      std::vector<float> rows(row);
      std::vector<std::vector<float>> states(elements,
                                             std::vector<float>(StateFloats(state_kind, 1)));
      for (int step = 0; step < 3; step++) {
        Step(rule, elements, g.data(), row.data(), state.data());
        for (size_t i = 0; i < elements; i++) {
          Step(rule, 1, g.data() + i, rows.data() + i, states[i].data());
        }
      }
      EXPECT_EQ(row, rows) << elements << " elements";
    }
  }
}

TEST(UpdateRule, IntegersWrap) {
  const int8_t payload = 100;
  int8_t sum = 100;
  AddRow(DType::kInt8, reinterpret_cast<const std::byte*>(&payload),
         std::as_writable_bytes(std::span(&sum, 1)));
  EXPECT_EQ(sum, -56);
}

TEST(UpdateRule, RejectsUnsuitableRules) {
  const auto refused = [](UpdateRule rule, DType dtype, OptimizerState state) {
    EXPECT_THROW(CheckRule(rule, dtype, state), Error);
  };
  UpdateRule adagrad{.kind = UpdateKind::kAdagrad};
  EXPECT_NO_THROW(CheckRule(adagrad, DType::kFloat32, OptimizerState::kAdagrad));
  refused(adagrad, DType::kFloat32, OptimizerState::kNone);
  refused(adagrad, DType::kFloat32, OptimizerState::kAdam);
  refused(adagrad, DType::kFloat64, OptimizerState::kNone);
  adagrad.lr = NAN;
  refused(adagrad, DType::kFloat32, OptimizerState::kAdagrad);
  adagrad.lr = 1;
  adagrad.eps = -1;
  refused(adagrad, DType::kFloat32, OptimizerState::kAdagrad);
  refused({.kind = UpdateKind::kAdam, .beta2 = 1}, DType::kFloat32, OptimizerState::kAdam);
  refused({.kind = UpdateKind::kAdd}, DType::kBool, OptimizerState::kNone);
  refused({.kind = static_cast<UpdateKind>(kUpdateKinds)}, DType::kFloat32, OptimizerState::kNone);
  EXPECT_NO_THROW(CheckRule({.kind = UpdateKind::kSgd}, DType::kFloat32, OptimizerState::kAdam));
  EXPECT_NO_THROW(CheckRule({.kind = UpdateKind::kSet}, DType::kBool, OptimizerState::kNone));
}

}  // namespace
}  // namespace graphd::store
