// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/text_records.h"

#include <time.h>

#include <utility>

namespace graphd::ctl {
namespace {

constexpr std::string_view kPattern = "0000-00-00T00:00:00.000+00:00 ";
constexpr std::string_view kIndent = "    ";  // before further lines of a record

bool HasPattern(std::string_view line) {
  if (line.size() < kPattern.size()) return false;
  for (size_t i = 0; i < kPattern.size(); i++) {
    const char wanted = kPattern[i], is = line[i];
    const bool fits = wanted == '0'   ? is >= '0' && is <= '9'
                      : wanted == '+' ? is == '+' || is == '-'
                                      : is == wanted;
    if (!fits) return false;
  }
  return true;
}

int Number(std::string_view line, size_t begin, size_t digits) {
  int number = 0;
  for (size_t i = begin; i < begin + digits; i++) number = number * 10 + (line[i] - '0');
  return number;
}

}  // namespace

std::optional<LogRecord> ReadLogLine(std::string_view line) {
  if (!HasPattern(line)) return std::nullopt;
  tm date{};
  date.tm_year = Number(line, 0, 4) - 1900;
  date.tm_mon = Number(line, 5, 2) - 1;
  date.tm_mday = Number(line, 8, 2);
  date.tm_hour = Number(line, 11, 2);
  date.tm_min = Number(line, 14, 2);
  date.tm_sec = Number(line, 17, 2);
  const int zone = (Number(line, 24, 2) * 60 + Number(line, 27, 2)) * 60;
  const int64_t seconds = int64_t{::timegm(&date)} - (line[23] == '-' ? -zone : zone);
  LogRecord record;
  record.microseconds = seconds * 1'000'000 + int64_t{Number(line, 20, 3)} * 1000;
  line.remove_prefix(kPattern.size());
  const size_t end = line.find(' ');
  record.level = line.substr(0, end);
  if (end == std::string_view::npos || record.level.size() > 7) return std::nullopt;
  record.text = line.substr(end + 1);
  return record;
}

void TextRecords::Feed(std::string_view lines, std::vector<LogRecord>& out) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (auto begun = ReadLogLine(line)) {
      if (open_) out.push_back(*std::move(open_));
      open_ = std::move(begun);
    } else if (open_ && open_->text.size() < LogRecord::kMaxText) {
      if (line.starts_with(kIndent)) line.remove_prefix(kIndent.size());
      open_->text.append("\n").append(line);
    } else if (!open_) {
      // The file begins with the end of a record, or with text of another program.
      open_.emplace();
      open_->level = "info";
      open_->text = line;
    }
  }
  if (open_ && open_->text.size() > LogRecord::kMaxText) open_->text.resize(LogRecord::kMaxText);
}

std::optional<LogRecord> TextRecords::Finish() { return std::exchange(open_, std::nullopt); }

}  // namespace graphd::ctl
