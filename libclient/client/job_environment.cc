// SPDX-License-Identifier: Apache-2.0
#include "client/job_environment.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/host_name.h"
#include "base/strings.h"
#include "client/environment.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr int kMostTrainers = 1 << 20;

// The task that srun has started in this process.
struct SlurmTask {
  std::string job_id;
  int rank, world_size, local_rank, local_world_size;
};

// Returns the number of tasks on a node from Slurm's list of the tasks per node, in which "4(x2),3"
// stands for 4, 4 and 3; nothing if the list is shorter. `most` is the number of all tasks.
std::optional<int> TasksOnNode(std::string_view list, int node, int most) {
  const std::string what = StrCat("SLURM_STEP_TASKS_PER_NODE '", list, "'");
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    const size_t times = entry.find("(x");
    int nodes = 1;
    if (times != std::string_view::npos) {
      std::string_view count = entry.substr(times + 2);
      if (!count.ends_with(')')) Throw(ErrorCode::kInvalid, what, ": expected 4(x2),3 or the like");
      count.remove_suffix(1);
      nodes = static_cast<int>(ParseInt(count, what, 1, kMostTrainers));
    }
    if (node < nodes) {
      return static_cast<int>(ParseInt(entry.substr(0, times), what, 1, most));
    }
    node -= nodes;
  }
  return std::nullopt;
}

std::optional<SlurmTask> FindSlurmTask() {
  const std::string job = EnvironmentText("SLURM_JOB_ID"), step = EnvironmentText("SLURM_STEP_ID");
  // Slurm's own steps, such as an interactive shell, have the largest ids of the range, and the
  // processes in them are not tasks that srun has started one by one.
  constexpr int64_t kLargestStep = 0xffff0000;
  if (job.empty() || step.empty() || ParseInt(step, "SLURM_STEP_ID", 0, INT64_MAX) > kLargestStep) {
    return std::nullopt;
  }
  // A task alone is not a job of several trainers: processes in a shell that srun has started are
  // independent of one another.
  if (EnvironmentInt("SLURM_STEP_NUM_TASKS", 1, 1, kMostTrainers) == 1) return std::nullopt;
  SlurmTask task;
  task.job_id = StrCat("slurm-", job, ".", step);
  task.world_size = EnvironmentInt("SLURM_STEP_NUM_TASKS", 1, 1, kMostTrainers);
  task.rank = EnvironmentInt("SLURM_PROCID", 0, 0, task.world_size - 1);
  task.local_rank = EnvironmentInt("SLURM_LOCALID", 0, 0, task.world_size - 1);
  const int node = EnvironmentInt("SLURM_NODEID", 0, 0, kMostTrainers);
  const auto tasks =
      TasksOnNode(EnvironmentText("SLURM_STEP_TASKS_PER_NODE"), node, task.world_size);
  task.local_world_size = std::max(tasks.value_or(1), task.local_rank + 1);
  return task;
}

// Returns the id of a job that PyTorch's own variables determine, or nothing.
std::string TorchJobId(int world_size) {
  // Without --rdzv_id, torchrun calls every run "none".
  const std::string run = EnvironmentText("TORCHELASTIC_RUN_ID");
  if (!run.empty() && run != "none") return "torchrun-" + run;
  const std::string host = EnvironmentText("MASTER_ADDR"), port = EnvironmentText("MASTER_PORT");
  if (world_size < 2 || host.empty() || port.empty()) return "";
  // The name of the machine tells jobs on different machines apart: every machine has this address
  // and, in torchrun, the same default port.
  const std::string machine = IsLoopbackAddress(host) ? "@" + HostName() : "";
  return StrCat("torch-", host, ":", port, machine);
}

}  // namespace

JobEnvironment ReadJobEnvironment() {
  JobEnvironment job;
  const std::optional<SlurmTask> slurm = FindSlurmTask();
  // If WORLD_SIZE is set, too, a launcher of PyTorch runs in the task of Slurm and has started
  // several trainers in it, which Slurm does not number.
  if (slurm && EnvironmentText("WORLD_SIZE").empty()) {
    job = {slurm->job_id, slurm->rank, slurm->world_size, slurm->local_rank,
           slurm->local_world_size};
  } else {
    job.world_size = EnvironmentInt("WORLD_SIZE", 1, 1, kMostTrainers);
    job.rank = EnvironmentInt("RANK", 0, 0, job.world_size - 1);
    job.local_rank = EnvironmentInt("LOCAL_RANK", 0, 0, kMostTrainers);
    job.local_world_size = EnvironmentInt("LOCAL_WORLD_SIZE", 1, 1, kMostTrainers);
    job.job_id = TorchJobId(job.world_size);
    if (job.job_id.empty() && slurm) job.job_id = slurm->job_id;
  }
  const std::string given = EnvironmentText("GRAPHD_JOB_ID");
  if (!given.empty()) job.job_id = given;
  return job;
}

}  // namespace graphd
