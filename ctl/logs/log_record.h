// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace graphd::ctl {

// A record of a server's log.
struct LogRecord {
  static constexpr size_t kMaxText = size_t{64} << 10;  // bytes; a longer text is cut

  int64_t microseconds = 0;  // since 1970, by the clock of its host
  std::string level;         // "debug", "info", "warning" or "error"
  std::string text;          // may have several lines
  // The fields of the daemon's log line. `program` is the program that wrote the record if it was
  // not graphd, such as systemd, which reports about the unit. All are empty unless the record is
  // from the journal.
  std::string job, peer, op, program;

  // Calls f(name, value) for each field that is not empty.
  template <class F>
  void ForEachField(F f) const {
    if (!job.empty()) f("job", job);
    if (!peer.empty()) f("peer", peer);
    if (!op.empty()) f("op", op);
    if (!program.empty()) f("program", program);
  }

  // Returns the approximate memory of the record in bytes.
  size_t size() const {
    return sizeof(LogRecord) + text.size() + job.size() + peer.size() + op.size() + program.size();
  }
};

// Returns a number that is larger for more important levels; 1 for a level that is not known.
int RankOfLevel(std::string_view level);

// EncodeRecord returns a record as a line of JSON with a newline, for another graphctl, which reads
// it with DecodeRecord. DecodeRecord returns nothing if the line is not a record.
std::string EncodeRecord(const LogRecord& record);
std::optional<LogRecord> DecodeRecord(std::string_view line);

// A line of `journalctl --output=json`.
struct JournalLine {
  LogRecord record;
  std::string cursor;  // the record's place in the journal, for --after-cursor
};
// Reads a line of `journalctl --output=json`. Returns nothing if it can't be read, or if the record
// has no text.
std::optional<JournalLine> ReadJournalLine(std::string_view line);

}  // namespace graphd::ctl
