// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/torchrun_plan.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

// Returns the words of a command that torchrun passes to exec, as text for a shell.
std::string ForExec(const UserCommand& command) {
  if (command.is_shell) return "/bin/sh -c " + ShellQuote(command.words[0]);
  return DisplayCommand(command);
}

}  // namespace

void RunUnderTorchrun(LaunchPlan& plan) {
  const auto nodes = std::ranges::count_if(
      plan.hosts, [](const HostPlan& host) { return !host.order.trainers.empty(); });
  int node = 1;
  for (HostPlan& host : plan.hosts) {
    host.order.job.slots.clear();  // torchrun numbers the trainers
    std::vector<TrainerPlan>& trainers = host.order.trainers;
    if (trainers.empty()) continue;
    // Node 0 is the host on which torchrun listens at MASTER_ADDR. The port is only known when all
    // hosts are ready, so a shell takes it from the environment.
    const std::string text = StrCat(
        "exec torchrun --nnodes ", nodes, " --nproc_per_node ", trainers.size(), " --node_rank ",
        host.order.is_master ? 0 : node++, " --rdzv_id ", ShellQuote(plan.job_id),
        " --master_addr \"$MASTER_ADDR\" --master_port \"$MASTER_PORT\" --no_python ",
        ForExec(host.order.job.command));
    host.order.job.command = {{text}, /*is_shell=*/true};
    trainers.resize(1);
    trainers[0].part = -1;
    trainers[0].is_torchrun = true;
    trainers[0].label = host.name;
  }
}

}  // namespace graphd::ctl
