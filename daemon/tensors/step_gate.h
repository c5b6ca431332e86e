// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "daemon/tensors/fair_pushes.h"
#include "store/tensor_host.h"
#include "wire/memory/memory_account.h"

namespace graphd {

// The gate of synchronous steps. Every trainer of a job adds its part of a step. When all parts
// have arrived, they are pushed to the store as one push, in the order of ranks, so that the result
// does not depend on the order of arrival. This is bulk synchronous parallelism (Valiant, "A
// bridging model for parallel computation", 1990): no reader sees a step before every trainer has
// added its part. Owned by the main thread. Thread-safe: one mutex for each job's steps of a table,
// and one for the map of these steps.
class StepGate {
 public:
  // The part of a step that one trainer sends: rows of the partition, and a payload as in
  // store::Push.
  struct Part {
    std::vector<int64_t> rows;
    std::span<const std::byte> payload;
    std::shared_ptr<const void> owner;  // keeps the payload alive
    // The account to which the memory of the part and of the joined step is charged; null: none.
    std::shared_ptr<MemoryAccount> account = nullptr;
    JobShare share{};
  };

  // The trainer that sends a part. An attempt is one start of the job's trainers by graphctl.
  struct Trainer {
    int rank = 0, world_size = 1;
    uint32_t attempt = 0;
  };

  // The maximum bytes of a job's waiting parts. Parts beyond it are refused. A part that would have
  // to wait is also refused while the job uses more than half of its share of memory, because
  // waiting parts must leave room for the parts that they wait for. A part that completes a step is
  // always accepted.
  static constexpr size_t kMaxWaitingBytes = size_t{512} << 20;

  // `host` outlives the gate.
  StepGate(store::TensorHost& host, std::shared_ptr<FairPushes> pushes)
      : host_(host), pushes_(std::move(pushes)) {}

  // Adds a trainer's part of a step. Calls `done`, as Pipeline::Done, when the whole step has been
  // pushed (at once if it was pushed before), or with Error(kUnavailable) when a trainer leaves. A
  // part that is added again replaces the first, whose `done` is dropped. Throws Error(kInvalid)
  // for a step that is not the next one, or for an update rule that differs from the other
  // trainers', Error(kOverloaded), Error(kUnavailable) for a job that is not attached,
  // Error(kDenied) if a later attempt of the job has begun, and what TensorHost::Submit throws.
  void AddPart(const store::TensorHost::SharePtr& share, const std::string& job,
               const Trainer& trainer, const UpdateRule& rule, uint64_t step, Part part,
               store::Pipeline::Done done);
  void OnJobJoined(const std::string& job);
  void TrainerLeft(const std::string& job, int rank);
  // Drops the parts of earlier attempts, and refuses any that arrive later: a thread may have begun
  // to add a part before its trainer's connection was closed.
  void OnAttemptBegun(const std::string& job, uint32_t attempt);
  void OnJobLeft(const std::string& job);

 private:
  struct Waiting {
    Part part;
    store::Pipeline::Done done;
    size_t bytes = 0;  // counted in the gate's waiting_bytes
  };
  struct Step {
    store::TensorHost::SharePtr share;
    UpdateRule rule;
    std::map<int, Waiting> parts;  // by rank
  };
  struct JoinedStep;
  // A job's open steps of one table. There may be several if trainers run ahead.
  struct Gate {
    Gate(const store::ClientId& its_client, std::shared_ptr<std::atomic<size_t>> bytes)
        : client(its_client), waiting_bytes(std::move(bytes)) {}
    const store::ClientId client;                              // pushes the steps
    const std::shared_ptr<std::atomic<size_t>> waiting_bytes;  // shared by the gates of a job
    Mutex mutex;
    std::map<uint64_t, Step> steps GRAPHD_GUARDED_BY(mutex);
    // Steps that have all parts, until they are pushed.
    std::deque<std::shared_ptr<JoinedStep>> complete GRAPHD_GUARDED_BY(mutex);
    // The last of them; while pushes are held, the store may not have it yet.
    std::weak_ptr<JoinedStep> pushed GRAPHD_GUARDED_BY(mutex);
    bool over GRAPHD_GUARDED_BY(mutex) = false;     // the job has left
    uint32_t attempt GRAPHD_GUARDED_BY(mutex) = 0;  // parts of earlier attempts are refused
    // Held while a step is pushed, to keep steps in order. Locked before `mutex`.
    Mutex pushing{Mutex::kHeldLong};
  };
  using Key = std::pair<std::string, uint32_t>;  // job, table
  std::shared_ptr<Gate> Find(const std::string& job, uint32_t table);
  static void CheckRoom(const Gate& gate, const Part& part, size_t bytes, size_t freed);
  static std::shared_ptr<JoinedStep> Join(Gate& gate, const std::string& job, uint64_t number,
                                          Step& step);
  void PushNext(Gate& gate);
  void Push(const std::shared_ptr<JoinedStep>& joined);
  static void DropSteps(Gate& gate, std::vector<store::Pipeline::Done>& waiting)
      GRAPHD_REQUIRES(gate.mutex);
  // Calls f(gate) for each gate of a job, with the gate's mutex held.
  template <class F>
  void ForEachGate(const std::string& job, const F& f) GRAPHD_REQUIRES(mutex_);

  store::TensorHost& host_;
  const std::shared_ptr<FairPushes> pushes_;
  Mutex mutex_;  // locked before a gate's mutex
  struct Job {
    // The bytes of the job's parts that wait.
    std::shared_ptr<std::atomic<size_t>> waiting_bytes = std::make_shared<std::atomic<size_t>>(0);
    uint32_t attempt = 0;
  };
  // The attached jobs. Parts of other jobs are not accepted, because they would never be removed.
  std::map<std::string, Job> jobs_ GRAPHD_GUARDED_BY(mutex_);
  std::map<Key, std::shared_ptr<Gate>> gates_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
