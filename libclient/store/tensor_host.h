// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"
#include "graph/tensor_share.h"
#include "store/job_leases.h"
#include "store/share_layout.h"
#include "store/share_set.h"
#include "store/store.h"

// The distributed tensors of one process: the shares of its partitions, each of which is a table of
// the store, and their owners. A tensor belongs to a job and is deleted some time after the job has
// left; or it is persistent, and is written by one job at a time, which holds a lease, or by all
// jobs. All of this is stored with the tables and known again after a restart. graphd has one
// TensorHost, and so has a trainer in standalone mode. Thread-safe.

namespace graphd::store {

class TensorHost {
 public:
  struct Options {
    StoreOptions store;          // its directory is created with the first tensor
    double lease_seconds = 5;    // time that a lease outlives its job, which may reconnect
    double orphan_seconds = 60;  // time that tensors outlive the job that owns them
    // The maximum number of shares that one job may create, fewer than StoreOptions::max_tables, so
    // that some are left for other jobs.
    size_t max_shares_of_job = 1024;
  };

  using Share = HostedShare;
  using SharePtr = std::shared_ptr<const Share>;

  // The origin of a call: a job, and one of its connections.
  struct Caller {
    std::string job;
    uint64_t key = 0;
    // The version of the graph that the job uses; null: the version that the host was made with.
    std::shared_ptr<const GraphMeta> meta = nullptr;
  };

  // Opens the store if its directory exists. Throws as the constructor of Store.
  TensorHost(std::shared_ptr<const GraphMeta> meta, std::vector<PartId> parts, Options options);
  ~TensorHost();
  TensorHost(const TensorHost&) = delete;
  TensorHost& operator=(const TensorHost&) = delete;

  const GraphMeta& meta() const noexcept { return layout_.meta(); }
  // Returns whether reading and writing rows may wait for memory. If so, do it on a thread that no
  // other work depends on.
  bool memory_is_bounded() const noexcept { return options_.store.memory_bytes != 0; }

  // Handle the opening of a job's first connection, and the closing of its last one.
  void OnJobJoined(const std::string& job);
  void OnJobLeft(const std::string& job);
  // Drops the tensors and the leases of a job that has left, soon and not only after the usual
  // times, because the job can't come back.
  void OnJobEnded(const std::string& job);
  // Handles the closing of a connection.
  void OnCallerLeft(uint64_t key);

  struct Opened {
    TensorShare share;
    bool fill = false;     // the caller must write the first values
    bool filling = false;  // another caller writes the first values
  };
  // Opens a share. With `create`, creates the share if it does not exist, and checks that an
  // existing share matches `spec`; otherwise only the name and the persistence in `spec` are used.
  // A tensor that was created with another version of the graph, whose rows differ from those of
  // the caller's version, can't be used by this caller. Throws Error: kInvalid, naming the
  // differences or the mistake; kNotFound; kCorrupt for a share that can't be used; kOverloaded if
  // the job has created too many shares; kUnavailable while the tensor is being dropped; and what
  // Store::OpenTable throws.
  Opened Open(const Caller& caller, PartId part, TensorSpec spec, bool create, bool caller_fills);
  // Records that the caller has written the first values. Throws Error(kDenied) if another caller
  // writes them now, because this caller had lost its connection.
  void Filled(const Caller& caller, uint32_t table);
  // Records that the caller will not write the first values, so that another caller may write them.
  void GiveUpFilling(const Caller& caller, uint32_t table) noexcept;

  // Return a share for reading or writing. Throw Error: kNotFound if the job can't see it, kCorrupt
  // if it can't be used; for writing also what Lease throws, and kDenied if the job needs the lease
  // and does not hold it.
  SharePtr FindToRead(const std::string& job, uint32_t table) const;
  // `loads` tells that the share is for a push of UpdateKind::kLoad. A share that is being restored
  // accepts only such pushes, and other shares accept none of them.
  SharePtr FindToWrite(const std::string& job, uint32_t table, bool loads = false) const;

  // Submits a push as Store::Submit does, to a share that FindToWrite returned. Throws if the job
  // has lost the lease since then, or the share is being restored.
  void Submit(const std::string& job, const SharePtr& share, Push push, Pipeline::Done done);
  // See Store::LastSequence.
  uint64_t LastSequence(const ClientId& client) const {
    return opened_store().LastSequence(client);
  }

  // Takes (`hold`) or returns the job's lease of the share. Returns false if nothing changes.
  // Throws Error: kDenied, naming the job that holds the lease; kUnavailable while that job has
  // left but may come back, or its pushes are not done.
  bool Lease(const std::string& job, uint32_t table, bool hold);
  // Calls Store::AddState, and returns the table. The preparation of its memory may not have ended
  // yet (kLongestPreparation). Throws what AddState throws, and Error(kDenied) while another job
  // may write the share.
  std::shared_ptr<const Table> PrepareState(const std::string& job, uint32_t table,
                                            OptimizerState state);
  // Marks the beginning or the end of a restore from a checkpoint. In between, the share can't be
  // used for anything else, even after a restart. At the beginning, waits until earlier pushes are
  // done. Throws what FindToWrite throws, and Error(kUnavailable) if these pushes are not done
  // after a minute.
  void SetLoading(const std::string& job, uint32_t table, bool loading);
  // Deletes the share. Waits for write-back. Throws Error: kNotFound, kDenied while another job may
  // write it, kIo.
  void Drop(const std::string& job, uint32_t table);

  // Return the shares that the job can see, and all shares. With `meta`, shares whose rows differ
  // from the rows of this version of the graph are returned with trouble.
  std::vector<TensorShare> List(const std::string& job,
                                const std::shared_ptr<const GraphMeta>& meta = nullptr) const;
  std::vector<TensorShare> ListAll(const std::shared_ptr<const GraphMeta>& meta = nullptr) const;
  // Returns all shares and where their rows are. Looks at each page of each table.
  std::vector<ShareMemory> Memory() const;
  // Returns why pushes wait or fail or write-back fails; empty if all is well.
  std::string trouble() const;
  // Writes all changed rows back at full speed; status() shows the progress. Throws as
  // Store::WriteBackNow.
  void WriteBackNow();
  // Calls Store::RefusePushes.
  void RefusePushes();
  // Returns the status of the store, or nothing before the first tensor was created.
  std::optional<StoreStatus> status() const;

  // Returns the store for checkpoints, and opens it if it is not open. It lives as long as the
  // host. Throws as the constructor of Store.
  Store& store();

 private:
  using MutableShare = ShareSet::SharePtr;

  void OpenStore() GRAPHD_REQUIRES(changes_mutex_) GRAPHD_EXCLUDES(mutex_);
  MutableShare Create(const std::string& job, PartId part, const TensorSpec& spec, bool filled,
                      const ShareLayout& layout) GRAPHD_REQUIRES(changes_mutex_)
      GRAPHD_EXCLUDES(mutex_);
  void EndLeases(const std::string& job) GRAPHD_REQUIRES(changes_mutex_) GRAPHD_EXCLUDES(mutex_);
  void Remove(const std::vector<MutableShare>& shares) GRAPHD_EXCLUDES(changes_mutex_, mutex_);
  void EndExpiredJobs();
  void EndJob(const std::string& job) GRAPHD_EXCLUDES(changes_mutex_, mutex_);
  void Sweep() GRAPHD_EXCLUDES(changes_mutex_, mutex_);
  // Both functions release mutex_ while they write to the disk.
  void SaveRecord(Share& share, const ShareRecord& record) GRAPHD_REQUIRES(changes_mutex_, mutex_);
  void SaveLoading(Share& share, bool loading) GRAPHD_REQUIRES(changes_mutex_, mutex_);
  void Adopt(const std::shared_ptr<Table>& table) GRAPHD_REQUIRES(mutex_);
  void CheckNumber(const std::string& job) const GRAPHD_REQUIRES(mutex_);
  void CheckUsable(const Share& share) const GRAPHD_REQUIRES(mutex_);
  TensorShare Describe(const Share& share) const GRAPHD_REQUIRES(mutex_);
  // Describes the share for a user of another version of the graph, if `meta` is not null.
  TensorShare Describe(const Share& share, const std::shared_ptr<const GraphMeta>& meta) const
      GRAPHD_REQUIRES(mutex_);
  // Returns the ids of a table's rows. The store calls it while a table is opened, and only a
  // holder of changes_mutex_ opens tables.
  std::vector<int64_t> IdsOf(const TableSpec& table) const GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
    return (creating_ != nullptr ? *creating_ : layout_).IdsOf(table);
  }
  // Returns whether the store is open. A holder of changes_mutex_ may read store_ without mutex_:
  // nobody else sets it.
  bool has_store() const GRAPHD_REQUIRES(changes_mutex_) GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
    return store_ != nullptr;
  }
  // Returns the store without a lock, for callers who have found a share, or opened the store:
  // store_ was set before and never changes again.
  Store& opened_store() const GRAPHD_NO_THREAD_SAFETY_ANALYSIS { return *store_; }

  const ShareLayout layout_;
  const Options options_;

  // Serialises changes that are stored on the disk, and is held while they are written.
  Mutex changes_mutex_ GRAPHD_ACQUIRED_BEFORE(mutex_){Mutex::kHeldLong};
  // The layout of the table that is being created. It is null at other times, including while the
  // tables of earlier processes are opened.
  const ShareLayout* creating_ GRAPHD_GUARDED_BY(changes_mutex_) = nullptr;
  mutable Mutex mutex_;  // never held while waiting for the disk
  CondVar wake_;
  // It is set once, by a thread that also holds changes_mutex_.
  std::unique_ptr<Store> store_ GRAPHD_GUARDED_BY(mutex_);
  ShareSet shares_ GRAPHD_GUARDED_BY(mutex_);
  JobLeases leases_ GRAPHD_GUARDED_BY(mutex_);
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread sweeper_;
};

}  // namespace graphd::store
