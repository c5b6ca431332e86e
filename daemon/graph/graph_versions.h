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

  // The id that all daemons of a server have for it, from the switch that brought it; empty if it
  // is the one that the server was first started with.
  std::string id;
  std::string part_config;
  std::string fingerprint;  // tells the files that this daemon has read
  std::shared_ptr<ServedGraph> graph;
};
using VersionPtr = std::shared_ptr<const GraphVersion>;

// The versions of the graph: the current one, which new jobs get, and earlier ones that jobs still
// use. A job keeps the version that it began with. Owned by the main thread, and outlives every
// connection. Thread-safe: everything is guarded by one mutex.
class GraphVersions {
 public:
  // A version is kept for this many seconds after a job that used it has left, because a job whose
  // connections were cut may come back; and after the switch to another one, because trainers of a
  // job that has just begun may still have to attach here.
  struct Grace {
    double after_job = JobRegistry::kRememberSeconds;
    double after_switch = 10;
  };

  explicit GraphVersions(VersionPtr first) : GraphVersions(std::move(first), Grace()) {}
  GraphVersions(VersionPtr first, Grace grace);
  GraphVersions(const GraphVersions&) = delete;
  GraphVersions& operator=(const GraphVersions&) = delete;

  VersionPtr current() const;
  // Returns the version of a member that has joined its job. The first member decides the job's: it
  // is the current one or, if `wanted` is given, the one with this id, because the job has another
  // daemon's already. Throws Error(kUnavailable) if `wanted` is about to be served here, and
  // Error(kInvalid) if it is not, or if the job has another version here.
  VersionPtr Use(const std::string& job_id, const std::optional<std::string>& wanted);
  // Notes that the last member of a job has left.
  void OnJobLeft(const std::string& job_id);
  // Notes that a job which has left can't come back.
  void OnJobEnded(const std::string& job_id);

  // Announces the id of a version that is ready to be served, or with an empty id that none is.
  void SetComing(std::string id);
  // Makes a version the current one. Jobs keep what they have.
  void Switch(VersionPtr next);

  // Takes out the earlier versions that nobody uses any more. Their memory is free as soon as the
  // caller drops them, and the last call that reads them has ended.
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
