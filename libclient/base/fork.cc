// SPDX-License-Identifier: Apache-2.0
#include "base/fork.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/strings.h"

namespace graphd {
namespace {

// The state that the handlers of pthread_atfork need; they take no argument.
std::atomic<uint64_t> g_generation{0};       // the number of forks up to this process
std::mutex g_closed_mutex;                   // std::mutex: one handler locks it, another unlocks it
ClosedInChildren* g_first_closed = nullptr;  // guarded by g_closed_mutex

std::atomic<bool> g_skip_destructors{false};

}  // namespace

struct ForkHandlers {
  static void Register() {
    static const int error = ::pthread_atfork(Prepare, InParent, InChild);
    if (error != 0) Throw(ErrorCode::kOverloaded, "no memory for a handler of fork");
  }
  static void Prepare() { g_closed_mutex.lock(); }
  static void InParent() { g_closed_mutex.unlock(); }
  static void InChild() {
    g_generation.fetch_add(1, std::memory_order_relaxed);
    for (ClosedInChildren* each = g_first_closed; each != nullptr; each = each->next_) {
      ::close(each->fd_);
    }
    // The objects in the list are the parent's, and are abandoned. The child begins a new list.
    g_first_closed = nullptr;
    g_closed_mutex.unlock();
    if (g_skip_destructors) ::on_exit(EndNow, nullptr);
  }
  static void EndNow(int status, void*) {
    std::fflush(nullptr);
    ::_exit(status);
  }
  static void Add(ClosedInChildren& added) {
    const std::lock_guard lock(g_closed_mutex);
    added.next_ = g_first_closed;
    if (g_first_closed != nullptr) g_first_closed->previous_ = &added;
    g_first_closed = &added;
  }
  static void Remove(ClosedInChildren& removed) {
    const std::lock_guard lock(g_closed_mutex);
    if (removed.next_ != nullptr) removed.next_->previous_ = removed.previous_;
    if (removed.previous_ != nullptr) {
      removed.previous_->next_ = removed.next_;
    } else {
      g_first_closed = removed.next_;
    }
  }
};

OwnProcess::OwnProcess() {
  ForkHandlers::Register();
  generation_ = g_generation.load(std::memory_order_relaxed);
}

bool OwnProcess::is_this() const noexcept {
  return generation_ == g_generation.load(std::memory_order_relaxed);
}

void SkipDestructorsInChildren() {
  ForkHandlers::Register();
  g_skip_destructors = true;
}

ClosedInChildren::ClosedInChildren(int fd) : fd_(fd) {
  ForkHandlers::Register();
  ForkHandlers::Add(*this);
}

ClosedInChildren::~ClosedInChildren() { ForkHandlers::Remove(*this); }

}  // namespace graphd
