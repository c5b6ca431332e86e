// SPDX-License-Identifier: Apache-2.0
#include "base/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/file.h"
#include "base/strings.h"
#include "base/threads/mutex.h"

namespace graphd {

struct MappingGuard::Slot {
  std::atomic<uintptr_t> begin = 0, end = 0;  // end is 0: free. Changed while `replacing` is held.
  std::atomic<uintptr_t> replaced_from = 0;   // `end` while nothing is replaced
};

namespace {

constexpr size_t kMaxGuards = 65536;
constexpr uintptr_t kPage = 4096;

// The table of all guards. It is global, because a signal handler gets no pointer to an object of
// ours. Guards take and free slots under the mutex, and the handler reads slots at any time.
struct Guards {
  Mutex mutex;
  bool installed GRAPHD_GUARDED_BY(mutex) = false;
  size_t next GRAPHD_GUARDED_BY(mutex) = 0;  // the search for a free slot begins here
  std::atomic<size_t> used = 0;              // no slot from here on was ever taken
  // A lock that a thread holds while it changes a slot, in the handler and elsewhere. A thread that
  // holds it uses no guarded memory, so the handler never waits for its own thread.
  std::atomic_flag replacing = ATOMIC_FLAG_INIT;
  struct sigaction before {};
  MappingGuard::Slot slots[kMaxGuards];
};
Guards g_guards;

// A lock of Guards::replacing.
class Replacing {
 public:
  Replacing() noexcept {
    while (g_guards.replacing.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Replacing() { g_guards.replacing.clear(std::memory_order_release); }
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;
};

// Replaces the rest of the mapping, from the page of `address` on, if the slot guards that address.
// Returns whether that page is replaced now. Only makes calls that are safe in a signal handler.
bool Replace(MappingGuard::Slot& slot, uintptr_t address) noexcept {
  const uintptr_t page = address / kPage * kPage;
  const Replacing replacing;
  const uintptr_t end = slot.end;
  if (address < slot.begin || address >= end) return false;
  if (slot.replaced_from <= page) return true;  // another thread was faster
  // The damage must be known before anybody can read the zeros.
  const uintptr_t before = slot.replaced_from.exchange(page);
  // The kernel is called directly, because ThreadSanitizer treats mmap() as a write that races with
  // the readers.
  if (::syscall(SYS_mmap, page, end - page, PROT_READ | PROT_WRITE,
                MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != -1) {
    return true;
  }
  slot.replaced_from = before;
  return false;
}

void OnBusError(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  bool replaced = false;
  // A SIGBUS that a process sends has a code of at most 0, and no address.
  const size_t used = info->si_code > 0 ? g_guards.used.load(std::memory_order_acquire) : 0;
  for (size_t i = 0; i < used && !replaced; i++) {
    MappingGuard::Slot& slot = g_guards.slots[i];
    // This test, which needs no lock, excludes most slots.
    if (address < slot.end) replaced = Replace(slot, address);
  }
  const struct sigaction& before = g_guards.before;
  if (!replaced && (before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (!replaced && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else if (!replaced) {
    // After this handler, the thread repeats the access and raises the signal again, which then has
    // the effect that it had before the first guard.
    ::sigaction(SIGBUS, &before, nullptr);
  }
  errno = saved;
}

void Install() GRAPHD_REQUIRES(g_guards.mutex) {
  if (g_guards.installed) return;
  struct sigaction action {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  if (::sigaction(SIGBUS, &action, &g_guards.before) != 0) {
    ThrowErrno("can't handle", "SIGBUS");
  }
  g_guards.installed = true;
}

}  // namespace

MappingGuard::MappingGuard(void* begin, size_t bytes) {
  if (bytes == 0) return;
  const MutexLock lock(g_guards.mutex);
  Install();
  for (size_t i = 0; i < kMaxGuards; i++) {
    const size_t at = (g_guards.next + i) % kMaxGuards;
    Slot& slot = g_guards.slots[at];
    if (slot.end != 0) continue;
    const auto first = reinterpret_cast<uintptr_t>(begin);
    {
      const Replacing replacing;
      slot.replaced_from = first + bytes;
      slot.begin = first;
      slot.end = first + bytes;
    }
    g_guards.next = at + 1;
    if (g_guards.used <= at) g_guards.used = at + 1;
    slot_ = &slot;
    return;
  }
  Throw(ErrorCode::kOverloaded, "no more than ", kMaxGuards, " mappings of files can be guarded");
}

MappingGuard::~MappingGuard() {
  if (slot_ == nullptr) return;
  const MutexLock lock(g_guards.mutex);
  {
    const Replacing replacing;
    slot_->end = 0;
  }
  g_guards.next = static_cast<size_t>(slot_ - g_guards.slots);
}

bool MappingGuard::damaged() const noexcept {
  return slot_ != nullptr && slot_->replaced_from != slot_->end;
}

size_t MappingGuard::intact_bytes() const noexcept {
  return slot_ == nullptr ? 0 : slot_->replaced_from - slot_->begin;
}

}  // namespace graphd
