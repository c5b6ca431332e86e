// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/record_merge.h"

#include <algorithm>
#include <utility>

namespace graphd::ctl {

void RecordMerge::Add(size_t source, LogRecord record) {
  Source& from = sources_[source];
  // With the maximum, the records of a host keep their order even if its clock is set back.
  from.caught_up = std::max(from.caught_up, record.microseconds);
  from.records.push_back(std::move(record));
}

void RecordMerge::SetCaughtUp(size_t source, int64_t microseconds) {
  Source& from = sources_[source];
  from.caught_up = std::max(from.caught_up, microseconds);
}

RecordMerge::Source* RecordMerge::First() {
  Source* first = nullptr;
  for (Source& source : sources_) {
    if (source.records.empty()) continue;
    const int64_t time = source.records.front().microseconds;
    if (!first || time < first->records.front().microseconds) first = &source;
  }
  return first;
}

RecordMerge::Due RecordMerge::TakeFrom(Source& source) {
  Due due{static_cast<size_t>(&source - sources_.data()), std::move(source.records.front())};
  source.records.pop_front();
  return due;
}

std::optional<RecordMerge::Due> RecordMerge::Take() {
  Source* const first = First();
  if (!first) return std::nullopt;
  const int64_t time = first->records.front().microseconds;
  for (const Source& source : sources_) {
    if (source.records.empty() && !source.ended && source.caught_up < time) return std::nullopt;
  }
  return TakeFrom(*first);
}

std::optional<RecordMerge::Due> RecordMerge::TakeEarliest() {
  Source* const first = First();
  if (!first) return std::nullopt;
  return TakeFrom(*first);
}

}  // namespace graphd::ctl
