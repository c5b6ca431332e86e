// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/log_record.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 4> kLevels{"debug", "info", "warning", "error"};
// The level of each priority of syslog, from "emergency" to "debug".
constexpr std::array<const char*, 8> kLevelsOfPriorities{"error",   "error", "error", "error",
                                                         "warning", "info",  "info",  "debug"};

json Parse(std::string_view line) { return json::parse(line, nullptr, /*allow_exceptions=*/false); }

// Returns a field of the journal as text. journalctl writes a value that is not UTF-8 as an array
// of bytes, and the values of a field that occurs several times as an array; the first value is
// returned.
std::string FieldText(const json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array() || found->empty()) return {};
  if (found->front().is_string()) return found->front().get<std::string>();
  std::string bytes;
  for (const json& byte : found->front().is_array() ? found->front() : *found) {
    if (byte.is_number_unsigned()) bytes += static_cast<char>(byte.get<uint64_t>());
  }
  return bytes;
}

}  // namespace

int RankOfLevel(std::string_view level) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), level);
  return found == kLevels.end() ? 1 : static_cast<int>(found - kLevels.begin());
}

std::string EncodeRecord(const LogRecord& record) {
  json line = {{"us", record.microseconds}, {"level", record.level}, {"text", record.text}};
  record.ForEachField([&line](const char* key, const std::string& value) { line[key] = value; });
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<LogRecord> DecodeRecord(std::string_view line) {
  const json read = Parse(line);
  if (!read.is_object() || !read.contains("us") || !read["us"].is_number_integer()) {
    return std::nullopt;
  }
  LogRecord record;
  record.microseconds = read["us"].get<int64_t>();
  record.level = ValueOr(read, "level", "info");
  record.text = ValueOr(read, "text", "");
  record.job = ValueOr(read, "job", "");
  record.peer = ValueOr(read, "peer", "");
  record.op = ValueOr(read, "op", "");
  record.program = ValueOr(read, "program", "");
  return record;
}

std::optional<JournalLine> ReadJournalLine(std::string_view line) {
  const json entry = Parse(line);
  if (!entry.is_object() || !entry.contains("MESSAGE")) return std::nullopt;
  JournalLine read;
  LogRecord& record = read.record;
  record.microseconds = std::strtoll(FieldText(entry, "__REALTIME_TIMESTAMP").c_str(), nullptr, 10);
  const std::string priority = FieldText(entry, "PRIORITY");
  const bool is_known = priority.size() == 1 && priority[0] >= '0' && priority[0] <= '7';
  record.level = is_known ? kLevelsOfPriorities[static_cast<size_t>(priority[0] - '0')] : "info";
  record.text = FieldText(entry, "MESSAGE");
  Truncate(record.text, LogRecord::kMaxText);
  record.job = FieldText(entry, "GRAPHD_JOB");
  record.peer = FieldText(entry, "GRAPHD_PEER");
  record.op = FieldText(entry, "GRAPHD_OP");
  for (std::string* field : {&record.job, &record.peer, &record.op}) Truncate(*field, 1024);
  record.program = FieldText(entry, "SYSLOG_IDENTIFIER");
  Truncate(record.program, 64);
  if (record.program == "graphd") record.program.clear();
  read.cursor = FieldText(entry, "__CURSOR");
  return read;
}

}  // namespace graphd::ctl
