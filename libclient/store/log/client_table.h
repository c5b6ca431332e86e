// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "store/rows/push.h"

namespace graphd::store {

// The last push of each client, by which a push that is sent again is recognised. At most
// kMaxClients clients are remembered. If there are more, the client that pushed longest ago is
// forgotten, and a push that it sends again would be applied twice. Not thread-safe.
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
    for (const auto& [id, client] : all) {
      clients_.emplace(id, client);
      by_lsn_.emplace(client.lsn, id);
    }
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
  // Sets the last push of a client. Its `lsn` must be larger than that of every earlier push.
  void Remember(const ClientId& id, const Client& client) {
    if (const auto found = clients_.find(id); found != clients_.end()) {
      by_lsn_.erase(found->second.lsn);
    } else if (clients_.size() >= kMaxClients) {
      clients_.erase(by_lsn_.begin()->second);
      by_lsn_.erase(by_lsn_.begin());
    }
    clients_[id] = client;
    by_lsn_.emplace(client.lsn, id);
  }

 private:
  std::map<ClientId, Client> clients_;
  std::map<uint64_t, ClientId> by_lsn_;
};

}  // namespace graphd::store
