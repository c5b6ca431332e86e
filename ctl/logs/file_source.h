// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/logs/log_source.h"
#include "ctl/logs/text_records.h"
#include "ctl/supervise/log_tail.h"

namespace graphd::ctl {

// A daemon's log file, which may grow, or be renamed and replaced, while it is read.
class FileSource final : public LogSource {
 public:
  explicit FileSource(std::string path) : tail_(std::move(path), -1) {}
  bool Read(std::vector<LogRecord>& out) override;

 private:
  LogTail tail_;
  TextRecords records_;
};

}  // namespace graphd::ctl
