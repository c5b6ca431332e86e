// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/served_connection.h"

#include <utility>

namespace graphd {

ServedConnection::ServedConnection(kj::Own<kj::AsyncIoStream> stream, kj::Timer& timer,
                                   ServiceContext& context, kj::Own<DaemonService> service,
                                   const Peer& peer,
                                   std::unique_ptr<LivingCertificates::Entry> entry)
    : service_(*service),
      connection_(kj::mv(stream), peer.is_unix, context.buffers, capnp::rpc::twoparty::Side::SERVER,
                  capnp::Capability::Client(wire::Daemon::Client(kj::mv(service)))),
      entry_(std::move(entry)) {
  service_.SetConnection(connection_);
  connection_.stream().SetMemory(context.memory.OfUnattached(peer.text), timer);
}

ServedConnection::~ServedConnection() noexcept(false) { service_.Disconnect(); }

}  // namespace graphd
