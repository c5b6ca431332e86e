// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "ctl/plan/host_order.h"

namespace graphd::ctl {

// A request to start a job's trainers again, in the form in which the job's directory stores it.
struct RestartRequest {
  std::string id;
  int num_trainers = 0;  // in each slot, from now on; 0: unchanged
  double grace = 0;      // seconds for the running trainers to end; 0: the default
};

// The directory in which the supervisor of a job keeps files that outlive the supervisor: the job's
// state, with the trainers' exit codes, and the trainers' output. Only the user who runs the job
// can read it. It is <base>/jobs-<host>-<user id>/<job>/<port>, so that hosts may share a home
// directory, and a host may serve several daemons. <base> is $GRAPHD_JOBS_DIR, else /var/lib/graphd
// for root, else ~/.local/state/graphd. Not thread-safe.
class JobDirectory {
 public:
  // The maximum number of jobs that are kept on a host. Jobs that `graphctl launch` leads from
  // their start to their end are counted separately from jobs whose hosts decide together. The
  // oldest jobs that have ended are removed first.
  static constexpr size_t kMaxJobs = 32;
  // The size at which the log of a trainer is renamed, and a new one is begun. Each trainer has two
  // files at most.
  static constexpr uint64_t kMaxLogBytes = uint64_t{16} << 20;

  // Makes the directory for a supervisor, and locks it while this object exists. Removes old jobs.
  // Throws Error(kExists) if the job has a supervisor, and Error(kDenied) or Error(kIo) if the
  // directory can't be made.
  static JobDirectory Make(const std::string& job, uint16_t port);
  // Opens the directory of a job to read it. Throws Error(kNotFound), which names the jobs that the
  // host knows.
  static JobDirectory Open(const std::string& job, uint16_t port);
  // Returns whether a host has the job.
  static bool Exists(const std::string& job, uint16_t port);
  // Returns the ports under which this host has the job; none if it doesn't know the job.
  static std::vector<uint16_t> PortsOf(const std::string& job);
  // Returns the ids of the jobs of this user on this host, the latest job first.
  static std::vector<std::string> Jobs();
  // Returns the directory with all jobs of this user on this host.
  static std::string Root();

  const std::string& path() const noexcept { return path_; }
  std::string LogOf(int rank) const;

  void WriteState(const nlohmann::json& state) const;
  // Returns the state that was written last; an empty object if there is none yet.
  nlohmann::json ReadState() const;
  // Returns whether the job's supervisor runs.
  bool IsLive() const;

  // Asks the supervisor to stop the job, and to give its trainers this grace period to end.
  void RequestStop(double grace_seconds) const;
  // Returns the grace period of a stop request that was not taken yet, and removes the request.
  std::optional<double> TakeStopRequest() const;

  // Stores the HostOrder of the job's first host as JSON. Other hosts need it to join the job. It
  // contains the job's secret, and must be removed at the job's end.
  void WriteOrder(const std::string& order) const;
  void RemoveOrder() const;
  // Returns the text that WriteOrder has stored. Throws Error(kNotFound) if there is none.
  std::string ReadOrder() const;

  // Lets no other process restart the job until the result is destroyed. The supervisor has room
  // for one answer only. Throws Error(kExists) if another process has the lock.
  UniqueFd LockRestart(const std::string& job) const;
  // Asks the supervisor of the job's first host to start the trainers again. Returns the id of the
  // request. The supervisor writes its answer, with the same id, into the job's state. Throws
  // Error(kExists) if another request has not been taken yet.
  std::string RequestRestart(const RestartSpec& restart) const;
  // Returns a restart request that was not taken yet, and removes it.
  std::optional<RestartRequest> TakeRestartRequest() const;

 private:
  explicit JobDirectory(std::string path) : path_(std::move(path)) {}
  static void Prune();

  std::string path_;
  UniqueFd lock_;
};

// Returns whether the id can be the name of a directory: 1 to 128 letters, digits, '-', '_' and
// '.', not beginning with '.'. All ids made by `graphctl launch` can.
bool IsJobId(const std::string& job);
// Throws Error(kInvalid) unless IsJobId returns true for the id.
void CheckJobId(const std::string& job);

}  // namespace graphd::ctl
