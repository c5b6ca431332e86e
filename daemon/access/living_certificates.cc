// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/living_certificates.h"

#include <sys/socket.h>

#include "base/log.h"

namespace graphd {

std::unique_ptr<LivingCertificates::Entry> LivingCertificates::Add(const std::string& serial,
                                                                   const std::string& name,
                                                                   int socket) {
  const MutexLock lock(mutex_);
  auto entry = std::make_unique<Entry>(*this, next_key_);
  connections_[next_key_++] = {serial, name, socket};
  return entry;
}

void LivingCertificates::Remove(uint64_t key) {
  const MutexLock lock(mutex_);
  connections_.erase(key);
}

size_t LivingCertificates::CloseRevoked(const RevokedList& revoked) {
  const MutexLock lock(mutex_);
  std::map<std::string, size_t> closed;  // connections by serial number and name
  size_t total = 0;
  for (const auto& [key, connection] : connections_) {
    if (!revoked.Has(connection.serial)) continue;
    // The socket is still open, because its entry is removed, with the mutex held, before the
    // socket is closed.
    ::shutdown(connection.socket, SHUT_RDWR);
    closed["'" + connection.name + "' (" + connection.serial + ")"]++;
    total++;
  }
  for (const auto& [certificate, count] : closed) {
    LogWarning({.op = "revoke"}, "certificate ", certificate, " is revoked: closing ", count,
               " connections");
  }
  return total;
}

}  // namespace graphd
