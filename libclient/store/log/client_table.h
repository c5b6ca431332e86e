// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "store/rows/push.h"

namespace graphd::store {

// The last push of each client, by which a push that is sent again is recognised. At most
// kMaxClients clients are remembered. If there are more, a client is forgotten, and a push that it
// sends again would be applied twice: among the clients of the job that has the most, the one that
// pushed longest ago. So a job that makes clients without end forgets its own. Not thread-safe.
class ClientTable {
 public:
  static constexpr size_t kMaxClients = 65536;
  struct Client {
    uint64_t sequence = 0;
    uint64_t lsn = 0;
  };
  // The form in which clients are stored.
  struct Entry {
    ClientId id;
    Client client;
  };
  using Entries = std::vector<Entry>;

  ClientTable() = default;
  explicit ClientTable(const Entries& all) {
    for (const auto& [id, client] : all) Remember(id, client);
  }
  Entries all() const {
    Entries all;
    all.reserve(clients_.size());
    for (const auto& [id, client] : clients_) all.push_back({id, client});
    return all;
  }
  // Returns null for an unknown client.
  const Client* Find(const ClientId& id) const {
    const auto found = clients_.find(id);
    return found == clients_.end() ? nullptr : &found->second;
  }
  // Sets the last push of a client. Its `lsn` differs from that of every other push.
  void Remember(const ClientId& id, const Client& client) {
    if (const auto found = clients_.find(id); found != clients_.end()) {
      ChangeJob(id.high, [&](Lsns& lsns) { lsns.erase(found->second.lsn); });
    } else if (clients_.size() >= kMaxClients) {
      const uint64_t job = by_size_.rbegin()->job;
      ChangeJob(job, [&](Lsns& lsns) {
        clients_.erase({job, lsns.begin()->second});
        lsns.erase(lsns.begin());
      });
    }
    clients_[id] = client;
    ChangeJob(id.high, [&](Lsns& lsns) { lsns.emplace(client.lsn, id.low); });
  }

 private:
  using Lsns = std::map<uint64_t, uint64_t>;  // ClientId::low by the lsn of the last push
  // A job's rank: the last one has the most clients and, of several such jobs, the one that pushed
  // longest ago.
  struct Rank {
    size_t clients;
    uint64_t since;  // UINT64_MAX minus the lsn of the client that pushed longest ago
    uint64_t job;
    auto operator<=>(const Rank&) const = default;
  };
  static Rank RankOf(uint64_t job, const Lsns& lsns) {
    return {lsns.size(), UINT64_MAX - lsns.begin()->first, job};
  }
  template <class F>
  void ChangeJob(uint64_t job, F&& change) {
    Lsns& lsns = jobs_[job];
    if (!lsns.empty()) by_size_.erase(RankOf(job, lsns));
    change(lsns);
    if (lsns.empty()) {
      jobs_.erase(job);
    } else {
      by_size_.insert(RankOf(job, lsns));
    }
  }

  std::map<ClientId, Client> clients_;
  std::map<uint64_t, Lsns> jobs_;  // by ClientId::high
  std::set<Rank> by_size_;
};

}  // namespace graphd::store
