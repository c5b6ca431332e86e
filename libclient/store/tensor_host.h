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

// The distributed tensors of one process: the shares of the partitions that it serves, each of
// which is a table of the store, and their owners. A tensor either belongs to a job, and is deleted
// some time after the job has left, or is persistent. A persistent tensor is written by all jobs,
// or by one job at a time, which holds a lease. All of this is stored with the tables and known
// again after a restart. graphd has one TensorHost, and so has a trainer in standalone mode.
// Thread-safe.

namespace graphd::store {

class TensorHost {
 public:
  struct Options {
    StoreOptions store;          // its directory is created with the first tensor
    double lease_seconds = 5;    // time for which a lease is kept after its job has left
    double orphan_seconds = 60;  // time for which tensors are kept after their job has left
    // The maximum number of shares that one job may create. It should be less than
    // StoreOptions::max_tables, so that other jobs can create shares, too.
    size_t max_shares_of_job = 1024;
  };

  using Share = HostedShare;
  using SharePtr = std::shared_ptr<const Share>;

  // The origin of a call: a job, and one of its connections.
  struct Caller {
    std::string job;
    uint64_t key = 0;
    // The version of the graph that the job uses, or null for the version that the host was made
    // with.
    std::shared_ptr<const GraphMeta> meta = nullptr;
  };

  // Opens the store if its directory exists. Throws as the constructor of Store.
  TensorHost(std::shared_ptr<const GraphMeta> meta, std::vector<PartId> parts, Options options);
  ~TensorHost();
  TensorHost(const TensorHost&) = delete;
  TensorHost& operator=(const TensorHost&) = delete;

  const GraphMeta& meta() const noexcept { return layout_.meta(); }
  // Returns whether reading and writing rows may wait for memory. If so, read and write them on a
  // thread that no other work depends on.
  bool memory_is_bounded() const noexcept { return options_.store.memory_bytes != 0; }

  // Handle the opening of a job's first connection, and the closing of its last one.
  void OnJobJoined(const std::string& job);
  void OnJobLeft(const std::string& job);
  // Lets the sweeper end the leases and delete the tensors of a job that has left, without the
  // usual wait (lease_seconds, orphan_seconds), because the job can't come back.
  void OnJobEnded(const std::string& job);
  // Handles the closing of a connection.
  void OnCallerLeft(uint64_t key);

  struct Opened {
    TensorShare share;
    bool fill = false;     // the caller must write the first values
    bool filling = false;  // another caller writes the first values
  };
  // Opens a share. With `create`, creates the share if it does not exist, and checks that an
  // existing share matches `spec`. Without it, only the name and the persistence in `spec` are
  // used. With `create`, also checks an existing share against the caller's version of the graph:
  // the tensor must be of the same nodes or edges there, as many, and distributed in the same way.
  // Throws Error: kInvalid, naming the differences or the mistake; kNotFound; kCorrupt for a share
  // that can't be used; kOverloaded if the job has created too many shares; kUnavailable while the
  // tensor is being dropped; and what Store::OpenTable throws.
  Opened Open(const Caller& caller, PartId part, TensorSpec spec, bool create, bool caller_fills);
  // Records that the caller has written the first values. Throws Error(kDenied) if another caller
  // writes them now, which can happen after this caller has lost its connection.
  void Filled(const Caller& caller, uint32_t table);
  // Records that the caller will not write the first values, so that another caller may write them.
  void GiveUpFilling(const Caller& caller, uint32_t table) noexcept;

  // FindToRead and FindToWrite return a share for reading or writing its rows. They throw Error:
  // kNotFound if the job can't see the share, kCorrupt if the share can't be used. FindToWrite also
  // throws kDenied if the job needs the lease and does not hold it, or kUnavailable while the job
  // that holds the lease has left but may come back.
  SharePtr FindToRead(const std::string& job, uint32_t table) const;
  // `loads` is true if the share is for a push of UpdateKind::kLoad. A share that is being restored
  // accepts only such pushes. For another share, FindToWrite then throws Error(kInvalid).
  SharePtr FindToWrite(const std::string& job, uint32_t table, bool loads = false) const;

  // Submits a push as Store::Submit does, to a share that FindToWrite returned. Throws Error if the
  // job has lost the lease since then, or if a restore of the share has begun.
  void Submit(const std::string& job, const SharePtr& share, Push push, Pipeline::Done done);
  // See Store::LastSequence.
  uint64_t LastSequence(const ClientId& client) const {
    return opened_store().LastSequence(client);
  }

  // Takes the lease of the share for the job if `hold`, and otherwise gives the job's lease up.
  // Returns false if nothing changes. Throws Error: kDenied, naming the job that holds the lease;
  // kUnavailable while that job has left but may come back, or while pushes of the job that held
  // the lease before are not done.
  bool Lease(const std::string& job, uint32_t table, bool hold);
  // Calls Store::AddState, and returns the table. Its memory may not be fully prepared yet; a
  // caller may wait for that (kLongestPreparation). Throws what AddState throws; Error(kDenied)
  // while another job holds the lease of the share, or Error(kUnavailable) while that job has left
  // but may come back; and Error(kCorrupt) for a share that can't be used.
  std::shared_ptr<const Table> PrepareState(const std::string& job, uint32_t table,
                                            OptimizerState state);
  // Marks the beginning (`loading`) or the end of a restore from a checkpoint. In between, the
  // share can't be used for anything else, even after a restart of this process. At the beginning,
  // waits until earlier pushes are done. Throws what FindToWrite throws, and Error(kUnavailable) if
  // these pushes are not done after a minute.
  void SetLoading(const std::string& job, uint32_t table, bool loading);
  // Deletes the share. Waits until no write-back cycle runs. Throws Error: kNotFound; kDenied while
  // another job holds the lease of the share, or kUnavailable while that job has left but may come
  // back; kIo.
  void Drop(const std::string& job, uint32_t table);

  // List returns the shares that the job can see, and ListAll returns all shares, including those
  // that are dropped meanwhile. With `meta`, a share whose rows differ from the rows of that
  // version of the graph is returned with a trouble that says so.
  std::vector<TensorShare> List(const std::string& job,
                                const std::shared_ptr<const GraphMeta>& meta = nullptr) const;
  std::vector<TensorShare> ListAll(const std::shared_ptr<const GraphMeta>& meta = nullptr) const;
  // Returns, for each share, how many bytes of its rows are in memory and on the disk. Looks at
  // each page of each table.
  std::vector<ShareMemory> Memory() const;
  // Returns why pushes wait or fail, or why write-back fails, or an empty text if all is well.
  std::string trouble() const;
  // Writes all changed rows back at full speed; status() shows the progress. Throws as
  // Store::WriteBackNow.
  void WriteBackNow();
  // Calls Store::RefusePushes.
  void RefusePushes();
  // Returns the status of the store, or nothing before the first tensor was created.
  std::optional<StoreStatus> status() const;

  // Returns the store, which checkpoints need, and opens it if it is not open. It lives as long as
  // the host. Throws as the constructor of Store.
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
  // SaveRecord and SaveLoading release mutex_ while they write to the disk.
  void SaveRecord(Share& share, const ShareRecord& record) GRAPHD_REQUIRES(changes_mutex_, mutex_);
  void SaveLoading(Share& share, bool loading) GRAPHD_REQUIRES(changes_mutex_, mutex_);
  void Adopt(const std::shared_ptr<Table>& table) GRAPHD_REQUIRES(mutex_);
  void CheckNumber(const std::string& job) const GRAPHD_REQUIRES(mutex_);
  void CheckUsable(const Share& share) const GRAPHD_REQUIRES(mutex_);
  TensorShare Describe(const Share& share) const GRAPHD_REQUIRES(mutex_);
  // Describes the share for a user of another version of the graph, if `meta` is not null.
  TensorShare Describe(const Share& share, const std::shared_ptr<const GraphMeta>& meta) const
      GRAPHD_REQUIRES(mutex_);
  std::vector<TensorShare> DescribeAll(const std::vector<MutableShare>& shares,
                                       const std::shared_ptr<const GraphMeta>& meta) const
      GRAPHD_EXCLUDES(mutex_);
  std::vector<MutableShare> AllShares() const GRAPHD_EXCLUDES(mutex_);
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
  // Returns the store without a lock. Callers have found a share or opened the store, so they know
  // that store_ is set, and it never changes again.
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
  // Null until the store is opened. It is set once, by a thread that also holds changes_mutex_.
  std::unique_ptr<Store> store_ GRAPHD_GUARDED_BY(mutex_);
  ShareSet shares_ GRAPHD_GUARDED_BY(mutex_);
  JobLeases leases_ GRAPHD_GUARDED_BY(mutex_);
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread sweeper_;
};

}  // namespace graphd::store
