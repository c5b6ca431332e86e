// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "ctl/logs/log_record.h"

namespace graphd::ctl {

// Merges the records of several sources by time. Each source gives its records in the order of
// their times. Its user may also report that a source has given all records before some time. A
// record is due when no other source can still give an earlier one. Not thread-safe.
class RecordMerge {
 public:
  explicit RecordMerge(size_t sources) : sources_(sources) {}

  void Add(size_t source, LogRecord record);
  // Notes that the source has given all of its records before this time.
  void SetCaughtUp(size_t source, int64_t microseconds);
  // Notes that the source will give no more records.
  void End(size_t source) { sources_[source].ended = true; }

  // Returns the earliest record, if it is due. Records of the same time are ordered by source.
  struct Due {
    size_t source;
    LogRecord record;
  };
  std::optional<Due> Take();
  // Returns the earliest record even if it is not due, for a caller that does not want to wait any
  // longer.
  std::optional<Due> TakeEarliest();
  bool HasRecords(size_t source) const { return !sources_[source].records.empty(); }
  bool HasRecords() const {
    return std::ranges::any_of(sources_, [](const Source& each) { return !each.records.empty(); });
  }

 private:
  struct Source {
    std::deque<LogRecord> records;
    int64_t caught_up = INT64_MIN;  // microseconds since 1970
    bool ended = false;
  };
  // Returns the source with the earliest record; null if there is no record.
  Source* First();
  Due TakeFrom(Source& source);

  std::vector<Source> sources_;
};

}  // namespace graphd::ctl
