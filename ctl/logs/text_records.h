// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/logs/log_record.h"

namespace graphd::ctl {

// Makes records of the text of a daemon's log file, in which each record begins with its time and
// its level (daemon/logging/log_text.h). A line that does not belongs to the record before it.
class TextRecords {
 public:
  // Takes whole lines, each with its newline. Appends the records that end with another one.
  void Feed(std::string_view lines, std::vector<LogRecord>& out);
  // Returns the last record, when nothing follows now: the daemon writes each with one write(2).
  std::optional<LogRecord> Finish();

 private:
  std::optional<LogRecord> open_;
};

// Reads the time and the level at the beginning of a line, and what follows them. Returns nothing
// for another line.
std::optional<LogRecord> ReadLogLine(std::string_view line);

}  // namespace graphd::ctl
