// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace graphd {

// The jobs that have used a resource lately. Jobs that use the resource in turns count as using it
// together, because a trainer computes for a while between two steps that use it. Not thread-safe.
class RecentJobs {
 public:
  static constexpr double kSeconds = 2;

  // Notes that the job uses the resource now.
  void Note(uint64_t job) {
    const Clock::time_point now = Clock::now();
    Entry* known = nullptr;
    for (Entry& each : jobs_) {
      if (each.job == job) known = &each;
    }
    if (known == nullptr) known = &jobs_.emplace_back(Entry{job, now});
    known->last = now;
    if (jobs_.size() < 2) return;
    std::erase_if(jobs_, [&](const Entry& each) { return IsOver(each, now); });
  }
  // Returns whether at most one job has used the resource lately.
  bool is_alone() {
    if (jobs_.size() < 2) return true;
    const Clock::time_point now = Clock::now();
    std::erase_if(jobs_, [&](const Entry& each) { return IsOver(each, now); });
    return jobs_.size() < 2;
  }

 private:
  struct Entry {
    uint64_t job;
    Clock::time_point last;
  };
  static bool IsOver(const Entry& each, Clock::time_point now) {
    return now - each.last > std::chrono::duration<double>(kSeconds);
  }
  std::vector<Entry> jobs_;
};

}  // namespace graphd
