// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace graphd {

// A job among others that share a resource, and its weight: a job of weight 2 gets twice as much as
// one of weight 1 while both want more than they get.
struct JobShare {
  JobShare(uint64_t number = 0, double its_weight = 1) : job(number), weight(its_weight) {}
  uint64_t job;
  double weight;
};

// Waiting items of several jobs. The next item is that of the job that has been served least, not
// the one that has waited longest: however much one job asks for, each gets its share of the
// service, and a job that asks for little does not wait behind one that asks for much. Items of one
// job keep their order. (Goyal et al., "Start-time fair queueing", 1996.)
// Not thread-safe.
template <class Item>
class FairQueue {
 public:
  // The service of one item. Its cost is known only at the end; until then, the average cost of the
  // job's items is assumed.
  struct Turn {
    uint64_t job;
    double charged;  // the assumed cost, divided by the weight
  };

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }
  size_t size_of(uint64_t job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? 0 : found->second.waiting.size();
  }
  // Returns the number of the job's items that are being served.
  size_t running(uint64_t job) const {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? 0 : found->second.running;
  }
  // Returns the number of jobs that have items which wait or are being served.
  size_t num_active() const noexcept {
    return static_cast<size_t>(std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) {
      return entry.second.running > 0 || !entry.second.waiting.empty();
    }));
  }

  void Put(const JobShare& share, Item item) {
    Job& of = jobs_.try_emplace(share.job).first->second;
    of.weight = share.weight;
    of.waiting.push_back(std::move(item));
    size_++;
    // A job gets no credit for the time in which it asked for nothing.
    if (of.running == 0 && of.waiting.size() == 1) of.served = std::max(of.served, now_);
  }

  // Returns the job whose item is the next one, among the jobs for which may_run(job) is true.
  // Returns kNone if no such job has a waiting item.
  static constexpr uint64_t kNone = UINT64_MAX;
  template <class F>
  uint64_t Next(F&& may_run) const {
    const std::pair<const uint64_t, Job>* next = nullptr;
    for (const auto& entry : jobs_) {
      if (entry.second.waiting.empty() || !may_run(entry.first)) continue;
      if (next == nullptr || entry.second.served < next->second.served) next = &entry;
    }
    return next == nullptr ? kNone : next->first;
  }
  uint64_t Next() const {
    return Next([](uint64_t) { return true; });
  }
  // Returns the next job among those that leave one of `num_threads` threads to the others if
  // another of their items is served. Any job may have the only thread.
  uint64_t NextThatLeavesOne(size_t num_threads) const {
    const size_t most = std::max<size_t>(num_threads, 2) - 1;
    return Next([&](uint64_t job) { return running(job) < most; });
  }

  // Returns the job's first item. Requires: size_of(job) > 0.
  Item& Front(uint64_t job) { return jobs_.find(job)->second.waiting.front(); }
  // Begins to serve the job's first item. The item moves to the end of the job's queue if `again`,
  // and is removed from the queue otherwise. If this throws because memory has run out, nothing has
  // changed.
  Turn Begin(uint64_t job, bool again) {
    Job& of = jobs_.find(job)->second;
    if (again) of.waiting.push_back(of.waiting.front());
    of.waiting.pop_front();
    if (!again) size_--;
    now_ = std::max(now_, of.served);
    of.running++;
    const double charged = of.average / of.weight;
    of.served += charged;
    return {job, charged};
  }
  void End(const Turn& turn, double cost) {
    constexpr double kSmoothing = 0.25;
    const auto found = jobs_.find(turn.job);
    Job& of = found->second;
    of.running--;
    of.served += cost / of.weight - turn.charged;
    of.average += kSmoothing * (cost - of.average);
    // With thousands of jobs, a look at all of them for each item would take longer than the items.
    if (++ends_ < jobs_.size() / 2) return;
    ends_ = 0;
    const bool are_many = jobs_.size() > kMostRemembered;
    std::erase_if(jobs_, [&](const auto& entry) {
      const Job& other = entry.second;
      return other.running == 0 && other.waiting.empty() && (are_many || other.served <= now_);
    });
  }
  // Returns the number of jobs that are remembered: those with items, and idle ones that have had
  // more than others. Idle ones are forgotten if they are many.
  static constexpr size_t kMostRemembered = 1024;
  size_t num_remembered() const noexcept { return jobs_.size(); }
  // Removes all waiting items and passes each to f.
  template <class F>
  void Drain(F&& f) {
    for (auto& [job, of] : jobs_) {
      for (Item& item : of.waiting) f(item);
      of.waiting.clear();
    }
    size_ = 0;
  }

 private:
  struct Job {
    std::deque<Item> waiting;
    size_t running = 0;
    double weight = 1;
    double served = 0;  // costs divided by the weight, from the same origin as now_
    double average = 0;
  };
  // Idle jobs whose `served` is at most now_ are removed from time to time (End).
  std::map<uint64_t, Job> jobs_;
  size_t ends_ = 0;  // since the last removal
  double now_ = 0;   // the largest `served` of a job when its turn began
  size_t size_ = 0;
};

}  // namespace graphd
