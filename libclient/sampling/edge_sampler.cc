// SPDX-License-Identifier: Apache-2.0
#include "sampling/edge_sampler.h"

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/strings.h"
#include "sampling/labor_kernel.h"
#include "sampling/ordered_kernel.h"
#include "sampling/rule_traits.h"
#include "sampling/uniform_kernel.h"
#include "sampling/weighted_kernel.h"

namespace graphd {
namespace {

constexpr size_t kRowAhead = 4;

// Returns an upper bound of the number of edges sampled from a row of this degree.
uint64_t MostEdges(uint64_t degree, const SamplingRule& rule) {
  if (rule.fanout < 0) return degree;
  const auto fanout = static_cast<uint64_t>(rule.fanout);
  if (rule.replace) return degree > 0 ? fanout : 0;
  return std::min(degree, fanout);
}

}  // namespace

uint64_t MaxSampledEdges(const Csc& csc, std::span<const int64_t> rows, const SamplingRule& rule) {
  const uint64_t* indptr = csc.indptr.data();
  uint64_t sum = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kPrefetchAhead < rows.size())
      __builtin_prefetch(indptr + std::max<int64_t>(rows[i + kPrefetchAhead], 0));
    if (rows[i] >= 0) sum += MostEdges(indptr[rows[i] + 1] - indptr[rows[i]], rule);
  }
  return sum;
}

void CheckRule(const EdgeSource& source, const SamplingRule& rule) {
  GRAPHD_CHECK(source.csc, "there are rows to sample from");
  const char* name = SamplingMethodName(rule.method);
  if (rule.method > SamplingMethod::kLabor) {
    Throw(ErrorCode::kInvalid, "sampling method ", static_cast<int>(rule.method), "; expected 0..",
          static_cast<int>(SamplingMethod::kLabor));
  }
  if (rule.fanout < -1) {
    Throw(ErrorCode::kInvalid, "fanout ", rule.fanout, "; expected 0 or more, or -1 for all edges");
  }
  if (rule.replace && !MayReplace(rule.method)) {
    Throw(ErrorCode::kInvalid, name, " sampling has no form with replacement");
  }
  if (rule.method == SamplingMethod::kWeighted && !source.alias) {
    Throw(ErrorCode::kInvalid, name, " sampling needs an alias index");
  }
  if ((rule.method == SamplingMethod::kTopK || IsTemporal(rule.method)) && !source.order) {
    Throw(ErrorCode::kInvalid, name, " sampling needs an order index");
  }
}

size_t EdgeSampler::Sample(const EdgeSource& source, std::span<const int64_t> rows,
                           std::span<const int64_t> streams, const SamplingRule& rule, uint64_t key,
                           const SeedTimes& times) {
  CheckRule(source, rule);
  const bool temporal = IsTemporal(rule.method);
  GRAPHD_CHECK(rows.size() == streams.size(), "one stream per row");
  GRAPHD_CHECK(!temporal || std::visit([](auto t) { return t.size(); }, times) == rows.size(),
               "one time per row");
  SamplingContext& c = context_;
  c.source = source;
  c.rule = &rule;
  c.key = key;
  c.with_arrivals = rule.direction == Direction::kOut;
  if (c.source.exclude && c.source.exclude->empty()) c.source.exclude = nullptr;
  c.order = rule.method == SamplingMethod::kTemporalUniform ? source.order : nullptr;
  c.take_all = rule.fanout < 0;
  c.replace = rule.replace && !c.take_all;
  c.fanout = c.take_all ? UINT64_MAX : static_cast<uint64_t>(rule.fanout);
  c.num_slots = 0;
  Plan(rows, times);
  counts_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    const size_t before = c.num_slots;
    Prefetch(rows, streams, i);
    if (plan_[i].degree > 0 && c.fanout > 0) {
      SampleRow({static_cast<size_t>(rows[i]), plan_[i].begin, plan_[i].degree,
                 static_cast<uint64_t>(streams[i])});
    }
    counts_[i] = static_cast<uint32_t>(c.num_slots - before);
  }
  return c.num_slots;
}

void EdgeSampler::Plan(std::span<const int64_t> rows, const SeedTimes& times) {
  SamplingContext& c = context_;
  const uint64_t* indptr = c.source.csc->indptr.data();
  plan_.resize(rows.size());
  const bool temporal = IsTemporal(c.rule->method);
  if (temporal) {
    before_.resize(rows.size());
    c.source.order->CountBefore(*c.source.csc, rows, times, c.rule->inclusive, before_);
  }
  uint64_t most = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kPrefetchAhead < rows.size())
      __builtin_prefetch(indptr + std::max<int64_t>(rows[i + kPrefetchAhead], 0));
    plan_[i] = {0, 0};
    if (rows[i] < 0) continue;
    const uint64_t begin = indptr[rows[i]];
    plan_[i] = {begin, temporal ? before_[i] : indptr[rows[i] + 1] - begin};
    most += MostEdges(plan_[i].degree, *c.rule);
  }
  if (c.slots.size() < most) c.slots.resize(most);
  if (c.with_arrivals && c.arrival_keys.size() < most) c.arrival_keys.resize(most);
}

// Prefetches the memory that the next rows will read first.
void EdgeSampler::Prefetch(std::span<const int64_t> rows, std::span<const int64_t> streams,
                           size_t i) const noexcept {
  const SamplingContext& c = context_;
  if (c.source.alias && i + kPrefetchAhead < rows.size() && rows[i + kPrefetchAhead] >= 0) {
    c.source.alias->PrefetchRow(static_cast<size_t>(rows[i + kPrefetchAhead]));
  }
  i += kRowAhead;
  if (i >= rows.size() || plan_[i].degree == 0) return;
  switch (c.rule->method) {
    case SamplingMethod::kWeighted:
      return PrefetchWeighted(
          c, {0, plan_[i].begin, plan_[i].degree, static_cast<uint64_t>(streams[i])});
    case SamplingMethod::kTopK:
      return c.source.order->Prefetch(plan_[i].begin + (c.rule->largest ? plan_[i].degree - 1 : 0));
    case SamplingMethod::kTemporalRecent:
      return c.source.order->Prefetch(plan_[i].begin + plan_[i].degree - 1);
    case SamplingMethod::kLabor:
      return c.source.csc->indices.Visit(
          [&](auto neighbors) { __builtin_prefetch(neighbors.data() + plan_[i].begin); });
    case SamplingMethod::kUniform:
    case SamplingMethod::kTemporalUniform:
      return;  // their loads are independent of each other, so they overlap without prefetching
  }
}

void EdgeSampler::SampleRow(const SourceRow& row) {
  switch (context_.rule->method) {
    case SamplingMethod::kUniform:
    case SamplingMethod::kTemporalUniform:
      return SampleUniform(context_, row);
    case SamplingMethod::kWeighted:
      return SampleWeighted(context_, row);
    case SamplingMethod::kTopK:
      return SampleOrdered(context_, row, context_.rule->largest);
    case SamplingMethod::kTemporalRecent:
      return SampleOrdered(context_, row, true);
    case SamplingMethod::kLabor:
      return SampleLabor(context_, row);
  }
}

}  // namespace graphd
