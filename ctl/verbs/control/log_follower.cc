// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/control/log_follower.h"

#include <time.h>

#include <cstdio>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/ssh/ssh_link.h"

namespace graphd::ctl {
namespace {

// Returns a time as text in this machine's zone, with milliseconds: "2026-11-26 13:05:30.123".
std::string TimeText(int64_t microseconds) {
  const time_t seconds = microseconds / 1'000'000;
  tm local{};
  ::localtime_r(&seconds, &local);
  char date[32], text[48];
  ::strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &local);
  std::snprintf(text, sizeof text, "%s.%03d", date, static_cast<int>(microseconds / 1000 % 1000));
  return text;
}

}  // namespace

LogFollower::LogFollower(std::vector<HostPlan> hosts, std::vector<std::string> labels,
                         const HostOptions& options, bool as_json)
    : HostFollower(std::move(hosts), std::move(labels),
                   LinksOverSsh(options.own_path, options.graphctl, options.ssh)),
      as_json_(as_json),
      hosts_(num_hosts()),
      merge_(num_hosts()) {}

void LogFollower::OnClosed(size_t host) {
  merge_.End(host);
  if (error(host).empty()) return;
  PrintMessage(StrCat(label(host), ": ", error(host),
                      AllClosed() ? "" : "; the logs of the other hosts go on"));
}

void LogFollower::OnFrame(size_t index, const std::string& kind, const HostEvent& event) {
  Host& host = hosts_[index];
  if (kind == "log") {
    host.answered = true;
    host.asked = false;
    AddRecords(index, event.text);
    const auto caught_up = ValueOr(event.header, "caught_up", int64_t{-1});
    if (caught_up >= 0) merge_.SetCaughtUp(index, caught_up);
  } else if (kind == "done") {
    host.done = true;
    merge_.End(index);
  } else if (kind == "sources") {
    host.sources = TextsIn(event.header, "names");
  } else if (kind == "notice") {
    PrintMessage(StrCat(label(index), ": ", IndentedText(ValueOr(event.header, "text", ""))));
  }
}

void LogFollower::AddRecords(size_t index, std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    if (auto record = DecodeRecord(lines.substr(0, end))) {
      hosts_[index].records++;
      merge_.Add(index, *std::move(record));
    }
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

void LogFollower::Show() {
  do {
    while (auto due = merge_.Take()) {
      PrintRecord(due->source, due->record);
      waiting_since_.reset();
    }
  } while (ShowWaiting());
  for (size_t i = 0; i < hosts_.size(); i++) {
    Host& host = hosts_[i];
    if (host.asked || is_closed(i) || host.done || merge_.HasRecords(i)) continue;
    Send(i, "{\"t\":\"more\"}");
    host.asked = true;
  }
}

bool LogFollower::ShowWaiting() {
  const bool any = merge_.HasRecords();
  bool all_answered = true;
  for (size_t i = 0; i < hosts_.size(); i++) all_answered &= hosts_[i].answered || is_closed(i);
  if (!any || !all_answered || !plan(0).order.logs.follow) {
    waiting_since_.reset();
    return false;
  }
  if (!waiting_since_) waiting_since_ = Clock::now();
  if (SecondsSince(*waiting_since_) < kPatience) return false;
  while (auto due = merge_.TakeEarliest()) PrintRecord(due->source, due->record);
  return true;
}

void LogFollower::PrintRecord(size_t index, const LogRecord& record) {
  if (as_json_) {
    nlohmann::ordered_json line = {{"time", static_cast<double>(record.microseconds) * 1e-6},
                                   {"host", label(index)},
                                   {"level", record.level},
                                   {"text", record.text}};
    record.ForEachField([&line](const char* key, const std::string& value) { line[key] = value; });
    return Print(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 "\n");
  }
  Print(StrCat(TimeText(record.microseconds), " [", label(index), "] ", record.level, " ",
               record.program.empty() ? "" : record.program + ": ", IndentedText(record.text),
               "\n"));
}

int LogFollower::Conclude() {
  while (auto due = merge_.Take()) PrintRecord(due->source, due->record);
  for (size_t i = 0; i < hosts_.size(); i++) {
    const Host& host = hosts_[i];
    if (!error(i).empty()) return ExitCode(code(i));
    if (host.records == 0 && !host.sources.empty()) {
      PrintMessage(
          StrCat(label(i), ": no record is there (looked into ", Join(host.sources, " and "), ")"));
    }
  }
  return 0;
}

}  // namespace graphd::ctl
