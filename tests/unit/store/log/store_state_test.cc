// SPDX-License-Identifier: Apache-2.0
#include "store/log/store_state.h"

#include <gtest/gtest.h>

#include "graphd/error.h"

namespace graphd::store {
namespace {

ClientTable ManyClients(uint64_t count) {
  ClientTable clients;
  for (uint64_t i = 1; i <= count; i++) clients.Remember({i * 7919 % 1000003, i}, {3 * i, i});
  return clients;
}

TEST(StoreState, RoundTripsCompactly) {
  for (const uint64_t count : {0, 1, 5000}) {
    const StoreState state{77, 8, ManyClients(count).all()};
    const std::string text = EncodeState(state);
    EXPECT_LE(text.size(), 32 * count + 64);
    const StoreState back = DecodeState(text);
    EXPECT_EQ(back.lsn, 77U);
    EXPECT_EQ(back.next_id, 8U);
    const ClientTable clients(back.clients);
    EXPECT_EQ(back.clients.size(), count);
    for (uint64_t i = 1; i <= count; i++) {
      const auto* client = clients.Find({i * 7919 % 1000003, i});
      ASSERT_NE(client, nullptr);
      ASSERT_EQ(client->sequence, 3 * i);
      ASSERT_EQ(client->lsn, i);
    }
  }
}

TEST(StoreState, DamageIsDetected) {
  const std::string text = EncodeState({77, 8, ManyClients(3).all()});
  for (size_t i = 0; i < text.size(); i++) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THROW(DecodeState(damaged), Error) << i;
    EXPECT_THROW(DecodeState(text.substr(0, i)), Error) << i;
  }
}

// The client that pushed longest ago is forgotten, also after a restart.
TEST(StoreState, TheNumberOfClientsIsBounded) {
  ClientTable clients(ManyClients(ClientTable::kMaxClients).all());
  clients.Remember({1, 0}, {1, ClientTable::kMaxClients + 1});
  EXPECT_EQ(clients.Find({7919, 1}), nullptr);
  EXPECT_NE(clients.Find({2 * 7919, 2}), nullptr);
  EXPECT_NE(clients.Find({1, 0}), nullptr);
}

TEST(ClientTable, AJobWithManyClientsForgetsItsOwn) {
  ClientTable clients;
  uint64_t lsn = 0;
  const auto push = [&](uint64_t job, uint64_t client) {
    clients.Remember({job, client}, {1, ++lsn});
  };
  for (uint64_t i = 0; i < 2048; i++) push(1, i);
  push(2, 0);
  for (uint64_t i = 0; i < 2 * ClientTable::kMaxClients; i++) push(3, i);
  EXPECT_EQ(clients.all().size(), ClientTable::kMaxClients);
  for (uint64_t i = 0; i < 2048; i++) ASSERT_NE(clients.Find({1, i}), nullptr) << i;
  EXPECT_NE(clients.Find({2, 0}), nullptr);
  // It forgets those of its own that pushed longest ago.
  EXPECT_EQ(clients.Find({3, ClientTable::kMaxClients}), nullptr);
  EXPECT_NE(clients.Find({3, 2 * ClientTable::kMaxClients - 1}), nullptr);
  EXPECT_NE(clients.Find({3, ClientTable::kMaxClients + 2049}), nullptr);
}

}  // namespace
}  // namespace graphd::store
