// SPDX-License-Identifier: Apache-2.0
#include "base/threads/run_threads.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/threads/mutex.h"

namespace graphd {
namespace {

// The kernel's struct sched_attr of version 0. It is repeated here, because the kernel's header
// that declares it can't be included together with <sched.h>.
struct SchedulingAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

constexpr uint64_t kSliceNanoseconds = 100'000;  // the shortest that the kernel grants

}  // namespace

size_t UsefulThreads() noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // The call fails on a machine of more than 1024 cores, which has enough of them for all eight
  // threads.
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 8;
  return static_cast<size_t>(std::clamp(CPU_COUNT(&cores), 1, 8));
}

void RunThreads(size_t threads, const std::function<void(size_t)>& f) {
  struct {
    Mutex mutex;
    std::exception_ptr failure GRAPHD_GUARDED_BY(mutex);
  } first;
  const auto guarded = [&](size_t i) {
    try {
      f(i);
    } catch (...) {
      const MutexLock lock(first.mutex);
      if (!first.failure) first.failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    size_t next = 1;
    try {
      for (; next < threads; next++) others.emplace_back(guarded, next);
    } catch (const std::system_error&) {  // the process or its cgroup may have no more threads
    }
    for (; next < threads; next++) guarded(next);
    guarded(0);
  }
  const MutexLock lock(first.mutex);
  if (first.failure) std::rethrow_exception(first.failure);
}

void RequestShortSlices() noexcept {
  SchedulingAttributes attributes{};
  // The other attributes, such as the priority, keep the values that the kernel has returned.
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  attributes.runtime = kSliceNanoseconds;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace graphd
