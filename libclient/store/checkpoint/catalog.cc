// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint/catalog.h"

#include "base/directory.h"

namespace graphd::store {

CheckpointCatalog::CheckpointCatalog(std::string root, std::string own)
    : root_(std::move(root)), own_(std::move(own)) {
  if (FileExists(root_ + "/" + own_))
    this->own();  // removes unfinished checkpoints that a crash left
}

CheckpointSet& CheckpointCatalog::own() {
  const MutexLock lock(mutex_);
  std::shared_ptr<CheckpointSet>& set = sets_[own_];
  if (!set) set = std::make_shared<CheckpointSet>(root_ + "/" + own_);
  return *set;
}

std::vector<std::shared_ptr<CheckpointSet>> CheckpointCatalog::All() {
  const MutexLock lock(mutex_);
  const std::vector<std::string> names =
      FileExists(root_) ? ListDirectory(root_) : std::vector<std::string>();
  for (const std::string& name : names) {
    if (sets_.contains(name)) continue;
    using Role = CheckpointSet::Role;
    sets_[name] = std::make_shared<CheckpointSet>(root_ + "/" + name,
                                                  name == own_ ? Role::kOwner : Role::kGuest);
  }
  std::vector<std::shared_ptr<CheckpointSet>> all;
  if (const auto own = sets_.find(own_); own != sets_.end()) all.push_back(own->second);
  for (const auto& [name, set] : sets_) {
    if (name != own_ && FileExists(root_ + "/" + name)) all.push_back(set);
  }
  return all;
}

}  // namespace graphd::store
