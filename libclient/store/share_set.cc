// SPDX-License-Identifier: Apache-2.0
#include "store/share_set.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

bool IsVisible(const ShareRecord& record, const std::string& job) {
  return record.job_id.empty() || record.job_id == job;
}

}  // namespace

void ShareSet::Add(SharePtr share) {
  const uint32_t table = share->table->id();
  by_table_[table] = std::move(share);
}

ShareSet::SharePtr ShareSet::Find(uint32_t table) const {
  const auto found = by_table_.find(table);
  return found == by_table_.end() ? nullptr : found->second;
}

ShareSet::SharePtr ShareSet::FindByName(PartId part, const std::string& job,
                                        const TensorSpec& spec) const {
  const std::string& owner = spec.persistent ? std::string() : job;
  for (const auto& [id, share] : by_table_) {
    const ShareRecord& record = share->record;
    if (record.part == part && record.job_id == owner && record.spec.name == spec.name) {
      return share;
    }
  }
  return nullptr;
}

ShareSet::SharePtr ShareSet::FindVisible(const std::string& job, uint32_t table) const {
  SharePtr share = Find(table);
  if (share == nullptr || !IsVisible(share->record, job)) {
    Throw(ErrorCode::kNotFound, "this job has no tensor of number ", table,
          " here; it was dropped, or deleted because its job had left");
  }
  return share;
}

std::vector<ShareSet::SharePtr> ShareSet::All() const {
  std::vector<SharePtr> all;
  for (const auto& [id, share] : by_table_) all.push_back(share);
  return all;
}

std::vector<ShareSet::SharePtr> ShareSet::VisibleTo(const std::string& job) const {
  std::vector<SharePtr> visible;
  for (const auto& [id, share] : by_table_) {
    if (IsVisible(share->record, job)) visible.push_back(share);
  }
  return visible;
}

std::vector<ShareSet::SharePtr> ShareSet::LeasedBy(const std::string& job) const {
  std::vector<SharePtr> leased;
  for (const auto& [id, share] : by_table_) {
    if (share->record.holder == job) leased.push_back(share);
  }
  return leased;
}

bool ShareSet::AnyOf(const std::string& job) const {
  return std::any_of(by_table_.begin(), by_table_.end(), [&](const auto& entry) {
    return entry.second->record.job_id == job || entry.second->record.holder == job;
  });
}

size_t ShareSet::CountOf(const std::string& job) const {
  return static_cast<size_t>(
      std::count_if(by_table_.begin(), by_table_.end(), [&](const auto& entry) {
        return entry.second->record.job_id == job || entry.second->creator == job;
      }));
}

ShareSet::SharePtr ShareSet::BeginRemoval(uint32_t table) {
  const auto found = by_table_.find(table);
  SharePtr share = found->second;
  removing_.insert(share->table->spec().name);
  by_table_.erase(found);
  return share;
}

std::vector<ShareSet::SharePtr> ShareSet::BeginRemovalOf(const std::string& job) {
  std::vector<uint32_t> tables;
  for (const auto& [id, share] : by_table_) {
    if (share->record.job_id == job) tables.push_back(id);
  }
  std::vector<SharePtr> taken;
  for (const uint32_t table : tables) {
    taken.push_back(BeginRemoval(table));
    LogInfo({.job = job, .op = "delete_tensor"}, "tensor '", taken.back()->record.spec.name,
            "' is deleted with its job ", job);
  }
  return taken;
}

void ShareSet::EndRemoval(const SharePtr& share, bool removed) {
  if (!removed) by_table_[share->table->id()] = share;
  removing_.erase(share->table->spec().name);
}

}  // namespace graphd::store
