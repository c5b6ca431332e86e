// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/threads/mutex.h"
#include "tls/revoked_list.h"

namespace graphd {

// The open connections with their peers' certificates, so that the connections of a revoked
// certificate can be closed. Thread-safe.
class LivingCertificates {
 public:
  // The entry of a connection, which is removed when this object is destroyed. It must be destroyed
  // before the connection's socket is closed.
  class Entry {
   public:
    Entry(LivingCertificates& all, uint64_t key) : all_(all), key_(key) {}
    ~Entry() { all_.Remove(key_); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    LivingCertificates& all_;
    const uint64_t key_;
  };
  std::unique_ptr<Entry> Add(const std::string& serial, const std::string& name, int socket);

  // Shuts down the sockets of all connections whose certificate is in the list, which ends the
  // connections on both sides. Logs each certificate. Returns the number of connections.
  size_t CloseRevoked(const RevokedList& revoked);

 private:
  struct Connection {
    std::string serial, name;
    int socket;
  };
  void Remove(uint64_t key);

  Mutex mutex_;
  std::map<uint64_t, Connection> connections_ GRAPHD_GUARDED_BY(mutex_);
  uint64_t next_key_ GRAPHD_GUARDED_BY(mutex_) = 0;
};

}  // namespace graphd
