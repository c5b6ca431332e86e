// SPDX-License-Identifier: Apache-2.0
// Jobs that come and go, and what goes with them.
#include <algorithm>

#include "base/log.h"
#include "base/strings.h"
#include "store/tensor_host.h"

namespace graphd::store {
namespace {

constexpr auto kSweepEvery = std::chrono::milliseconds(500);

}  // namespace

void TensorHost::JobCame(const std::string& job) {
  std::lock_guard lock(mutex_);
  here_.insert(job);
  gone_.erase(job);
}

void TensorHost::JobLeft(const std::string& job) {
  std::lock_guard lock(mutex_);
  here_.erase(job);
  for (const auto& [id, share] : shares_) {
    if (share->record.job_id == job || share->record.holder == job) gone_[job] = Clock::now();
  }
}

void TensorHost::CallerLeft(uint64_t key) {
  std::lock_guard lock(mutex_);
  for (const auto& [id, share] : shares_) {
    if (share->filler == key) share->filler = 0;
  }
}

// What a job asked for may be done only when it has left.
void TensorHost::Watch(const std::string& job) {
  if (!job.empty() && !here_.contains(job)) gone_.try_emplace(job, Clock::now());
}

std::optional<double> TensorHost::GoneFor(const std::string& job) const {
  const auto gone = gone_.find(job);
  if (gone == gone_.end()) return std::nullopt;
  return SecondsSince(gone->second);
}

// Ends the leases and the tensors of jobs that have been gone for too long.
void TensorHost::Sweep() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kSweepEvery);
    std::vector<std::string> jobs;
    for (const auto& [job, since] : gone_) {
      if (SecondsSince(since) >= options_.lease_seconds) jobs.push_back(job);
    }
    lock.unlock();
    for (const std::string& job : jobs) EndJob(job);
    lock.lock();
  }
}

void TensorHost::EndJob(const std::string& job) {
  try {
    std::vector<MutableShare> orphans;
    {
      std::lock_guard changing(changes_);
      EndLeases(job);
      std::lock_guard lock(mutex_);
      const std::optional<double> gone = GoneFor(job);
      if (!gone || *gone < options_.orphan_seconds) return;
      gone_.erase(job);
      orphans = TakeAllOf(job);
    }
    Remove(orphans);
  } catch (const Error& error) {
    LogError("tensors of job ", job, ", which has left: ", error.what(), "; tried again later");
    std::lock_guard lock(mutex_);
    if (!here_.contains(job)) gone_[job] = Clock::now();
  }
}

void TensorHost::EndLeases(const std::string& job) {
  std::unique_lock lock(mutex_);
  std::vector<MutableShare> held;
  for (const auto& [id, share] : shares_) {
    if (share->record.holder == job) held.push_back(share);
  }
  for (const MutableShare& share : held) {
    if (!gone_.contains(job)) return;  // it came back meanwhile
    ShareRecord record = share->record;
    record.holder.clear();
    Keep(*share, record, lock);
  }
}

TensorHost::MutableShare TensorHost::TakeOut(uint32_t table) {
  const auto found = shares_.find(table);
  MutableShare share = found->second;
  removing_.insert(share->table->spec().name);
  shares_.erase(found);
  return share;
}

std::vector<TensorHost::MutableShare> TensorHost::TakeAllOf(const std::string& job) {
  std::vector<uint32_t> tables;
  for (const auto& [id, share] : shares_) {
    if (share->record.job_id == job) tables.push_back(id);
  }
  std::vector<MutableShare> taken;
  for (const uint32_t table : tables) {
    taken.push_back(TakeOut(table));
    LogInfo("tensor '", taken.back()->record.spec.name, "' goes with its job ", job);
  }
  return taken;
}

// The store waits for write-back, which may take minutes, and for ever on a full disk, while rows
// of other tables are read and written.
void TensorHost::Remove(const std::vector<MutableShare>& gone) {
  std::optional<Error> failure;
  for (const MutableShare& share : gone) {
    const std::string& name = share->table->spec().name;
    bool removed = true;
    try {
      store_->DropTable(name);
    } catch (const Error& error) {
      removed = false;
      if (!failure) failure = error;
    }
    std::lock_guard lock(mutex_);
    if (!removed) shares_[share->table->id()] = share;
    removing_.erase(name);
  }
  if (failure) throw Error(*failure);
}

}  // namespace graphd::store
