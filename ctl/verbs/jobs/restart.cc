// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/plan/trainer_slots.h"
#include "ctl/verbs/jobs/job_options.h"
#include "ctl/verbs/verbs.h"
#include "wire/job_record.h"

namespace graphd::ctl {
namespace {

constexpr const char* kRestartExamples = R"(
Ends the trainers of a detached job and starts them again, with GRAPHD_RESTART_COUNT in their
environment, so that they resume from the job's last checkpoint; with --num_trainers, more or fewer
of them. Hosts that were lost and are back take part again: those of --trainer_hosts or, on a host of
the job, of its launch. It does not count for --max_restarts.

Examples:
  graphctl restart 1120-130501-4711 --num_trainers 4 --ip_config ip_config.txt
  graphctl restart 1120-130501-4711 --grace 60         # on a host of the job
)";

struct RestartArguments {
  JobOptions job;
  RestartSpec restart;
};

// Sends an order to the job's first host. Returns the frame of the kind `kind` in its answer.
nlohmann::json AskFirstHost(const HostPlan& first, HostAction action, const RestartSpec& restart,
                            const HostOptions& options, const char* kind) {
  HostPlan asked = first;
  asked.order.action = action;
  asked.order.restart = restart;
  const HostAnswer answer = AskHosts({asked}, options)[0];
  if (!answer.ok) Throw(answer.code, first.name, ": ", answer.error);
  for (const nlohmann::json& frame : answer.frames) {
    if (ValueOr(frame, "t", "") == kind) return frame;
  }
  Throw(ErrorCode::kInternal, first.name, " has answered without '", kind, "'");
}

// Returns the hosts that run trainers only and can be reached, but have no supervisor of the job,
// because the host was rebooted or because the supervisor was killed.
std::vector<HostPlan> HostsWithoutSupervisor(std::vector<HostPlan> plan,
                                             const JobOptions& options) {
  std::erase_if(plan, [](const HostPlan& host) { return !host.order.only_trainers; });
  for (HostPlan& host : plan) {
    host.order.action = HostAction::kFollowJob;
    host.order.follow = {options.job, false, 0, false};
  }
  if (plan.empty()) return plan;
  const std::vector<HostAnswer> answers = AskHosts(plan, options.hosts);
  std::vector<HostPlan> found;
  for (size_t i = 0; i < plan.size(); i++) {
    bool lives = !answers[i].ok && answers[i].code != ErrorCode::kNotFound;
    if (lives) {
      std::fprintf(stderr, "graphctl: %s: %s\n", plan[i].name.c_str(), answers[i].error.c_str());
    }
    for (const nlohmann::json& frame : answers[i].frames) lives |= ValueOr(frame, "lives", false);
    if (!lives) found.push_back(plan[i]);
  }
  return found;
}

// Starts a supervisor, which waits for the next attempt, on each host that has none. Returns the
// numbers of these hosts.
std::vector<uint32_t> StartSupervisors(const std::vector<HostPlan>& plan,
                                       const JobOptions& options) {
  std::vector<HostPlan> missing = HostsWithoutSupervisor(plan, options);
  std::vector<uint32_t> started;
  if (missing.empty()) return started;
  const nlohmann::json told = AskFirstHost(plan[0], HostAction::kTellJobOrder,
                                           {options.job, 0, 0, {}}, options.hosts, "order");
  const HostOrder first = DecodeJobOrder(ValueOr(told, "order", ""), options.job);
  const std::vector<TrainerSlot>& slots = first.job.slots;
  std::erase_if(missing, [&slots](const HostPlan& host) {
    return std::ranges::find(slots, host.order.server.address, &TrainerSlot::address) ==
           slots.end();
  });
  for (HostPlan& host : missing) {
    host.order = JoinOrder(
        first, *std::ranges::find(slots, host.order.server.address, &TrainerSlot::address));
  }
  if (missing.empty()) return started;
  const std::vector<HostAnswer> answers = AskHosts(missing, options.hosts);
  for (size_t i = 0; i < missing.size(); i++) {
    if (answers[i].ok) {
      started.push_back(static_cast<uint32_t>(missing[i].order.meeting.host));
    } else {
      std::fprintf(stderr, "graphctl: %s: %s\n", missing[i].name.c_str(), answers[i].error.c_str());
    }
  }
  return started;
}

void Restart(RestartArguments& arguments) {
  JobOptions& options = arguments.job;
  const std::vector<HostPlan> plan = PlanJobHosts(options, HostAction::kRestartJob);
  arguments.restart.job = options.job;
  arguments.restart.joining = StartSupervisors(plan, options);
  // The job's first host plans each attempt.
  const nlohmann::json frame =
      AskFirstHost(plan[0], HostAction::kRestartJob, arguments.restart, options.hosts, "restarted");
  const int num_trainers = ValueOr(frame, "world_size", 0);
  const std::vector<std::string> away = TextsIn(frame, "away");
  std::printf("started job %s again with %d trainer%s%s\n", options.job.c_str(), num_trainers,
              num_trainers == 1 ? "" : "s",
              away.empty() ? "" : StrCat(", without ", Join(away, ", ")).c_str());
}

}  // namespace

void AddRestart(CLI::App& app) {
  auto arguments = std::make_shared<RestartArguments>();
  CLI::App* verb = app.add_subcommand("restart", "Start the trainers of a detached job again");
  verb->footer(kRestartExamples);
  AddJobOptions(*verb, arguments->job);
  verb->add_option(Flags("num_trainers"), arguments->restart.num_trainers,
                   "Trainers of each ip_config line and host of --trainer_hosts from now on "
                   "(default: as many as before)")
      ->check(CLI::Range(1, static_cast<int>(kMaxTrainersPerSlot)));
  verb->add_option("--grace", arguments->restart.grace,
                   "Seconds that the trainers have from SIGTERM to SIGKILL (default: 0.6)")
      ->check(CLI::Range(0.0, kMaxGraceSeconds));
  verb->callback([arguments] { Restart(*arguments); });
}

}  // namespace graphd::ctl
