// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/logs/log_record.h"

namespace graphd::ctl {

// A log on this machine: the journal, or a file. Not thread-safe.
class LogSource {
 public:
  virtual ~LogSource() = default;
  // Appends the next records that exist now, about 256 KiB at most. Returns true if there are no
  // more records now. Does not wait longer than some 10 ms.
  virtual bool Read(std::vector<LogRecord>& out) = 0;
  // Returns the messages for the user, about this source, that have come up since the last call;
  // usually none.
  virtual std::vector<std::string> TakeNotices() { return {}; }
};

}  // namespace graphd::ctl
