// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "daemon/graph/served_graph.h"
#include "daemon/requests/job_registry.h"

namespace graphd {

// A version of the graph that a daemon serves. It does not change.
struct GraphVersion {
  static constexpr size_t kMaxId = 64;  // bytes

  // The id of the version. An operator's switch to the version (`graphctl server switch`) gives it
  // the same id at all daemons of a server. Empty for the version with which the server was first
  // started.
  std::string id;
  std::string part_config;
  std::string fingerprint;  // identifies the files that this daemon has read
  std::shared_ptr<ServedGraph> graph;
};
using VersionPtr = std::shared_ptr<const GraphVersion>;

// The versions of the graph: the current one, which new jobs get, and earlier ones that jobs still
// use. A job keeps the version that it began with. Owned by the main thread, and outlives every
// connection. Thread-safe: everything is guarded by one mutex.
class GraphVersions {
 public:
  // The seconds for which a version is kept. `after_job`: after a job that used it has left,
  // because a job whose connections were cut may come back. `after_switch`: after the switch to
  // another version, because trainers of a job that has just begun may still have to attach here.
  struct Grace {
    double after_job = JobRegistry::kRememberSeconds;
    double after_switch = 10;
  };

  explicit GraphVersions(VersionPtr first) : GraphVersions(std::move(first), Grace()) {}
  GraphVersions(VersionPtr first, Grace grace);
  GraphVersions(const GraphVersions&) = delete;
  GraphVersions& operator=(const GraphVersions&) = delete;

  VersionPtr current() const;
  // Returns the version for a member that has joined its job. The first member decides the version
  // of the job: the current version or, if `wanted` is given, the version with this id, because the
  // job uses it at another daemon already. Throws Error(kUnavailable) if `wanted` is about to be
  // served here, and Error(kInvalid) if this daemon does not have it or if the job uses another
  // version here.
  VersionPtr Use(const std::string& job_id, const std::optional<std::string>& wanted);
  // Records that the last member of a job has left.
  void OnJobLeft(const std::string& job_id);
  // Records that a job which has left can't come back, so that its version may be freed.
  void OnJobEnded(const std::string& job_id);

  // Sets the id of the version that is about to be served, or an empty id if there is none.
  void SetComing(std::string id);
  // Makes a version the current one. Jobs keep the versions that they use.
  void Switch(VersionPtr next);

  // Removes and returns the earlier versions that no job uses any more. Their memory is freed when
  // the caller has dropped them and the last call that reads them has ended.
  std::vector<VersionPtr> TakeUnused();

  // The state of one version, for status.
  struct VersionUse {
    VersionPtr version;
    bool is_current = false;
    size_t jobs = 0;
  };
  // Returns all versions, the current one first.
  std::vector<VersionUse> All() const;
  // Returns the version of a job; the current one for a job that has none.
  VersionPtr Of(const std::string& job_id) const;

 private:
  struct Earlier {
    VersionPtr version;
    Clock::time_point switched;
  };
  struct Departed {
    VersionPtr version;
    Clock::time_point left;
  };
  VersionPtr Find(const std::string& id) const GRAPHD_REQUIRES(mutex_);
  size_t JobsOf(const VersionPtr& version) const GRAPHD_REQUIRES(mutex_);
  void ForgetDeparted() GRAPHD_REQUIRES(mutex_);

  const Grace grace_;
  mutable Mutex mutex_;
  VersionPtr current_ GRAPHD_GUARDED_BY(mutex_);
  std::list<Earlier> earlier_ GRAPHD_GUARDED_BY(mutex_);
  std::map<std::string, VersionPtr> of_job_ GRAPHD_GUARDED_BY(mutex_);
  // Jobs that have left, and may come back.
  std::map<std::string, Departed> departed_ GRAPHD_GUARDED_BY(mutex_);
  std::string coming_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
