// SPDX-License-Identifier: Apache-2.0
#include "base/threads/watched_thread.h"

#include <pthread.h>

#include <utility>

#include "base/threads/mutex.h"

namespace graphd {
namespace {

struct Registry {
  Mutex mutex;
  std::vector<const WatchedThread*> threads GRAPHD_GUARDED_BY(mutex);
  uint64_t next_id GRAPHD_GUARDED_BY(mutex) = 1;
};

// Returns the registry, which is never destroyed, because threads may end after the destructors of
// static objects.
Registry& TheRegistry() {
  static auto* const registry = new Registry;
  return *registry;
}

constexpr size_t kKernelNameLength = 15;

}  // namespace

WatchedThread::WatchedThread(std::string name)
    : WatchedThread(std::move(name), std::chrono::seconds(0)) {}

WatchedThread::WatchedThread(std::string name, std::chrono::seconds longest_turn)
    : name_(std::move(name)), longest_turn_(longest_turn) {
  ::pthread_setname_np(::pthread_self(), name_.substr(0, kKernelNameLength).c_str());
  Registry& registry = TheRegistry();
  {
    const MutexLock lock(registry.mutex);
    registry.threads.push_back(this);
    id_ = registry.next_id++;
  }
  current_ = this;
}

WatchedThread::~WatchedThread() {
  current_ = nullptr;
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  std::erase(registry.threads, this);
}

std::vector<WatchedThread::State> WatchedThread::All() {
  Registry& registry = TheRegistry();
  const MutexLock lock(registry.mutex);
  std::vector<State> states;
  for (const WatchedThread* thread : registry.threads) {
    const uint64_t progress = thread->progress_.load(std::memory_order_relaxed);
    const auto with_helpers =
        static_cast<uint64_t>(thread->with_helpers_.load(std::memory_order_relaxed));
    states.push_back({.id = thread->id_,
                      .name = thread->name_,
                      .works = progress % 2 == 0,
                      .progress = progress + with_helpers * helpers_progress_,
                      .longest = thread->is_loop()
                                     ? thread->longest_turn_
                                     : default_longest_.load(std::memory_order_relaxed)});
  }
  return states;
}

}  // namespace graphd
