// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "wire/memory/memory_account.h"

// Reusable buffers on 2 MiB pages for messages and gathered rows. The speed of large messages is
// limited by page faults, not by copies (allocating 40 MB costs more than sending them), so buffers
// are kept and reused.

namespace graphd {

class BufferPool;

// A buffer on loan. It returns to its pool when it is destroyed, on any thread. Move-only.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(PooledBuffer&& o) noexcept;
  PooledBuffer& operator=(PooledBuffer&& o) noexcept;
  ~PooledBuffer();

  std::byte* data() const noexcept { return data_; }
  // Returns the size of the buffer, which is at least what Get was asked for.
  size_t capacity() const noexcept { return capacity_; }
  std::span<std::byte> first(size_t n) const noexcept { return {data_, n}; }
  explicit operator bool() const noexcept { return data_ != nullptr; }

 private:
  friend class BufferPool;
  PooledBuffer(std::shared_ptr<BufferPool> pool, std::byte* data, size_t capacity) noexcept;
  std::shared_ptr<BufferPool> pool_;
  std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

// A pool of buffers. Thread-safe (one mutex, held for a few instructions). Buffers on loan keep the
// pool alive.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr size_t kMaxIdleBytes = size_t{512} << 20;

  // Creates a pool that keeps at most `max_idle_bytes` of idle buffers. A buffer that would exceed
  // this when it is returned is unmapped.
  static std::shared_ptr<BufferPool> Create(size_t max_idle_bytes = kMaxIdleBytes);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Returns an object for the same pool, whose buffers are charged to an account while on loan.
  std::shared_ptr<BufferPool> ChargedTo(std::shared_ptr<MemoryAccount> account) const;
  // Returns the account to which buffers are charged; null if there is none.
  const std::shared_ptr<MemoryAccount>& account() const noexcept { return account_; }

  // Returns a buffer aligned to 4096 bytes, with arbitrary contents. Throws Error(kOverloaded) if
  // the system has no memory, or the account refuses it.
  PooledBuffer Get(size_t bytes);
  // Does the same, except that the account never refuses the buffer.
  PooledBuffer GetAnyway(size_t bytes);

  // Unmaps buffers that nobody has used for this time. Returns their bytes. If another thread is
  // using the pool, returns 0 without waiting, because the calling thread also watches for threads
  // that hang, and must not hang itself.
  size_t Trim(std::chrono::milliseconds idle_time);

  // Return the bytes on loan and the bytes idle, for status and tests.
  size_t loaned_bytes() const;
  size_t idle_bytes() const;

 private:
  friend class PooledBuffer;
  struct State;
  BufferPool(std::shared_ptr<State> state, std::shared_ptr<MemoryAccount> account);
  PooledBuffer Take(size_t capacity);
  void Return(std::byte* data, size_t capacity) noexcept;

  const std::shared_ptr<State> state_;  // shared by all that ChargedTo() returns
  const std::shared_ptr<MemoryAccount> account_;
};

}  // namespace graphd
