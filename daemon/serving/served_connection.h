// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include <memory>

#include "daemon/serving/daemon_service.h"
#include "wire/connection.h"

namespace graphd {

// A client's connection and the service behind it. It may be destroyed at any moment: calls that
// the client has made may then outlive it, and the service with them. Belongs to the thread of the
// connection's event loop.
class ServedConnection {
 public:
  // `timer` belongs to the event loop. `entry` may be null.
  ServedConnection(kj::Own<kj::AsyncIoStream> stream, kj::Timer& timer, ServiceContext& context,
                   kj::Own<DaemonService> service, const Peer& peer,
                   std::unique_ptr<LivingCertificates::Entry> entry);
  ~ServedConnection() noexcept(false);
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  DaemonService& service() noexcept { return service_; }
  Connection& connection() noexcept { return connection_; }

 private:
  DaemonService& service_;
  Connection connection_;
  const std::unique_ptr<LivingCertificates::Entry> entry_;  // destroyed before the connection
};

}  // namespace graphd
