// SPDX-License-Identifier: Apache-2.0
#include "sampling/edge_picker.h"

#include <algorithm>
#include <variant>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/strings.h"
#include "sampling/rule_traits.h"

namespace graphd {
namespace {

constexpr size_t kRowAhead = 4;

// Edges that a row of this degree can give.
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
  GRAPHD_CHECK(source.csc, "there are rows to pick from");
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

size_t EdgePicker::Pick(const EdgeSource& source, std::span<const int64_t> rows,
                        std::span<const int64_t> streams, const SamplingRule& rule, uint64_t key,
                        const SeedTimes& times) {
  CheckRule(source, rule);
  const bool temporal = IsTemporal(rule.method);
  GRAPHD_CHECK(rows.size() == streams.size(), "one stream per row");
  GRAPHD_CHECK(!temporal || std::visit([](auto t) { return t.size(); }, times) == rows.size(),
               "one time per row");
  source_ = source;
  rule_ = &rule;
  key_ = key;
  with_arrivals_ = rule.direction == Direction::kOut;
  if (source_.exclude && source_.exclude->empty()) source_.exclude = nullptr;
  order_ = rule.method == SamplingMethod::kTemporalUniform ? source.order : nullptr;
  take_all_ = rule.fanout < 0;
  replace_ = rule.replace && !take_all_;
  fanout_ = take_all_ ? UINT64_MAX : static_cast<uint64_t>(rule.fanout);
  num_slots_ = 0;
  Plan(rows, times);
  counts_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); i++) {
    const size_t before = num_slots_;
    Prefetch(rows, streams, i);
    if (plan_[i].degree > 0 && fanout_ > 0) {
      PickRow({static_cast<size_t>(rows[i]), plan_[i].begin, plan_[i].degree,
               static_cast<uint64_t>(streams[i])});
    }
    counts_[i] = static_cast<uint32_t>(num_slots_ - before);
  }
  return num_slots_;
}

void EdgePicker::Plan(std::span<const int64_t> rows, const SeedTimes& times) {
  const uint64_t* indptr = source_.csc->indptr.data();
  plan_.resize(rows.size());
  const bool temporal = IsTemporal(rule_->method);
  if (temporal) {
    before_.resize(rows.size());
    source_.order->CountBefore(*source_.csc, rows, times, rule_->inclusive, before_);
  }
  uint64_t most = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i + kPrefetchAhead < rows.size())
      __builtin_prefetch(indptr + std::max<int64_t>(rows[i + kPrefetchAhead], 0));
    plan_[i] = {0, 0};
    if (rows[i] < 0) continue;
    const uint64_t begin = indptr[rows[i]];
    plan_[i] = {begin, temporal ? before_[i] : indptr[rows[i] + 1] - begin};
    most += MostEdges(plan_[i].degree, *rule_);
  }
  if (slots_.size() < most) slots_.resize(most);
  if (with_arrivals_ && arrival_keys_.size() < most) arrival_keys_.resize(most);
}

// What rows to come will read first.
void EdgePicker::Prefetch(std::span<const int64_t> rows, std::span<const int64_t> streams,
                          size_t i) const noexcept {
  if (source_.alias && i + kPrefetchAhead < rows.size() && rows[i + kPrefetchAhead] >= 0) {
    source_.alias->PrefetchRow(static_cast<size_t>(rows[i + kPrefetchAhead]));
  }
  i += kRowAhead;
  if (i >= rows.size() || plan_[i].degree == 0) return;
  switch (rule_->method) {
    case SamplingMethod::kWeighted:
      return PrefetchDraws({0, plan_[i].begin, plan_[i].degree, static_cast<uint64_t>(streams[i])});
    case SamplingMethod::kTopK:
      return source_.order->Prefetch(plan_[i].begin + (rule_->largest ? plan_[i].degree - 1 : 0));
    case SamplingMethod::kTemporalRecent:
      return source_.order->Prefetch(plan_[i].begin + plan_[i].degree - 1);
    case SamplingMethod::kLabor:
      return source_.csc->indices.Visit(
          [&](auto neighbors) { __builtin_prefetch(neighbors.data() + plan_[i].begin); });
    case SamplingMethod::kUniform:
    case SamplingMethod::kTemporalUniform:
      return;  // independent loads, which overlap by themselves
  }
}

void EdgePicker::PickRow(const Row& row) {
  switch (rule_->method) {
    case SamplingMethod::kUniform:
    case SamplingMethod::kTemporalUniform:
      return Uniform(row);
    case SamplingMethod::kWeighted:
      return Weighted(row);
    case SamplingMethod::kTopK:
      return Ordered(row, rule_->largest);
    case SamplingMethod::kTemporalRecent:
      return Ordered(row, true);
    case SamplingMethod::kLabor:
      return Labor(row);
  }
}

bool EdgePicker::Excluded(uint64_t slot) const noexcept {
  if (!source_.exclude) return false;
  const auto& rows = source_.csc->edge_rows;
  return source_.exclude->Contains(rows ? (*rows)[slot] : slot);
}

void EdgePicker::ListEligible(const Row& row) {
  eligible_.clear();
  for (uint64_t position = 0; position < row.degree; position++) {
    const uint64_t slot = SlotAt(row, position);
    if (!Excluded(slot)) eligible_.push_back(slot);
  }
}

}  // namespace graphd
