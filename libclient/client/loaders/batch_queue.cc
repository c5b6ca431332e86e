// SPDX-License-Identifier: Apache-2.0
#include "graphd/batch_queue.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/interruptions.h"
#include "base/strings.h"
#include "base/threads/mutex.h"
#include "client/link/session_process.h"

namespace graphd::detail {

// The struct is hidden, because the public header that declares it would otherwise export it.
struct [[gnu::visibility("hidden")]] BatchQueueCore::State {
  // The place of a finished batch, or of the exception of its `make`. Assignment never throws.
  struct Slot {
    bool full = false;
    std::shared_ptr<void> batch;
    std::exception_ptr failure;
  };

  Slot Run(int64_t index) const noexcept;
  void Work();
  void Stop();

  SessionProcess process;  // the process that has the workers
  int64_t num_batches = 0;
  Make make;
  bool ordered = true;
  std::stop_source stop;

  Mutex mutex;
  CondVar room, ready;
  // A ring buffer: the next batch to be delivered is in slots[delivered % size].
  std::vector<Slot> slots GRAPHD_GUARDED_BY(mutex);
  int64_t started GRAPHD_GUARDED_BY(mutex) = 0;
  int64_t finished GRAPHD_GUARDED_BY(mutex) = 0;
  int64_t delivered GRAPHD_GUARDED_BY(mutex) = 0;

  std::vector<std::thread> workers;
};

BatchQueueCore::State::Slot BatchQueueCore::State::Run(int64_t index) const noexcept {
  Slot slot;
  slot.full = true;
  try {
    slot.batch = make(index, stop.get_token());
  } catch (...) {
    slot.failure = std::current_exception();
  }
  return slot;
}

void BatchQueueCore::State::Work() {
  struct NobodyWaits {};
  const InterruptCheck check([this] {
    if (stop.stop_requested()) throw NobodyWaits{};
  });
  MutexLock lock(mutex);
  const auto size = static_cast<int64_t>(slots.size());
  for (;;) {
    while (!stop.stop_requested() && started != num_batches && started >= delivered + size) {
      room.Wait(mutex);
    }
    if (stop.stop_requested() || started == num_batches) return;
    const int64_t index = started++;
    // The other workers have nothing left to wait for.
    if (started == num_batches) room.NotifyAll();
    lock.Unlock();
    Slot slot = Run(index);
    lock.Lock();
    const int64_t place = ordered ? index : finished;
    finished++;
    slots[static_cast<size_t>(place % size)] = std::move(slot);
    ready.NotifyOne();
  }
}

void BatchQueueCore::State::Stop() {
  stop.request_stop();
  // After this, every worker that has not seen the stop request either holds the mutex or waits.
  { const MutexLock lock(mutex); }
  room.NotifyAll();
  for (std::thread& worker : workers) worker.join();
  workers.clear();
}

BatchQueueCore::BatchQueueCore(int64_t num_batches, Make make, const QueueOptions& options) {
  if (num_batches < 0) Throw(ErrorCode::kInvalid, num_batches, " batches: expected 0 or more");
  if (options.num_workers < 0 || options.num_workers > kMaxWorkers) {
    Throw(ErrorCode::kInvalid, "num_workers ", options.num_workers, ": expected 0..", kMaxWorkers);
  }
  if (options.queue_size < 1 || options.queue_size > kMaxQueueSize) {
    Throw(ErrorCode::kInvalid, "queue_size ", options.queue_size, ": expected 1..", kMaxQueueSize);
  }
  state_ = std::make_unique<State>();
  state_->num_batches = num_batches;
  state_->make = std::move(make);
  state_->ordered = options.ordered;
  state_->slots.resize(static_cast<size_t>(std::min(options.queue_size, num_batches)));
  const int64_t useful = static_cast<int64_t>(state_->slots.size());
  const int64_t count = std::min<int64_t>(options.num_workers, useful);
  try {
    for (int64_t i = 0; i < count; i++) {
      state_->workers.emplace_back([state = state_.get()] { state->Work(); });
    }
  } catch (const std::system_error& error) {
    const size_t running = state_->workers.size();
    state_->Stop();
    Throw(ErrorCode::kOverloaded, "cannot start worker thread ", running, " of ", count, ": ",
          error.what(), "; ask for fewer (num_workers, --num_samplers)");
  }
}

BatchQueueCore::~BatchQueueCore() {
  if (!state_) return;
  if (!state_->process.is_this()) {
    static_cast<void>(state_.release());  // its threads are the parent's
    return;
  }
  state_->Stop();
}

std::shared_ptr<void> BatchQueueCore::Next() {
  State& state = *state_;
  state.process.Check();
  MutexLock lock(state.mutex);
  if (state.delivered == state.num_batches) return nullptr;
  if (state.workers.empty()) {
    const int64_t index = state.delivered++;
    lock.Unlock();
    return state.make(index, state.stop.get_token());
  }
  State::Slot& next = state.slots[static_cast<size_t>(state.delivered) % state.slots.size()];
  while (!next.full) AwaitChange(state.ready, state.mutex);
  const State::Slot slot = std::exchange(next, {});
  state.delivered++;
  lock.Unlock();
  state.room.NotifyOne();
  if (slot.failure) std::rethrow_exception(slot.failure);
  return slot.batch;
}

}  // namespace graphd::detail
