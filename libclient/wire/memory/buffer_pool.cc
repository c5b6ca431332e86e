// SPDX-License-Identifier: Apache-2.0
#include "wire/memory/buffer_pool.h"

#include <sys/mman.h>

#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/fork.h"
#include "base/huge_pages.h"
#include "base/strings.h"
#include "base/threads/mutex.h"

namespace graphd {
namespace {

constexpr size_t kSmallest = size_t{64} << 10;

// Rounds a size up to its class: a power of two below 2 MiB, a multiple of 2 MiB above. There are
// few classes, and they waste little memory.
size_t ClassOf(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes < kHugePage) return std::bit_ceil(bytes);
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

struct BufferPool::State {
  struct Idle {
    std::byte* data;
    Clock::time_point since;
  };
  mutable Mutex mutex;
  std::multimap<size_t, Idle> idle GRAPHD_GUARDED_BY(mutex);  // by capacity
  size_t idle_bytes GRAPHD_GUARDED_BY(mutex) = 0;
  size_t loaned_bytes GRAPHD_GUARDED_BY(mutex) = 0;
  OwnProcess process;
  size_t max_idle_bytes = 0;  // set before other threads use the pool

  ~State() {
    for (auto& [capacity, buffer] : idle) ::munmap(buffer.data, capacity);
  }
};

PooledBuffer::PooledBuffer(std::shared_ptr<BufferPool> pool, std::byte* data,
                           size_t capacity) noexcept
    : pool_(std::move(pool)), data_(data), capacity_(capacity) {}

PooledBuffer::PooledBuffer(PooledBuffer&& o) noexcept
    : pool_(std::move(o.pool_)),
      data_(std::exchange(o.data_, nullptr)),
      capacity_(std::exchange(o.capacity_, 0)) {}

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& o) noexcept {
  PooledBuffer old(std::move(*this));
  pool_ = std::move(o.pool_);
  data_ = std::exchange(o.data_, nullptr);
  capacity_ = std::exchange(o.capacity_, 0);
  return *this;
}

PooledBuffer::~PooledBuffer() {
  if (data_) pool_->Return(data_, capacity_);
}

BufferPool::BufferPool(std::shared_ptr<State> state, std::shared_ptr<MemoryAccount> account)
    : state_(std::move(state)), account_(std::move(account)) {}

std::shared_ptr<BufferPool> BufferPool::Create(size_t max_idle_bytes) {
  auto state = std::make_shared<State>();
  state->max_idle_bytes = max_idle_bytes;
  return std::shared_ptr<BufferPool>(new BufferPool(std::move(state), nullptr));
}

std::shared_ptr<BufferPool> BufferPool::ChargedTo(std::shared_ptr<MemoryAccount> account) const {
  return std::shared_ptr<BufferPool>(new BufferPool(state_, std::move(account)));
}

BufferPool::~BufferPool() = default;

PooledBuffer BufferPool::Get(size_t bytes) {
  const size_t capacity = ClassOf(bytes);
  if (account_) account_->Charge(capacity);
  return Take(capacity);
}

PooledBuffer BufferPool::GetAnyway(size_t bytes) {
  const size_t capacity = ClassOf(bytes);
  if (account_) account_->ChargeAnyway(capacity);
  return Take(capacity);
}

// Requires: `wanted` bytes are charged to the account.
PooledBuffer BufferPool::Take(size_t wanted) {
  {
    const MutexLock lock(state_->mutex);
    auto found = state_->idle.lower_bound(wanted);
    // An idle buffer of up to twice the size is used. Larger ones are kept for larger requests.
    if (found != state_->idle.end() && found->first <= 2 * wanted) {
      const size_t capacity = found->first;
      std::byte* data = found->second.data;
      state_->idle.erase(found);
      state_->idle_bytes -= capacity;
      state_->loaned_bytes += capacity;
      if (account_ && capacity > wanted) account_->ChargeAnyway(capacity - wanted);
      return PooledBuffer(shared_from_this(), data, capacity);
    }
  }
  std::byte* data = MapAligned(-1, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  if (data == nullptr) {
    if (account_) account_->Release(wanted);
    Throw(ErrorCode::kOverloaded, "no memory for a buffer of ", HumanBytes(wanted));
  }
  if (wanted >= kHugePage) ::madvise(data, wanted, MADV_HUGEPAGE);
  const MutexLock lock(state_->mutex);
  state_->loaned_bytes += wanted;
  return PooledBuffer(shared_from_this(), data, wanted);
}

void BufferPool::Return(std::byte* data, size_t capacity) noexcept {
  // In a forked child, nothing is returned: a thread of the parent may have held the mutex at the
  // fork. Buffers are private memory, which ends with the process.
  if (!state_->process.is_this()) return;
  if (account_) account_->Release(capacity);
  const Clock::time_point now = Clock::now();
  {
    const MutexLock lock(state_->mutex);
    state_->loaned_bytes -= capacity;
    if (state_->idle_bytes + capacity <= state_->max_idle_bytes) {
      // The buffer is inserted before others of its size, so that Take prefers the one that was
      // used last, which may still be in a cache.
      state_->idle.emplace_hint(state_->idle.lower_bound(capacity), capacity,
                                State::Idle{data, now});
      state_->idle_bytes += capacity;
      return;
    }
  }
  ::munmap(data, capacity);
}

size_t BufferPool::Trim(std::chrono::milliseconds idle_time) {
  const Clock::time_point before = Clock::now() - idle_time;
  std::multimap<size_t, State::Idle> unused;
  size_t bytes = 0;
  if (!state_->mutex.try_lock()) return 0;
  // Nodes are moved from one map to the other, which throws nothing.
  for (auto at = state_->idle.begin(); at != state_->idle.end();) {
    const auto next = std::next(at);
    if (at->second.since <= before) {
      bytes += at->first;
      unused.insert(state_->idle.extract(at));
    }
    at = next;
  }
  state_->idle_bytes -= bytes;
  state_->mutex.unlock();
  for (const auto& [capacity, buffer] : unused) ::munmap(buffer.data, capacity);
  return bytes;
}

size_t BufferPool::loaned_bytes() const {
  const MutexLock lock(state_->mutex);
  return state_->loaned_bytes;
}

size_t BufferPool::idle_bytes() const {
  const MutexLock lock(state_->mutex);
  return state_->idle_bytes;
}

}  // namespace graphd
