// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/jobs/job_follower.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "ctl/hosts/frame_contents.h"
#include "ctl/plan/json_value.h"
#include "ctl/ssh/ssh_link.h"
#include "ctl/terminal/signals.h"

namespace graphd::ctl {

JobFollower::JobFollower(std::vector<HostPlan> hosts, HostOptions options, FollowSpec follow,
                         bool tells_news)
    : plans_(std::move(hosts)),
      options_(std::move(options)),
      follow_(std::move(follow)),
      tells_news_(tells_news),
      hosts_(plans_.size()) {}

int JobFollower::Run() {
  const UniqueFd signals = WatchSignals();
  OpenLinks();
  while (!AllClosed() || !console_.empty()) {
    const bool take = !console_.full();
    pollfd inputs[3] = {{take ? queue_.fd() : -1, POLLIN, 0},
                        {signals.get(), POLLIN, 0},
                        {console_.fd(), POLLOUT, 0}};
    ::poll(inputs, 3, 1000);
    signalfd_siginfo info{};
    if (::read(signals.get(), &info, sizeof info) == sizeof info) {
      if (follow_.until_end) {
        PrintMessage(StrCat("job ", follow_.job, " goes on; `graphctl stop ", follow_.job,
                            "` with the same options ends it"));
      }
      Leave(128 + static_cast<int>(info.ssi_signo));
    }
    if (take) {
      for (const HostEvent& event : queue_.TakeAll()) Handle(event);
    }
    console_.WriteSome();
    if (console_.out_is_broken()) Leave(128 + SIGPIPE);
  }
  const int code = Conclude();
  console_.WriteOrDrop();
  return code;
}

// Exits without the links' threads, which wait while the queue of events is full.
void JobFollower::Leave(int code) {
  console_.WriteOrDrop();
  ::_exit(code);
}

void JobFollower::OpenLinks() {
  ::signal(SIGPIPE, SIG_IGN);
  const LinkOpener open = LinksOverSsh(options_.own_path, options_.graphctl, options_.ssh);
  for (size_t i = 0; i < plans_.size(); i++) {
    HostOrder order = plans_[i].order;
    order.version = GRAPHD_VERSION;
    order.follow = follow_;
    hosts_[i].link = open(i, plans_[i], queue_);
    hosts_[i].link->Send(EncodeOrder(order));
  }
}

void JobFollower::Handle(const HostEvent& event) {
  Host& host = hosts_[event.host];
  switch (event.kind) {
    case HostEvent::Kind::kFrame:
      return OnFrame(host, event);
    case HostEvent::Kind::kNoise:
      return console_.Add(STDERR_FILENO,
                          StrCat("[", plans_[event.host].name, "] ", event.text, "\n"));
    case HostEvent::Kind::kClosed:
      host.closed = true;
      if (host.error.empty() && (!event.text.empty() || host.state.is_null())) {
        host.code = event.code;
        host.error = event.text.empty() ? "its graphctl ended without an answer" : event.text;
      }
  }
}

void JobFollower::OnFrame(Host& host, const HostEvent& event) {
  const std::string kind = ValueOr(event.header, "t", "");
  if (kind == "out") {
    PrintLines(event);
  } else if (kind == "job") {
    OnState(host, event.header);
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

void JobFollower::OnState(Host& host, const nlohmann::json& header) {
  host.state = ValueOr(header, "state", nlohmann::json::object());
  host.lives = ValueOr(header, "lives", false);
  host.directory = ValueOr(header, "directory", "");
  for (const nlohmann::json& trainer : ValueOr(host.state, "trainers", nlohmann::json::array())) {
    labels_[ValueOr(trainer, "rank", -1)] = ValueOr(trainer, "label", "?");
  }
  NoteMissingHosts(host.state);
  const auto attempt = ValueOr(host.state, "attempt", uint64_t{0});
  if (attempt <= attempt_) return;
  attempt_ = attempt;
  if (tells_news_) {
    PrintMessage(StrCat("job ", follow_.job, " has started its trainers again (", attempt, " of ",
                        ValueOr(host.state, "max_restarts", uint64_t{0}), ")"));
  }
}

void JobFollower::NoteMissingHosts(const nlohmann::json& state) {
  if (has_noted_missing_ || !follow_.output) return;
  std::vector<std::string> missing;
  for (const auto& address : TextsIn(state, "trainer_hosts")) {
    const auto is_it = [&address](const HostPlan& plan) { return plan.name == address; };
    if (std::none_of(plans_.begin(), plans_.end(), is_it)) missing.push_back(address);
  }
  if (missing.empty()) return;
  has_noted_missing_ = true;
  PrintMessage(StrCat("job ", follow_.job, " also has trainers on ", Join(missing, ", "),
                      "; to see their output, give the --trainer_hosts of its launch"));
}

void JobFollower::PrintLines(const HostEvent& event) {
  const int rank = ReadOut(event.header).rank;
  const auto found = labels_.find(rank);
  const std::string label = StrCat("[", found == labels_.end() ? "?" : found->second, "] ");
  std::string labelled;
  std::string_view lines = event.text;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1);
    labelled.append(label).append(lines.substr(0, end + 1));
    lines.remove_prefix(end + 1);
  }
  console_.Add(STDOUT_FILENO, labelled);
}

void JobFollower::PrintMessage(const std::string& text) {
  console_.Add(STDERR_FILENO, "graphctl: " + text + "\n");
}

bool JobFollower::AllClosed() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.closed; });
}

int JobFollower::Conclude() {
  const nlohmann::json* outcome = nullptr;  // the host where the job ended first
  int failure = 0;
  size_t told = 0, over = 0;
  for (size_t i = 0; i < hosts_.size(); i++) {
    const Host& host = hosts_[i];
    const std::string& name = plans_[i].name;
    if (!host.error.empty()) {
      PrintMessage(StrCat(name, ": ", host.error));
      if (failure == 0) failure = ExitCode(host.code);
      continue;
    }
    told++;
    if (ValueOr(host.state, "phase", "") == "over") {
      over++;
      const bool earlier =
          !outcome || ValueOr(host.state, "ended_at", 0.0) < ValueOr(*outcome, "ended_at", 0.0);
      if (earlier) outcome = &host.state;
    } else if (!host.lives) {
      PrintMessage(StrCat(name, ": the supervisor of job ", follow_.job,
                          " was killed, or the host was restarted; its trainers ended with it. "
                          "What it said is in ",
                          host.directory, "/supervisor.log there"));
      if (failure == 0) failure = ExitCode(ErrorCode::kUnavailable);
    }
  }
  if (told == 0) return failure;
  if (follow_.until_end && over == 0) {
    if (failure != 0) return failure;
    PrintMessage(StrCat("no host has said how job ", follow_.job, " ended; run the command again"));
    return ExitCode(ErrorCode::kUnavailable);
  }
  if (!outcome || !follow_.until_end) return 0;
  const std::string reason = ValueOr(*outcome, "reason", "");
  const int code = ReadExit(*outcome).code;
  if (tells_news_) {
    PrintMessage(StrCat("job ", follow_.job, " has ended",
                        reason.empty() ? ": every trainer has succeeded" : ": " + reason,
                        code == 0 || follow_.output
                            ? std::string()
                            : StrCat("; `graphctl logs ", follow_.job, "` shows its output")));
  }
  return code;
}

}  // namespace graphd::ctl
