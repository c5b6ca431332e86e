// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/tensor_rows.h"
#include "store/rows/table.h"
#include "store/share_record.h"

namespace graphd::store {

// A HostedShare is the part of a distributed tensor that belongs to a partition of this daemon.
// `rows`, `table`, and the spec and the partition in `record` never change. The mutex of the
// TensorHost guards the other members, except `pushes`.
struct HostedShare {
  std::shared_ptr<Table> table;
  TensorRows rows;
  ShareRecord record;
  std::string creator;                  // the job that created it, if this process has seen it
  uint64_t filler = 0;                  // key of the caller that writes the first values, or 0
  std::string trouble;                  // reason why the share can't be used, or empty
  bool of_other_version = false;        // `trouble` is that it belongs to another graph version
  mutable std::atomic<int> pushes = 0;  // pushes that are not done
};

// The shares of a TensorHost, and the names of those that are being removed. Not thread-safe: the
// host guards it by its mutex.
class ShareSet {
 public:
  using SharePtr = std::shared_ptr<HostedShare>;

  void Add(SharePtr share);

  // Find returns the share in a table. FindByName returns a partition's share of the tensor of this
  // name that is persistent or, if `spec` is not persistent, is owned by the job. Both return null
  // if there is no such share.
  SharePtr Find(uint32_t table) const;
  SharePtr FindByName(PartId part, const std::string& job, const TensorSpec& spec) const;
  // Returns the share in a table. Throws Error(kNotFound) unless the share exists, and either is
  // persistent or belongs to the job.
  SharePtr FindVisible(const std::string& job, uint32_t table) const;

  std::vector<SharePtr> All() const;
  std::vector<SharePtr> VisibleTo(const std::string& job) const;
  std::vector<SharePtr> LeasedBy(const std::string& job) const;
  // Returns whether the job owns a share or holds the lease of one.
  bool AnyOf(const std::string& job) const;
  // Returns how many shares the job owns or has created.
  size_t CountOf(const std::string& job) const;

  // Removes the share in the table from the set, and returns it. The set must have this share. The
  // caller must then call EndRemoval for it.
  SharePtr BeginRemoval(uint32_t table);
  // Removes all shares that the job owns from the set, and returns them. The caller must then call
  // EndRemoval for each.
  std::vector<SharePtr> BeginRemovalOf(const std::string& job);
  // Ends the removal of a share. Puts the share back into the set unless it was `removed`.
  void EndRemoval(const SharePtr& share, bool removed);
  // Returns whether the table of this name is being removed.
  bool IsBeingRemoved(const std::string& name) const { return removing_.contains(name); }

 private:
  std::map<uint32_t, SharePtr> by_table_;
  std::set<std::string> removing_;  // names of tables
};

}  // namespace graphd::store
