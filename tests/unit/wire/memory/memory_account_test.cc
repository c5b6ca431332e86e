// SPDX-License-Identifier: Apache-2.0
#include "wire/memory/memory_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "graphd/error.h"
#include "wire/memory/buffer_pool.h"

namespace graphd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<MemoryAccount> Root(size_t limit) {
  return std::make_shared<MemoryAccount>("all clients", limit, "Ask for less");
}

// Charges an account until it refuses, and returns how much that was.
size_t Exhaust(MemoryAccount& account) {
  size_t sum = 0;
  for (; account.TryCharge(1); sum++) {
  }
  return sum;
}

TEST(MemoryAccount, AJobGetsHalfAndAConnectionAThird) {
  const auto all = Root(600);
  const auto job = std::make_shared<MemoryAccount>("job 1", all);
  MemoryAccount connection("connection 1", job);
  EXPECT_EQ(Exhaust(connection), 200U);
  EXPECT_EQ(all->used(), 200U);
  connection.Release(200);
  EXPECT_EQ(all->used(), 0U);
  EXPECT_EQ(Exhaust(*job), 300U);
}

TEST(MemoryAccount, ANewLimitHoldsForTheWholeTree) {
  const auto all = Root(600);
  const auto job = std::make_shared<MemoryAccount>("job 1", all);
  MemoryAccount connection("connection 1", job);
  EXPECT_EQ(Exhaust(connection), 200U);
  all->SetLimit(900);
  EXPECT_EQ(Exhaust(connection), 100U);
  all->SetLimit(300);
  EXPECT_EQ(connection.limit(), 300U);
  EXPECT_FALSE(connection.TryCharge(1));
  connection.Release(201);
  EXPECT_TRUE(connection.TryCharge(1));
}

TEST(MemoryAccount, ANewcomerFindsRoomWhateverOthersUse) {
  const auto all = Root(10000);
  std::vector<std::unique_ptr<MemoryAccount>> jobs;
  for (size_t i = 1; i <= 8; i++) {
    jobs.push_back(std::make_unique<MemoryAccount>("job", all));
    Exhaust(*jobs.back());
    EXPECT_GT(jobs.back()->used(), 0U);
  }
  // All but the first few have given their memory back: the others' shares grow.
  while (jobs.size() > 1) {
    jobs.back()->Release(jobs.back()->used());
    jobs.pop_back();
  }
  EXPECT_EQ(jobs[0]->used(), 5000U);
}

TEST(MemoryAccount, ARefusalSaysWhoUsesHowMuchAndWhatToDo) {
  const auto all = Root(size_t{1} << 20);
  const auto job = std::make_shared<MemoryAccount>("job 1", all);
  auto connection = std::make_shared<MemoryAccount>("this client", job);
  job->Charge(size_t{256} << 10);
  MemoryCharge charge(connection);
  charge.Add(1000);
  try {
    charge.Add(size_t{512} << 10);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOverloaded);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("512 KiB more"), HasSubstr("1.0 MiB"),
                                    HasSubstr("this client 1000 B, job 1 257 KiB, all clients "
                                              "257 KiB. Ask for less")));
  }
  EXPECT_EQ(charge.bytes(), 1000U);
  charge.Set(10);
  EXPECT_EQ(connection->used(), 10U);
  { const MemoryCharge taken = std::move(charge); }
  EXPECT_EQ(connection->used(), 0U);
}

TEST(MemoryAccount, ChargesOfManyThreadsAddUp) {
  const auto all = Root(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      const auto job = std::make_shared<MemoryAccount>("job", all);
      for (int i = 0; i < 20000; i++) {
        if (job->TryCharge(100)) job->Release(100);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(all->used(), 0U);
}

TEST(MemoryAccount, IsChargedForBuffersOnLoan) {
  const auto pool = BufferPool::Create();
  const auto account = Root(size_t{8} << 20);
  const auto charged = pool->ChargedTo(account);
  {
    const PooledBuffer buffer = charged->Get(3 << 20);
    EXPECT_EQ(account->used(), buffer.capacity());
    EXPECT_EQ(pool->loaned_bytes(), buffer.capacity());
    EXPECT_THROW(charged->Get(6 << 20), Error);
    const PooledBuffer anyway = charged->GetAnyway(6 << 20);
    EXPECT_EQ(account->used(), buffer.capacity() + anyway.capacity());
  }
  EXPECT_EQ(account->used(), 0U);
  // A larger idle buffer counts in full.
  const PooledBuffer larger = charged->Get(2 << 20);
  EXPECT_EQ(larger.capacity(), size_t{4} << 20);
  EXPECT_EQ(account->used(), larger.capacity());
}

}  // namespace
}  // namespace graphd
