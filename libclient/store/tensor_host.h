// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "graph/tensor_rows.h"
#include "graph/tensor_share.h"
#include "store/share_record.h"
#include "store/store.h"

// Distributed tensors as one process holds them: the shares of its partitions, each a table of the
// store, and whose they are. A tensor belongs to a job, and goes a while after the job; or it is
// persistent, and then one job at a time writes it, by a lease, or every job does. All of it is
// kept in the store, so that a process that starts again knows it. graphd has one, and so has a
// trainer in standalone mode. Thread-safe: the maps are guarded by one mutex, which is never held
// while the disk is waited for.

namespace graphd::store {

class TensorHost {
 public:
  struct Options {
    StoreOptions store;          // its directory is made with the first tensor
    double lease_seconds = 5;    // that the lease of a job outlives it: it may only be reconnecting
    double orphan_seconds = 60;  // and its own tensors
    // That one job may make here: a part of StoreOptions::max_tables, so that others can, too.
    size_t max_shares_of_job = 1024;
  };

  // One partition's share. `rows`, `table` and what the record says of spec and partition never
  // change; the rest is guarded by the host's mutex.
  struct Share {
    std::shared_ptr<Table> table;
    TensorRows rows;
    ShareRecord record;
    std::string maker;                    // the job that made it, if this process has seen it
    uint64_t filler = 0;                  // the caller that writes the first values
    std::string trouble;                  // why it can't be used
    mutable std::atomic<int> pushes = 0;  // that are not done
  };
  using SharePtr = std::shared_ptr<const Share>;

  // Who asks: a job, and within it one connection.
  struct Caller {
    std::string job;
    uint64_t key = 0;
  };

  // Opens the store if there is one, and recovers it. Throws what Store throws.
  TensorHost(std::shared_ptr<const GraphMeta> meta, std::vector<PartId> parts, Options options);
  ~TensorHost();
  TensorHost(const TensorHost&) = delete;
  TensorHost& operator=(const TensorHost&) = delete;

  const GraphMeta& meta() const noexcept { return *meta_; }
  // Whether reading and writing rows may have to wait for memory: then not on a thread that others
  // wait for.
  bool memory_is_bounded() const noexcept { return options_.store.memory_bytes != 0; }

  // A job's first connection has come, its last one has gone.
  void JobCame(const std::string& job);
  void JobLeft(const std::string& job);
  // A connection has gone.
  void CallerLeft(uint64_t key);

  struct Opened {
    TensorShare share;
    bool fill = false;     // the caller is to write the first values
    bool filling = false;  // another one does
  };
  // Opens a share, or, with `create`, makes it. Without `create`, only name and persistence count.
  // Throws Error(kInvalid), saying what differs or is wrong; Error(kNotFound); Error(kOverloaded)
  // for a job that has made too many; what Store throws.
  Opened Open(const Caller& caller, PartId part, TensorSpec spec, bool create, bool caller_fills);
  // The caller has written the first values. Throws Error(kDenied) if another one writes them: this
  // one lost its connection meanwhile.
  void Filled(const Caller& caller, uint32_t table);
  // The caller will not write them; another one may.
  void GiveUpFilling(const Caller& caller, uint32_t table) noexcept;

  // A share, for reading or writing. Throw Error(kNotFound) for one that the job can't see,
  // Error(kCorrupt) for one that can't be used; for writing also what Lease throws, and
  // Error(kDenied) if the job has not taken the lease.
  SharePtr FindToRead(const std::string& job, uint32_t table) const;
  // `loads`: for a push of kLoad, which is for shares that are being loaded, and no other is.
  SharePtr FindToWrite(const std::string& job, uint32_t table, bool loads = false) const;

  // Store::Submit, for a share that FindToWrite gave the job; throws if it has lost the lease
  // since, or the share is being loaded.
  void Submit(const std::string& job, const SharePtr& share, Push push, Pipeline::Done done);
  // As Store::LastSequence.
  uint64_t LastSequence(const ClientId& client) const { return store_->LastSequence(client); }

  // Takes or gives back the job's right to write; false if that changes nothing. Throws
  // Error(kDenied) naming the job that has it, Error(kUnavailable) while that job is gone but may
  // come back, or its pushes are not done.
  bool Lease(const std::string& job, uint32_t table, bool hold);
  // As Store::AddState; also Error(kDenied) while another job may write it.
  void PrepareState(const std::string& job, uint32_t table, OptimizerState state);
  // Says that rows of a checkpoint come now, or are all there. Until then the share can't be used
  // otherwise, also after a restart. Pushes that came before are done when rows may come. Throws as
  // FindToWrite, and Error(kUnavailable) if they are not after a minute.
  void SetLoading(const std::string& job, uint32_t table, bool loading);
  // Throws Error(kDenied) while another job may write it. Waits for write-back.
  void Drop(const std::string& job, uint32_t table);

  // What the job can see; all there is.
  std::vector<TensorShare> List(const std::string& job) const;
  std::vector<TensorShare> ListAll() const;
  // Why pushes wait or fail, or write-back fails; empty if all is well.
  std::string trouble() const;
  // None before the first tensor.
  std::optional<StoreStatus> status() const;

  // The store, made if there is none yet; for checkpoints. It stays as long as this.
  Store& store();

 private:
  using MutableShare = std::shared_ptr<Share>;
  std::vector<int64_t> IdsOf(const TableSpec& table) const;
  // Throws Error(kInvalid) unless a table of so many rows is a share of the graph that is served.
  TensorRows CheckSuits(const ShareRecord& record, int64_t count) const;
  void CheckRoom(const TableSpec& table, bool is_range) const;
  // With changes_ held, and without mutex_.
  void OpenStore();
  MutableShare Make(const std::string& job, PartId part, const TensorSpec& spec, bool filled);
  void EndLeases(const std::string& job);
  // Without either. The shares are no longer in shares_; those that can't be removed are back then,
  // and the first error is thrown.
  void Remove(const std::vector<MutableShare>& gone);
  void EndJob(const std::string& job);
  void Sweep();
  // With both: keeps the record, then gives it to the share. `lock` is of mutex_, and is not held
  // meanwhile.
  void Keep(Share& share, const ShareRecord& record, std::unique_lock<std::mutex>& lock);
  void MarkLoading(Share& share, bool loading, std::unique_lock<std::mutex>& lock);
  MutableShare TakeOut(uint32_t table);
  std::vector<MutableShare> TakeAllOf(const std::string& job);
  // With mutex_.
  void Adopt(const std::shared_ptr<Table>& table);
  MutableShare FindByName(PartId part, const std::string& job, const TensorSpec& spec) const;
  void CheckNumber(const std::string& job) const;
  void CheckSame(const Share& share, const TensorSpec& wanted) const;
  // Throws unless the job may take the right to write.
  void CheckFree(const Share& share, const std::string& job) const;
  void CheckUsable(const Share& share) const;
  void CheckMayWrite(const Share& share, const std::string& job) const;
  MutableShare FindVisible(const std::string& job, uint32_t table) const;
  TensorShare Describe(const Share& share) const;
  std::optional<double> GoneFor(const std::string& job) const;
  // A job that has something of this host now: if it left meanwhile, that goes like the rest.
  void Watch(const std::string& job);

  const std::shared_ptr<const GraphMeta> meta_;
  const std::vector<PartId> parts_;
  const Options options_;

  std::mutex changes_;        // one change of what is kept at a time; taken before mutex_
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable wake_;
  std::unique_ptr<Store> store_;  // made with changes_ held, too; it stays
  std::map<uint32_t, MutableShare> shares_;
  std::set<std::string> removing_;                 // tables of shares that are being dropped
  std::set<std::string> here_;                     // jobs with a connection
  std::map<std::string, Clock::time_point> gone_;  // jobs with tensors or leases that left, or
                                                   // are not there yet since the start
  bool stopping_ = false;
  std::thread sweeper_;
};

}  // namespace graphd::store
