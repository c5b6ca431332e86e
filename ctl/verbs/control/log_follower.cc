// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/control/log_follower.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/ssh/ssh_link.h"
#include "ctl/terminal/signals.h"

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

// Returns a text without what would move the terminal's cursor or change its colours. Further
// lines are indented, so that they look like no other record.
std::string ForTerminal(const std::string& text) {
  std::string shown;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '\n') {
      shown += "\n    ";
    } else if (byte == '\t' || (code >= ' ' && code != 0x7f)) {
      shown += byte;
    } else {
      shown += '?';
    }
  }
  return shown;
}

}  // namespace

LogFollower::LogFollower(std::vector<HostPlan> hosts, std::vector<std::string> labels,
                         HostOptions options, bool as_json)
    : plans_(std::move(hosts)),
      labels_(std::move(labels)),
      options_(std::move(options)),
      as_json_(as_json),
      hosts_(plans_.size()),
      merge_(plans_.size()) {}

int LogFollower::Run() {
  const UniqueFd signals = WatchSignals();
  OpenLinks();
  while (!AllClosed() || !console_.empty()) {
    const bool take = !console_.full();
    pollfd inputs[3] = {{take ? queue_.fd() : -1, POLLIN, 0},
                        {signals.get(), POLLIN, 0},
                        {console_.fd(), POLLOUT, 0}};
    ::poll(inputs, 3, 500);
    signalfd_siginfo info{};
    if (::read(signals.get(), &info, sizeof info) == sizeof info) {
      Leave(128 + static_cast<int>(info.ssi_signo));
    }
    if (take) {
      for (const HostEvent& event : queue_.TakeAll()) Handle(event);
      Show();
    }
    console_.WriteSome();
    if (console_.out_is_broken()) Leave(128 + SIGPIPE);
  }
  const int code = Conclude();
  console_.WriteOrDrop();
  return code;
}

// Exits without the links' threads, which wait while the queue of events is full.
void LogFollower::Leave(int code) {
  console_.WriteOrDrop();
  ::_exit(code);
}

void LogFollower::OpenLinks() {
  ::signal(SIGPIPE, SIG_IGN);
  const LinkOpener open = LinksOverSsh(options_.own_path, options_.graphctl, options_.ssh);
  for (size_t i = 0; i < plans_.size(); i++) {
    HostOrder order = plans_[i].order;
    order.version = GRAPHD_VERSION;
    hosts_[i].link = open(i, plans_[i], queue_);
    hosts_[i].link->Send(EncodeOrder(order));
  }
}

void LogFollower::Handle(const HostEvent& event) {
  Host& host = hosts_[event.host];
  switch (event.kind) {
    case HostEvent::Kind::kFrame:
      return OnFrame(event.host, event);
    case HostEvent::Kind::kNoise:
      return console_.Add(STDERR_FILENO,
                          StrCat("[", labels_[event.host], "] ", ForTerminal(event.text), "\n"));
    case HostEvent::Kind::kClosed:
      host.closed = true;
      merge_.End(event.host);
      if (host.error.empty() && !host.done) {
        host.code = event.code;
        host.error = event.text.empty() ? "its graphctl ended without an answer" : event.text;
      }
      if (host.error.empty()) return;
      PrintMessage(StrCat(labels_[event.host], ": ", host.error,
                          AllClosed() ? "" : "; the logs of the other hosts go on"));
  }
}

void LogFollower::OnFrame(size_t index, const HostEvent& event) {
  Host& host = hosts_[index];
  const std::string kind = ValueOr(event.header, "t", "");
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
    PrintMessage(StrCat(labels_[index], ": ", ForTerminal(ValueOr(event.header, "text", ""))));
  } else if (kind == "error") {
    host.code = ErrorCodeFromName(ValueOr(event.header, "code", ""));
    host.error = ValueOr(event.header, "text", "it failed");
  } else if (kind == "hello") {
    const std::string version = ValueOr(event.header, "version", "?");
    if (version == GRAPHD_VERSION) return;
    host.code = ErrorCode::kVersion;
    host.error = StrCat("it has graphctl ", version, " and this is ", GRAPHD_VERSION,
                        "; install the same version on both, or name another with --graphctl");
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
      Print(due->source, due->record);
      waiting_since_.reset();
    }
  } while (ShowWaiting());
  for (size_t i = 0; i < hosts_.size(); i++) {
    Host& host = hosts_[i];
    if (host.asked || host.closed || host.done || merge_.HasRecords(i)) continue;
    host.link->Send("{\"t\":\"more\"}");
    host.asked = true;
  }
}

bool LogFollower::ShowWaiting() {
  const bool any = merge_.HasRecords();
  const bool all_answered = std::all_of(
      hosts_.begin(), hosts_.end(), [](const Host& host) { return host.answered || host.closed; });
  if (!any || !all_answered || !plans_.front().order.logs.follow) {
    waiting_since_.reset();
    return false;
  }
  if (!waiting_since_) waiting_since_ = Clock::now();
  if (SecondsSince(*waiting_since_) < kPatience) return false;
  while (auto due = merge_.TakeEarliest()) Print(due->source, due->record);
  return true;
}

void LogFollower::Print(size_t index, const LogRecord& record) {
  if (as_json_) {
    nlohmann::ordered_json line = {{"time", static_cast<double>(record.microseconds) * 1e-6},
                                   {"host", labels_[index]},
                                   {"level", record.level},
                                   {"text", record.text}};
    const auto add = [&line](const char* key, const std::string& value) {
      if (!value.empty()) line[key] = value;
    };
    add("job", record.job);
    add("peer", record.peer);
    add("op", record.op);
    add("program", record.program);
    return console_.Add(
        STDOUT_FILENO,
        line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  console_.Add(
      STDOUT_FILENO,
      StrCat(TimeText(record.microseconds), " [", labels_[index], "] ", record.level, " ",
             record.program.empty() ? "" : record.program + ": ", ForTerminal(record.text), "\n"));
}

void LogFollower::PrintMessage(const std::string& text) {
  console_.Add(STDERR_FILENO, "graphctl: " + text + "\n");
}

bool LogFollower::AllClosed() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.closed; });
}

int LogFollower::Conclude() {
  while (auto due = merge_.Take()) Print(due->source, due->record);
  for (size_t i = 0; i < hosts_.size(); i++) {
    const Host& host = hosts_[i];
    if (!host.error.empty()) return ExitCode(host.code);
    if (host.records == 0 && !host.sources.empty()) {
      PrintMessage(StrCat(labels_[i], ": no record is there (looked into ",
                          Join(host.sources, " and "), ")"));
    }
  }
  return 0;
}

}  // namespace graphd::ctl
