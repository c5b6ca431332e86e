// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "ctl/hosts/child.h"
#include "ctl/logs/log_source.h"

namespace graphd::ctl {

// The records of a service in the journal of this machine: those of the service itself, and those
// that systemd has written about it. Runs journalctl once to read the existing records and, if
// Options::follow is set, a second time to read new records as they are written.
class JournalSource final : public LogSource {
 public:
  struct Options {
    std::string unit;         // "graphd@products.service"
    std::string least_level;  // the lowest level to read; "warning": warnings and errors
    double since = 0;         // seconds since 1970
    int64_t lines = -1;       // number of last existing records; < 0: all
    bool follow = false;      // also read later records
    std::string journalctl = "journalctl";
  };
  explicit JournalSource(Options options);
  // Ends journalctl.
  ~JournalSource() override;
  JournalSource(const JournalSource&) = delete;
  JournalSource& operator=(const JournalSource&) = delete;

  bool Read(std::vector<LogRecord>& out) override;
  std::vector<std::string> TakeNotices() override;

  // Returns whether this machine has journalctl.
  static bool IsThere(const std::string& journalctl = "journalctl");

 private:
  static constexpr size_t kMaxLine = size_t{1} << 20;  // a longer one is left out

  void Start(std::vector<std::string> more);
  // Reads what journalctl has written to a descriptor. Returns false at its end.
  bool ReadSome(const UniqueFd& from, std::string& into);
  void TakeLines(std::vector<LogRecord>& out);
  // Must be called when journalctl has ended. Starts it again to follow the journal, if that is
  // wanted.
  void OnEnd();

  const Options options_;
  const int64_t begin_;  // when this object was made: microseconds since 1970
  Child child_;
  bool runs_ = false, follows_ = false, skips_line_ = false;
  std::string text_, errors_, cursor_;
  std::vector<std::string> notices_;
};

}  // namespace graphd::ctl
