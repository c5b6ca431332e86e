// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/graphd.capnp.h"

// The messages of supervisors (graphctl's processes on the hosts of a job) to daemons and, through
// the daemons, to one another. Plain values.

namespace graphd {

// The phase of one host's part of a job. The trainers of all hosts start when every host has the
// phase kReady with the same attempt.
enum class JobPhase : uint8_t {
  kPreparing,  // waits for its daemon, or for the end of the trainers of the previous attempt
  kReady,      // may start its trainers
  kRunning,
  kFinished,  // all of its trainers have succeeded
  kFailed,    // a trainer of this attempt has failed; another attempt may follow
  kStopped,   // the job can't continue, or was stopped by a user
  kOver,      // nothing of the job remains on the host
  kAway,      // takes no part in this attempt; waits for the next one
  kLeft,      // takes no part any more; the job goes on
};
inline constexpr int kJobPhases = 9;
inline constexpr double kMaxGraceSeconds = 86400;

// The longest id of a job, and the longest command that is sent and kept, in bytes. Longer ids are
// refused; longer commands are truncated.
inline constexpr size_t kMaxJobId = 256, kMaxCommand = 4096;
// The maximum numbers of a job's hosts and of its places of trainers, and the longest texts of a
// report in bytes.
inline constexpr size_t kMaxJobHosts = 1024, kMaxJobSlots = 4096;
inline constexpr size_t kMaxHostName = 256, kMaxHostReason = 512;

// Returns the phase's name, such as "running".
const char* JobPhaseName(JobPhase phase) noexcept;

// A report of a supervisor about its host's part of a job.
struct JobHost {
  uint32_t host = 0;      // the host's place among those of the job
  uint64_t sequence = 0;  // a report replaces one of its host with a smaller number
  std::string name;
  JobPhase phase = JobPhase::kPreparing;
  uint32_t attempt = 0;  // the number of times that its trainers were started again
  uint16_t port = 0;     // a free port of rank 0's host, for MASTER_PORT; 0: unknown
  int32_t code = 0;      // the exit code, if the part has failed or ended
  double ended_at = 0;   // when it failed or ended, in seconds since 1970; 0: it has not
  // The reason why the part has failed, as a sentence without a full stop. In the phase kAway, the
  // reason why its trainers have ended; empty if only its supervisor was started again.
  std::string reason;
  // The seconds within which trainers must end when the job is stopped. In the first host's plan,
  // also the seconds within which those of the previous attempt must make room for this one.
  double grace = 0;
  // The plan for the attempt. The job's first host makes it, and only its reports have one.
  std::vector<uint32_t> trainers;  // number of trainers in each TrainerSlot; empty: as launched
  std::vector<uint32_t> away;      // the hosts that take no part
  uint32_t uncounted = 0;          // attempts so far that do not count as restarts after a failure

  bool operator==(const JobHost&) const = default;
};

// The record of a job that runs without its launcher. It is kept after the job's end, too.
struct JobRecord {
  std::string job_id, command;
  uint32_t num_hosts = 1;
  uint32_t max_restarts = 0;
  double silent_seconds = 0;  // since the last report
  std::vector<JobHost> hosts;
};

void WriteHost(const JobHost& host, wire::JobHost::Builder out);
// Truncates texts that are too long. Throws Error(kInvalid) for an unknown phase, a grace outside 0
// to kMaxGraceSeconds, a time of the end that is not a finite number, and a plan for too many
// places or hosts.
JobHost ReadHost(wire::JobHost::Reader in);
void WriteRecord(const JobRecord& record, wire::JobRecord::Builder out);
// Throws what ReadHost throws, and Error(kInvalid) for a job id that is too long and for more than
// kMaxJobHosts hosts.
JobRecord ReadRecord(wire::JobRecord::Reader in);

}  // namespace graphd
