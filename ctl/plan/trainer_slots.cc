// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/trainer_slots.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

void Check(const std::vector<uint32_t>& trainers, const JobSpec& job) {
  if (trainers.size() != job.slots.size()) {
    Throw(ErrorCode::kInvalid, "job ", job.job_id, " has trainers in ", job.slots.size(),
          " places, but its first host numbers those of ", trainers.size());
  }
  for (const uint32_t count : trainers) {
    if (count > kMaxTrainersPerSlot) {
      Throw(ErrorCode::kInvalid, "job ", job.job_id, " can't have ", count,
            " trainers in one place, as its first host has planned; at most ", kMaxTrainersPerSlot,
            " are allowed");
    }
  }
  if (NumTrainers(trainers) == 0) {
    Throw(ErrorCode::kInvalid, "job ", job.job_id,
          " can't go on: its first host has planned an attempt without any trainer; launch the job "
          "again");
  }
}

}  // namespace

std::vector<uint32_t> TrainersAtLaunch(const JobSpec& job) {
  std::vector<uint32_t> trainers;
  for (const TrainerSlot& slot : job.slots) trainers.push_back(slot.trainers);
  return trainers;
}

std::vector<uint32_t> WithoutHosts(std::vector<uint32_t> trainers, const JobSpec& job,
                                   const std::vector<uint32_t>& away) {
  for (size_t i = 0; i < std::min(trainers.size(), job.slots.size()); i++) {
    const auto host = static_cast<uint32_t>(job.slots[i].host);
    if (std::ranges::find(away, host) != away.end()) trainers[i] = 0;
  }
  return trainers;
}

int64_t NumTrainers(const std::vector<uint32_t>& trainers) {
  return std::accumulate(trainers.begin(), trainers.end(), int64_t{0});
}

bool OnlyComputes(const JobSpec& job, uint32_t host) {
  return std::ranges::any_of(job.slots, [host](const TrainerSlot& slot) {
    return static_cast<uint32_t>(slot.host) == host && slot.part < 0;
  });
}

void AssignTrainers(const std::vector<uint32_t>& trainers, HostOrder& order) {
  JobSpec& job = order.job;
  Check(trainers, job);
  const int own = order.meeting.host;
  int machine = -1;
  for (const TrainerSlot& slot : job.slots) {
    if (slot.host == own) machine = slot.machine;
  }
  order.trainers.clear();
  order.trainers_on_machine = 0;
  order.is_master = false;
  job.world_size = 0;
  job.remote_trainers = 0;
  for (size_t i = 0; i < trainers.size(); i++) {
    const TrainerSlot& slot = job.slots[i];
    const int count = static_cast<int>(trainers[i]);
    if (job.world_size == 0 && count > 0) {
      job.master_addr = slot.address;
      order.is_master = slot.host == own;
    }
    if (slot.part < 0) job.remote_trainers += count;
    if (slot.machine == machine) order.trainers_on_machine += count;
    for (int local = 0; local < count; local++) {
      const int rank = job.world_size++;
      if (slot.host != own) continue;
      order.trainers.push_back(
          {rank, local, count, slot.part, StrCat(order.meeting.name, ":", rank)});
    }
  }
}

HostOrder DecodeJobOrder(const std::string& text, const std::string& job) {
  HostOrder order = DecodeOrder(text);
  if (order.job.job_id != job) {
    Throw(ErrorCode::kCorrupt, "the job's first host has told the order of job '", order.job.job_id,
          "', not of job ", job);
  }
  order.action = HostAction::kRun;
  return order;
}

HostOrder JoinOrder(HostOrder first_host, const TrainerSlot& slot) {
  HostOrder order = std::move(first_host);
  order.only_trainers = true;
  order.server.address = slot.address;
  order.server.port = 0;
  order.server.parts.clear();
  order.host_timeout = 0;
  order.meeting.host = slot.host;
  order.meeting.name = slot.address;
  order.meeting.joins = true;
  order.trainers.clear();
  order.is_master = false;
  return order;
}

}  // namespace graphd::ctl
