// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/jobs/job_follower.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "ctl/hosts/frame_contents.h"
#include "ctl/plan/attempt_plan.h"
#include "ctl/plan/json_value.h"
#include "ctl/ssh/ssh_link.h"

namespace graphd::ctl {

namespace {

std::vector<HostPlan> WithFollow(std::vector<HostPlan> plans, const FollowSpec& follow) {
  for (HostPlan& plan : plans) plan.order.follow = follow;
  return plans;
}

std::vector<std::string> NamesOf(const std::vector<HostPlan>& plans) {
  std::vector<std::string> names;
  for (const HostPlan& plan : plans) names.push_back(plan.name);
  return names;
}

}  // namespace

JobFollower::JobFollower(const std::vector<HostPlan>& hosts, const HostOptions& options,
                         FollowSpec follow, bool tells_news)
    : HostFollower(WithFollow(hosts, follow), NamesOf(hosts),
                   LinksOverSsh(options.own_path, options.graphctl, options.ssh)),
      follow_(std::move(follow)),
      tells_news_(tells_news),
      hosts_(hosts.size()) {}

void JobFollower::OnSignal() {
  if (!follow_.until_end) return;
  PrintMessage(StrCat("job ", follow_.job, " goes on; `graphctl stop ", follow_.job,
                      "` with the same options ends it"));
}

bool JobFollower::HasToldAll(size_t host, const HostEvent& closed) const {
  return closed.text.empty() && !hosts_[host].state.is_null();
}

void JobFollower::OnFrame(size_t host, const std::string& kind, const HostEvent& event) {
  if (kind == "out") {
    PrintLines(event);
  } else if (kind == "job") {
    OnState(host, event.header);
  }
}

void JobFollower::OnState(size_t index, const nlohmann::json& header) {
  Host& host = hosts_[index];
  host.state = ValueOr(header, "state", nlohmann::json::object());
  host.lives = ValueOr(header, "lives", false);
  host.directory = ValueOr(header, "directory", "");
  for (const nlohmann::json& trainer : ValueOr(host.state, "trainers", nlohmann::json::array())) {
    labels_[{index, ValueOr(trainer, "rank", -1)}] = ValueOr(trainer, "label", "?");
  }
  NoteMissingHosts(host.state);
  const auto attempt = ValueOr(host.state, "attempt", uint64_t{0});
  // A host that is preparing an attempt is ignored, because its state does not have the new number
  // of trainers yet.
  if (attempt <= attempt_ || ValueOr(host.state, "phase", "") == "preparing") return;
  attempt_ = attempt;
  if (tells_news_) {
    const std::string text = AttemptText(ValueOr(host.state, "world_size", 0),
                                         ValueOr(host.state, "restarts", uint64_t{0}),
                                         ValueOr(host.state, "max_restarts", uint64_t{0}));
    PrintMessage(StrCat("job ", follow_.job, " has started again ", text));
  }
}

void JobFollower::NoteMissingHosts(const nlohmann::json& state) {
  if (has_noted_missing_ || !follow_.output) return;
  std::vector<std::string> missing;
  for (const auto& address : TextsIn(state, "trainer_hosts")) {
    bool is_asked = false;
    for (size_t i = 0; i < num_hosts(); i++) is_asked |= label(i) == address;
    if (!is_asked) missing.push_back(address);
  }
  if (missing.empty()) return;
  has_noted_missing_ = true;
  PrintMessage(StrCat("job ", follow_.job, " also has trainers on ", Join(missing, ", "),
                      "; to see their output, give the --trainer_hosts of its launch"));
}

void JobFollower::PrintLines(const HostEvent& event) {
  const int rank = ReadOut(event.header).rank;
  const auto found = labels_.find({event.host, rank});
  const std::string label = StrCat("[", found == labels_.end() ? "?" : found->second, "] ");
  std::string labelled;
  std::string_view lines = event.text;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1);
    labelled.append(label).append(lines.substr(0, end + 1));
    lines.remove_prefix(end + 1);
  }
  Print(labelled);
}

int JobFollower::Conclude() {
  const nlohmann::json* outcome = nullptr;  // the host where the job ended first
  int failure = 0;
  size_t told = 0, over = 0;
  for (size_t i = 0; i < hosts_.size(); i++) {
    const Host& host = hosts_[i];
    if (!error(i).empty()) {
      PrintMessage(StrCat(label(i), ": ", error(i)));
      if (failure == 0) failure = ExitCode(code(i));
      continue;
    }
    told++;
    if (ValueOr(host.state, "phase", "") == "over") {
      over++;
      const bool earlier =
          !outcome || ValueOr(host.state, "ended_at", 0.0) < ValueOr(*outcome, "ended_at", 0.0);
      if (earlier) outcome = &host.state;
    } else if (ValueOr(host.state, "phase", "") == "left") {
      PrintMessage(StrCat(label(i), ": it has left job ", follow_.job,
                          ", which goes on: ", ValueOr(host.state, "reason", "")));
    } else if (!host.lives) {
      PrintMessage(
          StrCat(label(i), ": the supervisor of job ", follow_.job,
                 " was killed, or the host was restarted; its trainers ended with it",
                 ValueOr(host.state, "detached", false)
                     ? StrCat(". What it said is in ", host.directory, "/supervisor.log there")
                     : ""));
      if (failure == 0) failure = ExitCode(ErrorCode::kUnavailable);
    }
  }
  if (told == 0) return failure;
  if (follow_.until_end && over == 0) {
    if (failure != 0) return failure;
    PrintMessage(
        StrCat("no host has reported how job ", follow_.job, " ended; run the command again"));
    return ExitCode(ErrorCode::kUnavailable);
  }
  if (!outcome || !follow_.until_end) return 0;
  const std::string reason = ValueOr(*outcome, "reason", "");
  const int exit_code = ReadExit(*outcome).code;
  if (tells_news_) {
    PrintMessage(StrCat("job ", follow_.job, " has ended",
                        reason.empty() ? ": every trainer has succeeded" : ": " + reason,
                        exit_code == 0 || follow_.output
                            ? std::string()
                            : StrCat("; `graphctl logs ", follow_.job, "` shows its output")));
  }
  return exit_code;
}

}  // namespace graphd::ctl
