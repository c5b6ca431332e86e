// SPDX-License-Identifier: Apache-2.0
#include "bench/push_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/huge_array.h"
#include "base/rng.h"

namespace graphd::bench {

using namespace graphd::store;

std::vector<std::vector<int64_t>> DrawRows(bool zipf) {
  CounterRng rng(5);
  std::vector<std::vector<int64_t>> pushes(kPushes);
  for (std::vector<int64_t>& rows : pushes) {
    for (size_t i = 0; i < kPushRows; i++) {
      uint64_t row = rng.Below(kTableRows);
      if (zipf) {
        const double u = static_cast<double>(rng.Next() >> 11) * 0x1p-53;
        row = static_cast<uint64_t>(std::exp(u * std::log(static_cast<double>(kTableRows))));
        row = Mix64(row) % kTableRows;
      }
      rows.push_back(static_cast<int64_t>(row));
    }
  }
  return pushes;
}

const std::vector<float>& Gradients() {
  static const std::vector<float> gradients = [] {
    CounterRng rng(7);
    std::vector<float> all(kPushRows * kElements);
    for (float& g : all) g = static_cast<float>(rng.Below(2001)) / 1000 - 1;
    return all;
  }();
  return gradients;
}

UpdateRule RuleOf(OptimizerState state) {
  return {.kind = state == OptimizerState::kAdam ? UpdateKind::kAdam : UpdateKind::kAdagrad};
}

std::string MemoryDirectory() {
  const char* wanted = std::getenv("GRAPHD_BENCH_MEMORY");
  return wanted != nullptr ? wanted : "/dev/shm";
}

double CpuSeconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

namespace {

// One pass over all pushes.
LoopCost PassOver(const std::vector<std::vector<int64_t>>& pushes, const UpdateRule& rule,
                  size_t floats, HugeArray<float>& values, HugeArray<float>& states) {
  const double cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  const auto begin = std::chrono::steady_clock::now();
  for (const std::vector<int64_t>& rows : pushes) {
    for (size_t i = 0; i < kPushRows; i++) {
      if (i + 4 < kPushRows) {
        const auto ahead = static_cast<size_t>(rows[i + 4]);
        for (size_t k = 0; k < kElements; k += 16) {
          __builtin_prefetch(values.data() + ahead * kElements + k);
        }
        for (size_t k = 0; k < floats; k += 16) {
          __builtin_prefetch(states.data() + ahead * floats + k);
        }
      }
      Step(rule, kElements, Gradients().data() + i * kElements,
           values.data() + static_cast<size_t>(rows[i]) * kElements,
           states.data() + static_cast<size_t>(rows[i]) * floats);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double rows = kPushes * kPushRows;
  return {rows / took.count(), (CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu) / rows};
}

}  // namespace

LoopCost MeasureLoop(OptimizerState state, bool zipf) {
  const size_t floats = StateFloats(state, kElements);
  HugeArray<float> values(static_cast<size_t>(kTableRows) * kElements, "values");
  HugeArray<float> states(static_cast<size_t>(kTableRows) * floats, "state");
  std::fill_n(values.data(), values.size(), 1.0F);
  std::fill_n(states.data(), states.size(), 0.0F);
  std::vector<std::vector<int64_t>> pushes = DrawRows(zipf);
  for (auto& rows : pushes) std::sort(rows.begin(), rows.end());
  std::vector<LoopCost> passes;
  for (int i = 0; i < 7; i++) {
    passes.push_back(PassOver(pushes, RuleOf(state), floats, values, states));
  }
  const auto slower = [](const LoopCost& a, const LoopCost& b) {
    return a.rows_per_second < b.rows_per_second;
  };
  std::nth_element(passes.begin(), passes.begin() + 3, passes.end(), slower);
  return passes[3];
}

}  // namespace graphd::bench
