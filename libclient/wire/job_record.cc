// SPDX-License-Identifier: Apache-2.0
#include "wire/job_record.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "wire/bounded.h"

namespace graphd {
namespace {

// All hosts of a message may name the same text or list. A few megabytes would then become many
// gigabytes if they were copied before their sizes are checked.

void CheckSize(size_t size, size_t most, const char* what) {
  if (size <= most) return;
  Throw(ErrorCode::kInvalid, "a report of a job has ", size, " ", what, ", expected at most ",
        most);
}

std::vector<uint32_t> ReadNumbers(capnp::List<uint32_t>::Reader in, size_t most, const char* what) {
  CheckSize(in.size(), most, what);
  std::vector<uint32_t> numbers;
  for (const uint32_t number : in) numbers.push_back(number);
  return numbers;
}

std::string ReadText(capnp::Text::Reader in, size_t most) {
  // With one byte more, Truncate can see whether the text continues.
  std::string text(in.begin(), std::min(in.size(), most + 1));
  Truncate(text, most);
  return text;
}

}  // namespace

const char* JobPhaseName(JobPhase phase) noexcept {
  switch (phase) {
    case JobPhase::kPreparing:
      return "preparing";
    case JobPhase::kReady:
      return "ready";
    case JobPhase::kRunning:
      return "running";
    case JobPhase::kFinished:
      return "finished";
    case JobPhase::kFailed:
      return "failed";
    case JobPhase::kStopped:
      return "stopped";
    case JobPhase::kOver:
      return "over";
    case JobPhase::kAway:
      return "away";
    case JobPhase::kLeft:
      return "left";
  }
  return "unknown";
}

void WriteHost(const JobHost& host, wire::JobHost::Builder out) {
  out.setHost(host.host);
  out.setSequence(host.sequence);
  out.setName(host.name);
  out.setPhase(static_cast<uint8_t>(host.phase));
  out.setAttempt(host.attempt);
  out.setPort(host.port);
  out.setCode(host.code);
  out.setEndedAt(host.ended_at);
  out.setReason(host.reason);
  out.setGrace(host.grace);
  out.setTrainers(kj::arrayPtr(host.trainers.data(), host.trainers.size()));
  out.setAway(kj::arrayPtr(host.away.data(), host.away.size()));
  out.setUncounted(host.uncounted);
}

JobHost ReadHost(wire::JobHost::Reader in) {
  if (in.getPhase() >= kJobPhases) {
    Throw(ErrorCode::kInvalid, "a job report has phase ", +in.getPhase(), ", expected 0 to ",
          kJobPhases - 1, "; its sender may have a newer version");
  }
  // These numbers are checked, because others later convert them to whole numbers or sort by them.
  if (!(in.getGrace() >= 0 && in.getGrace() <= kMaxGraceSeconds)) {
    Throw(ErrorCode::kInvalid, "a report of a job gives its trainers ", in.getGrace(),
          " s to end; expected 0 to ", kMaxGraceSeconds);
  }
  if (!std::isfinite(in.getEndedAt())) {
    Throw(ErrorCode::kInvalid, "a report of a job has an end at no time: ", in.getEndedAt());
  }
  return {in.getHost(),
          in.getSequence(),
          ReadText(in.getName(), kMaxHostName),
          static_cast<JobPhase>(in.getPhase()),
          in.getAttempt(),
          in.getPort(),
          in.getCode(),
          in.getEndedAt(),
          ReadText(in.getReason(), kMaxHostReason),
          in.getGrace(),
          ReadNumbers(in.getTrainers(), kMaxJobSlots, "numbers of trainers"),
          ReadNumbers(in.getAway(), kMaxJobHosts, "hosts that are away"),
          in.getUncounted()};
}

void WriteRecord(const JobRecord& record, wire::JobRecord::Builder out) {
  out.setJobId(record.job_id);
  out.setCommand(record.command);
  out.setNumHosts(record.num_hosts);
  out.setMaxRestarts(record.max_restarts);
  out.setSilentSeconds(record.silent_seconds);
  auto hosts = out.initHosts(static_cast<kj::uint>(record.hosts.size()));
  for (kj::uint i = 0; i < hosts.size(); i++) WriteHost(record.hosts[i], hosts[i]);
}

JobRecord ReadRecord(wire::JobRecord::Reader in) {
  CheckSize(in.getHosts().size(), kMaxJobHosts, "hosts");
  JobRecord record{BoundedText(in.getJobId(), kMaxJobId, "the job id"),
                   ReadText(in.getCommand(), kMaxCommand),
                   in.getNumHosts(),
                   in.getMaxRestarts(),
                   in.getSilentSeconds(),
                   {}};
  for (auto host : in.getHosts()) record.hosts.push_back(ReadHost(host));
  return record;
}

}  // namespace graphd
