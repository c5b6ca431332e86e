// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/graph_versions.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

// Names a version in messages.
std::string NameOf(const GraphVersion& version) {
  return StrCat(version.part_config, " (fingerprint ", version.fingerprint, ")");
}

}  // namespace

GraphVersions::GraphVersions(VersionPtr first, Grace grace)
    : grace_(grace), current_(std::move(first)) {}

VersionPtr GraphVersions::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

VersionPtr GraphVersions::Find(const std::string& id) const {
  if (current_->id == id) return current_;
  for (const Earlier& each : earlier_) {
    if (each.version->id == id) return each.version;
  }
  return nullptr;
}

VersionPtr GraphVersions::Use(const std::string& job_id, const std::optional<std::string>& wanted) {
  const MutexLock lock(mutex_);
  if (const auto known = of_job_.find(job_id); known != of_job_.end()) {
    if (!wanted || known->second->id == *wanted) return known->second;
    Throw(ErrorCode::kInvalid, "job ", job_id, " uses ", NameOf(*known->second),
          " at this graphd, and another version of the graph at another one, because the server ",
          "was switched to another version while the job started; start the job again");
  }
  VersionPtr version = wanted ? Find(*wanted) : current_;
  if (version == nullptr) {
    if (!coming_.empty() && coming_ == *wanted) {
      Throw(ErrorCode::kUnavailable, "this graphd is being switched to the version of the graph ",
            "that job ", job_id, " uses; try again");
    }
    Throw(ErrorCode::kInvalid, "this graphd serves ", NameOf(*current_),
          ", and no longer the version of the graph that job ", job_id,
          " began with: it was switched to another one (graphctl server switch) and the job has "
          "lost its connections, or graphd was started again; start the job again");
  }
  of_job_[job_id] = version;
  departed_.erase(job_id);
  return version;
}

void GraphVersions::OnJobLeft(const std::string& job_id) {
  const MutexLock lock(mutex_);
  const auto found = of_job_.find(job_id);
  if (found == of_job_.end()) return;
  ForgetDeparted();
  if (departed_.size() >= JobRegistry::kMaxRemembered) {
    departed_.erase(std::min_element(
        departed_.begin(), departed_.end(),
        [](const auto& a, const auto& b) { return a.second.left < b.second.left; }));
  }
  departed_[job_id] = {std::move(found->second), Clock::now()};
  of_job_.erase(found);
}

void GraphVersions::OnJobEnded(const std::string& job_id) {
  const MutexLock lock(mutex_);
  departed_.erase(job_id);
}

void GraphVersions::ForgetDeparted() {
  std::erase_if(departed_, [this](const auto& entry) {
    return SecondsSince(entry.second.left) >= grace_.after_job;
  });
}

void GraphVersions::SetComing(std::string id) {
  const MutexLock lock(mutex_);
  coming_ = std::move(id);
}

void GraphVersions::Switch(VersionPtr next) {
  const MutexLock lock(mutex_);
  earlier_.push_back({std::exchange(current_, std::move(next)), Clock::now()});
  coming_.clear();
}

size_t GraphVersions::JobsOf(const VersionPtr& version) const {
  return static_cast<size_t>(std::count_if(
      of_job_.begin(), of_job_.end(), [&](const auto& entry) { return entry.second == version; }));
}

std::vector<VersionPtr> GraphVersions::TakeUnused() {
  const MutexLock lock(mutex_);
  ForgetDeparted();
  std::vector<VersionPtr> unused;
  for (auto each = earlier_.begin(); each != earlier_.end();) {
    const bool may_be_wanted =
        std::any_of(departed_.begin(), departed_.end(),
                    [&](const auto& entry) { return entry.second.version == each->version; });
    const bool is_used = JobsOf(each->version) > 0 || may_be_wanted ||
                         SecondsSince(each->switched) < grace_.after_switch;
    if (is_used) {
      ++each;
      continue;
    }
    unused.push_back(std::move(each->version));
    each = earlier_.erase(each);
  }
  return unused;
}

std::vector<GraphVersions::VersionUse> GraphVersions::All() const {
  const MutexLock lock(mutex_);
  std::vector<VersionUse> all = {{current_, true, JobsOf(current_)}};
  for (const Earlier& each : earlier_) all.push_back({each.version, false, JobsOf(each.version)});
  return all;
}

VersionPtr GraphVersions::Of(const std::string& job_id) const {
  const MutexLock lock(mutex_);
  const auto found = of_job_.find(job_id);
  return found == of_job_.end() ? current_ : found->second;
}

}  // namespace graphd
