// SPDX-License-Identifier: Apache-2.0
#include "bench/store/push_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/huge_array.h"
#include "base/rng.h"
#include "base/row_access.h"

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

// A table and pushes to it.
struct Loop {
  Loop(OptimizerState state, bool zipf)
      : rule(RuleOf(state)),
        floats(StateFloats(state, kElements)),
        drawn(DrawRows(zipf)),
        sorted(drawn),
        values(static_cast<size_t>(kTableRows) * kElements, "values"),
        states(static_cast<size_t>(kTableRows) * floats, "state"),
        pulled(kPushRows * kElements, "pulled rows") {
    std::fill_n(values.data(), values.size(), 1.0F);
    std::fill_n(states.data(), states.size(), 0.0F);
    for (auto& rows : sorted) std::sort(rows.begin(), rows.end());
  }

  void Pull(const std::vector<int64_t>& rows) {
    constexpr size_t kBytes = kElements * sizeof(float), kLines = kBytes / kLine;
    constexpr size_t kAhead = RowsAhead(kBytes);
    const auto row = [&](size_t i) {
      return reinterpret_cast<const std::byte*>(values.data() +
                                                static_cast<size_t>(rows[i]) * kElements);
    };
    for (size_t i = 0; i < kPushRows; i++) {
      if (i + kAhead < kPushRows) PrefetchBytes<kLines>(row(i + kAhead), kBytes);
      CopyRow(row(i), reinterpret_cast<std::byte*>(pulled.data() + i * kElements), kBytes);
    }
  }
  void StepRows(const std::vector<int64_t>& rows) {
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
  // Runs one pass over all pushes.
  LoopCost Pass(bool pull) {
    const double cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kPushes; i++) {
      if (pull) Pull(drawn[i]);
      StepRows(sorted[i]);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double rows = kPushes * kPushRows;
    return {rows / took.count(), (CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - cpu) / rows};
  }

  const UpdateRule rule;
  const size_t floats;
  const std::vector<std::vector<int64_t>> drawn;
  std::vector<std::vector<int64_t>> sorted;
  HugeArray<float> values, states, pulled;
};

LoopCost MedianOf(std::vector<LoopCost> passes) {
  const auto slower = [](const LoopCost& a, const LoopCost& b) {
    return a.rows_per_second < b.rows_per_second;
  };
  const auto middle = passes.begin() + static_cast<ptrdiff_t>(passes.size() / 2);
  std::nth_element(passes.begin(), middle, passes.end(), slower);
  return *middle;
}

}  // namespace

LoopCosts MeasureLoops(OptimizerState state, bool zipf) {
  Loop loop(state, zipf);
  std::vector<LoopCost> steps, cycles;
  for (int i = 0; i < 5; i++) {
    steps.push_back(loop.Pass(/*pull=*/false));
    cycles.push_back(loop.Pass(/*pull=*/true));
  }
  return {MedianOf(std::move(steps)), MedianOf(std::move(cycles))};
}

}  // namespace graphd::bench
