// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/logs/log_record.h"

namespace graphd::ctl {

// Splits the text of a daemon's log file into records. Each record begins with its time and its
// level (daemon/logging/log_text.h); a line that does not begin with these belongs to the record
// before it.
class TextRecords {
 public:
  // Takes whole lines, each with its newline. Appends to `out` the records that are certainly
  // complete, because another record begins after each of them.
  void Feed(std::string_view lines, std::vector<LogRecord>& out);
  // Returns the last record, and forgets it. If the file has no more text now, the record is
  // complete, because the daemon writes each record with one write(2).
  std::optional<LogRecord> Finish();

 private:
  std::optional<LogRecord> open_;
};

// Reads a line that begins with a time and a level. Returns nothing for another line.
std::optional<LogRecord> ReadLogLine(std::string_view line);

}  // namespace graphd::ctl
