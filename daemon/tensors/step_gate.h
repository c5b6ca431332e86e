// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/tensor_host.h"

namespace graphd {

// Synchronous steps: every trainer of a job brings its part of a step, and when all are there they
// are pushed as one, ranks in order; so the result does not depend on who came first. Bulk
// synchronous (Valiant, "A bridging model for parallel computation", 1990): nobody's reads see a
// step before everybody has brought his part. Thread-safe: a mutex for each job's
// steps of a table, and one for the map of them.
class StepGate {
 public:
  // What one trainer brings: rows of the partition, and a payload as Push has it.
  struct Part {
    std::vector<int64_t> rows;
    std::span<const std::byte> payload;
    std::shared_ptr<const void> owner;  // of the payload
  };

  // Parts that wait, of all jobs; beyond it, one more is refused.
  static constexpr size_t kMaxWaitingBytes = size_t{512} << 20;

  explicit StepGate(store::TensorHost& host) : host_(host) {}

  // `done` is called as Pipeline::Done when the step of all has been pushed; at once for a step
  // that was pushed before; with Error(kUnavailable) when a trainer leaves. A part that is brought
  // again takes the place of the first, whose `done` is forgotten. Throws Error(kInvalid) for a
  // step that is not the next one or another rule than the others', Error(kOverloaded),
  // Error(kUnavailable) for a job that is not here, and what TensorHost::Submit throws.
  void Bring(const store::TensorHost::SharePtr& share, const std::string& job, int rank,
             int world_size, const store::UpdateRule& rule, uint64_t step, Part part,
             store::Pipeline::Done done);
  // The last step of the job that was pushed; 0: none.
  uint64_t LastStep(const store::TensorHost::SharePtr& share, const std::string& job) const;
  void JobCame(const std::string& job);
  void TrainerLeft(const std::string& job, int rank);
  void JobLeft(const std::string& job);

 private:
  struct Waiting {
    Part part;
    store::Pipeline::Done done;
    size_t bytes = 0;  // of waiting_bytes_
  };
  struct Step {
    store::TensorHost::SharePtr share;
    store::UpdateRule rule;
    std::map<int, Waiting> parts;  // by rank
  };
  struct Joined;
  // A job's steps of one table. Several may be open if trainers run ahead.
  struct Gate {
    std::mutex mutex;  // guards the rest
    std::map<uint64_t, Step> steps;
    std::weak_ptr<Joined> pushed;  // the last: the store may not have it yet, while pushes are held
    bool over = false;             // its job has left
    std::mutex pushing;            // held while a step is pushed, so that none overtakes another
  };
  using Key = std::pair<std::string, uint32_t>;  // job, table
  std::shared_ptr<Gate> Find(const std::string& job, uint32_t table);
  std::shared_ptr<Joined> Join(const std::string& job, uint64_t number, Step& step);
  void Push(const std::shared_ptr<Joined>& joined);
  void Forget(Gate& gate, bool for_good, std::vector<store::Pipeline::Done>& waiting);

  store::TensorHost& host_;
  std::atomic<size_t> waiting_bytes_ = 0;
  std::mutex mutex_;            // guards the rest; taken before a gate's
  std::set<std::string> jobs_;  // that are here: what others bring would stay for ever
  std::map<Key, std::shared_ptr<Gate>> gates_;
};

}  // namespace graphd
