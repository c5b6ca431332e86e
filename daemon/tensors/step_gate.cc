// SPDX-License-Identifier: Apache-2.0
#include "daemon/tensors/step_gate.h"

#include <algorithm>

#include "base/failure.h"
#include "base/strings.h"
#include "daemon/tensors/push_client.h"

namespace graphd {
namespace {

Error StartedAgain(const std::string& job, uint32_t attempt) {
  return {ErrorCode::kDenied,
          StrCat("step: job ", job, " was started again (attempt ", attempt,
                 "), and this trainer is of an earlier attempt; it should end")};
}

}  // namespace

// A complete step: its parts joined to one push, and the callbacks that wait for it.
struct StepGate::JoinedStep {
  std::vector<int64_t> rows;
  std::vector<std::byte> payload;
  MemoryCharge charge;  // for both
  std::string job;
  store::TensorHost::SharePtr share;
  store::Push push;
  Mutex mutex;
  std::vector<store::Pipeline::Done> waiting GRAPHD_GUARDED_BY(mutex);
  bool over GRAPHD_GUARDED_BY(mutex) = false;

  // Adds a callback; returns false if the push is over.
  bool Add(store::Pipeline::Done& done) {
    const MutexLock lock(mutex);
    if (!over) waiting.push_back(std::move(done));
    return !over;
  }
  bool IsOver() {
    const MutexLock lock(mutex);
    return over;
  }
  void Done(const Error* error) {
    std::vector<store::Pipeline::Done> callbacks;
    {
      const MutexLock lock(mutex);
      over = true;
      callbacks.swap(waiting);
    }
    for (const auto& done : callbacks) done(error);
  }
};

std::shared_ptr<StepGate::Gate> StepGate::Find(const std::string& job, uint32_t table) {
  const MutexLock lock(mutex_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) Throw(ErrorCode::kUnavailable, "step: job ", job, " has left");
  const auto known = gates_.find({job, table});
  if (known != gates_.end()) return known->second;
  auto gate = std::make_shared<Gate>(PushClients(job).OfSteps(table), found->second.waiting_bytes);
  {
    const MutexLock unshared(gate->mutex);
    gate->attempt = found->second.attempt;
  }
  gates_.emplace(std::pair(job, table), gate);
  return gate;
}

void StepGate::CheckRoom(const Gate& gate, const Part& part, size_t bytes, size_t freed) {
  const size_t waiting = *gate.waiting_bytes;
  if (waiting - freed + bytes <= kMaxWaitingBytes &&
      (part.account == nullptr || part.account->CanTake(0, 0.5))) {
    return;
  }
  Throw(ErrorCode::kOverloaded, HumanBytes(waiting),
        " of parts of this job's steps wait for other trainers already; try again");
}

void StepGate::AddPart(const store::TensorHost::SharePtr& share, const std::string& job,
                       const Trainer& trainer, const UpdateRule& rule, uint64_t number, Part part,
                       store::Pipeline::Done done) {
  const int rank = trainer.rank;
  store::Push push;
  push.rule = rule;
  push.rows = part.rows;
  push.payload = part.payload;
  share->table->CheckPush(push);
  const auto gate = Find(job, share->table->id());
  MutexLock lock(gate->mutex);
  if (gate->over) Throw(ErrorCode::kUnavailable, "step: job ", job, " has left");
  if (trainer.attempt < gate->attempt) throw StartedAgain(job, gate->attempt);
  // A push under way, such as one that waits for a checkpoint, may still fail. Only the sequence
  // number in the store proves that a step was applied.
  const auto pushed = gate->pushed.lock();
  if (pushed && pushed->push.sequence == number && pushed->Add(done)) return;
  const uint64_t under_way = pushed && !pushed->IsOver() ? pushed->push.sequence : 0;
  const uint64_t last = host_.LastSequence(gate->client);
  if (number <= last) {
    // The step was pushed before, but its push may not be done. An empty push of the same number
    // waits for it.
    Step repeated{share, rule, {}};
    repeated.parts[rank] = {Part{{}, {}, nullptr, part.account, part.share}, std::move(done), 0};
    lock.Unlock();
    return Push(Join(*gate, job, number, repeated));
  }
  const uint64_t next =
      gate->steps.empty() ? std::max(last, under_way) + 1 : gate->steps.rbegin()->first + 1;
  if (number > next) {
    Throw(ErrorCode::kInvalid, "step ", number, " of tensor '", share->record.spec.name,
          "' is out of order: the next step is ", next);
  }
  const auto known = gate->steps.find(number);
  if (known != gate->steps.end() && !(known->second.rule == rule)) {
    Throw(ErrorCode::kInvalid, "step ", number, " of tensor '", share->record.spec.name,
          "': trainer ", rank, " uses another optimiser or other settings than the other trainers");
  }
  static const std::map<int, Waiting> kNone;
  const auto& parts = known == gate->steps.end() ? kNone : known->second.parts;
  const size_t bytes = part.payload.size() + part.rows.size() * sizeof(int64_t);
  const auto before = parts.find(rank);
  const size_t freed = before == parts.end() ? 0 : before->second.bytes;
  const size_t missing = static_cast<size_t>(trainer.world_size) - parts.size();
  // A part that is refused must leave nothing, or a job could make steps without end.
  if (missing > 1 || before != parts.end()) CheckRoom(*gate, part, bytes, freed);
  Step& step = gate->steps.try_emplace(number, Step{share, rule, {}}).first->second;
  *gate->waiting_bytes += bytes - freed;
  step.parts[rank] = {std::move(part), std::move(done), bytes};
  if (step.parts.size() < static_cast<size_t>(trainer.world_size)) return;
  gate->complete.push_back(Join(*gate, job, number, step));
  gate->pushed = gate->complete.back();
  gate->steps.erase(number);
  lock.Unlock();
  PushNext(*gate);
}

// Pushes the first of the gate's complete steps. Each thread that has completed a step calls this
// once. The gate's mutex is not held during the push, which may wait for memory, nor while this
// thread waits for another one that pushes: TrainerLeft would wait, too.
void StepGate::PushNext(Gate& gate) {
  const MutexLock pushing(gate.pushing);
  std::shared_ptr<JoinedStep> next;
  {
    const MutexLock lock(gate.mutex);
    next = std::move(gate.complete.front());
    gate.complete.pop_front();
  }
  Push(next);
}

std::shared_ptr<StepGate::JoinedStep> StepGate::Join(Gate& gate, const std::string& job,
                                                     uint64_t number, Step& step) {
  std::shared_ptr<MemoryAccount> account;
  JobShare share;
  size_t rows = 0, bytes = 0;
  for (const auto& [rank, waiting] : step.parts) {
    account = waiting.part.account;
    share = waiting.part.share;
    rows += waiting.part.rows.size();
    bytes += waiting.part.payload.size();
  }
  auto joined = std::make_shared<JoinedStep>();
  // The limit is not applied, because the caller soon frees the parts, which are charged, too.
  joined->charge = MemoryCharge(account);
  joined->charge.AddAnyway(rows * sizeof(int64_t) + bytes);
  joined->rows.reserve(rows);
  joined->payload.reserve(bytes);
  const MutexLock unshared(joined->mutex);
  joined->waiting.reserve(step.parts.size());
  for (auto& [rank, waiting] : step.parts) {
    const Part& part = waiting.part;
    joined->rows.insert(joined->rows.end(), part.rows.begin(), part.rows.end());
    joined->payload.insert(joined->payload.end(), part.payload.begin(), part.payload.end());
    joined->waiting.push_back(std::move(waiting.done));
    *gate.waiting_bytes -= waiting.bytes;
  }
  joined->job = job;
  joined->share = step.share;
  store::Push& push = joined->push;
  push.rule = step.rule;
  push.client = gate.client;
  push.sequence = number;
  push.share = share;
  push.rows = joined->rows;
  push.payload = joined->payload;
  return joined;
}

void StepGate::Push(const std::shared_ptr<JoinedStep>& joined) {
  try {
    const auto submit = [&host = host_, joined](const store::Pipeline::Done& done) {
      host.Submit(joined->job, joined->share, joined->push, done);
    };
    const auto done = [joined](const Error* error) { joined->Done(error); };
    // If memory is bounded, this push may wait for memory, and must not make other pushes wait
    // behind it. It therefore bypasses the queue.
    if (host_.memory_is_bounded()) return submit(done);
    pushes_->Run(joined->push.share, joined->payload.size(), submit, done);
  } catch (...) {
    const Error error = CurrentError();
    joined->Done(&error);
  }
}

void StepGate::OnJobJoined(const std::string& job) {
  const MutexLock lock(mutex_);
  jobs_.try_emplace(job);
}

void StepGate::DropSteps(Gate& gate, std::vector<store::Pipeline::Done>& waiting) {
  for (auto& [number, step] : gate.steps) {
    for (auto& [rank, part] : step.parts) {
      *gate.waiting_bytes -= part.bytes;
      waiting.push_back(std::move(part.done));
    }
  }
  gate.steps.clear();
}

template <class F>
void StepGate::ForEachGate(const std::string& job, const F& f) {
  for (auto at = gates_.lower_bound({job, 0}); at != gates_.end() && at->first.first == job; ++at) {
    const MutexLock lock(at->second->mutex);
    f(*at->second);
  }
}

void StepGate::TrainerLeft(const std::string& job, int rank) {
  std::vector<store::Pipeline::Done> waiting;
  {
    const MutexLock lock(mutex_);
    ForEachGate(job, [&](Gate& gate) {
      gate.mutex.AssumeHeld();
      DropSteps(gate, waiting);
    });
  }
  const Error error(ErrorCode::kUnavailable, StrCat("step: trainer ", rank, " has left the job"));
  for (const auto& done : waiting) done(&error);
}

void StepGate::OnAttemptBegun(const std::string& job, uint32_t attempt) {
  std::vector<store::Pipeline::Done> waiting;
  {
    const MutexLock lock(mutex_);
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return;
    found->second.attempt = attempt;
    ForEachGate(job, [&](Gate& gate) {
      gate.mutex.AssumeHeld();
      gate.attempt = attempt;
      DropSteps(gate, waiting);
    });
  }
  const Error error = StartedAgain(job, attempt);
  for (const auto& done : waiting) done(&error);
}

void StepGate::OnJobLeft(const std::string& job) {
  std::vector<store::Pipeline::Done> dropped;
  const MutexLock lock(mutex_);
  jobs_.erase(job);
  ForEachGate(job, [&](Gate& gate) {
    gate.mutex.AssumeHeld();
    gate.over = true;
    DropSteps(gate, dropped);
  });
  std::erase_if(gates_, [&](const auto& entry) { return entry.first.first == job; });
}

}  // namespace graphd
