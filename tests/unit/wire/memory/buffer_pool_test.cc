// SPDX-License-Identifier: Apache-2.0
#include "wire/memory/buffer_pool.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace graphd {
namespace {

TEST(BufferPool, ReusesReturnedBuffers) {
  auto pool = BufferPool::Create();
  PooledBuffer first = pool->Get(3 << 20);
  std::byte* data = first.data();
  EXPECT_GE(first.capacity(), 3u << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % (2 << 20), 0u);
  EXPECT_EQ(pool->loaned_bytes(), first.capacity());
  first = PooledBuffer();
  EXPECT_EQ(pool->loaned_bytes(), 0u);
  EXPECT_EQ(pool->Get(3 << 20).data(), data);
}

TEST(BufferPool, UsesNoLargeBufferForASmallRequest) {
  auto pool = BufferPool::Create();
  pool->Get(64 << 20);
  EXPECT_LE(pool->Get(1000).capacity(), 64u << 10);
}

TEST(BufferPool, LimitsIdleBytes) {
  auto pool = BufferPool::Create(4 << 20);
  std::vector<PooledBuffer> loans;
  for (int i = 0; i < 10; i++) loans.push_back(pool->Get(2 << 20));
  loans.clear();
  EXPECT_LE(pool->idle_bytes(), 4u << 20);
}

TEST(BufferPool, TrimsBuffersThatNobodyHasUsed) {
  auto pool = BufferPool::Create();
  pool->Get(4 << 20);
  EXPECT_EQ(pool->Trim(std::chrono::hours(1)), 0u);
  EXPECT_EQ(pool->idle_bytes(), 4u << 20);
  const PooledBuffer loan = pool->Get(100);
  EXPECT_EQ(pool->Trim(std::chrono::milliseconds(0)), 4u << 20);
  EXPECT_EQ(pool->idle_bytes(), 0u);
  EXPECT_EQ(pool->loaned_bytes(), loan.capacity());
}

TEST(BufferPool, BuffersOutliveTheirPoolsOwner) {
  auto pool = BufferPool::Create();
  PooledBuffer buffer = pool->Get(100);
  pool.reset();
  buffer.data()[99] = std::byte{1};
}

TEST(BufferPool, IsThreadSafe) {
  auto pool = BufferPool::Create();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&pool, t] {
      for (int i = 0; i < 2000; i++) {
        PooledBuffer buffer = pool->Get(static_cast<size_t>(1000 * (i % 100) + 1));
        buffer.data()[0] = static_cast<std::byte>(t);
        ASSERT_EQ(buffer.data()[0], static_cast<std::byte>(t));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool->loaned_bytes(), 0u);
}

}  // namespace
}  // namespace graphd
