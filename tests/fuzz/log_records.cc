// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "ctl/logs/log_record.h"
#include "ctl/logs/text_records.h"
#include "daemon/logging/log_text.h"
#include "tests/fuzz/support/target.h"

// Reads the log of a server as `graphctl server logs` does: as a log file, as lines of journalctl,
// and as what another host has sent.

namespace graphd::fuzz {
namespace {

using ctl::LogRecord;

void Check(const LogRecord& record) {
  if (record.text.size() > LogRecord::kMaxText) std::abort();
  const auto back = ctl::DecodeRecord(ctl::EncodeRecord(record));
  if (!back || back->microseconds != record.microseconds) std::abort();
}

// Text that a client has chosen is one record of the daemon's log, with the level of its line.
void CheckWritten(std::string_view text) {
  constexpr int64_t kTime = 1'700'000'000'123'000;
  ctl::TextRecords reader;
  std::vector<LogRecord> records;
  reader.Feed(LogText(LogLevel::kWarning, std::string(text), kTime), records);
  const auto last = reader.Finish();
  if (!records.empty() || !last) std::abort();
  if (last->microseconds != kTime || last->level != "warning") std::abort();
}

}  // namespace

void ReadInput(std::string_view input) {
  CheckWritten(input);
  ctl::TextRecords reader;
  std::vector<LogRecord> records;
  reader.Feed(input, records);
  if (auto last = reader.Finish()) records.push_back(*last);
  for (const LogRecord& record : records) Check(record);
  while (!input.empty()) {
    const size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    if (const auto read = ctl::ReadJournalLine(line)) Check(read->record);
    if (const auto read = ctl::DecodeRecord(line)) ctl::RankOfLevel(read->level);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  }
}

std::vector<std::string> Seeds() {
  LogRecord record;
  record.microseconds = 1'700'000'000'123'456;
  record.level = "info";
  record.text = "job a has left";
  record.job = "a";
  return {
      LogText(LogLevel::kError, "one\ntwo", 1'700'000'000'123'456) +
          LogText(LogLevel::kInfo, "three", 1'700'000'001'000'000),
      ctl::EncodeRecord(record),
      R"({"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1700000000123456","MESSAGE":"job a has left",)"
      R"("PRIORITY":"6","SYSLOG_IDENTIFIER":"graphd","GRAPHD_JOB":"a","GRAPHD_OP":"leave"})"
      "\n",
      R"({"MESSAGE":[104,105,27],"PRIORITY":["4","6"]})"};
}

}  // namespace graphd::fuzz
