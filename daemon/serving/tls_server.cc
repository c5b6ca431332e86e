// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/tls_server.h"

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize-async.h>

#include <utility>

#include "base/strings.h"
#include "tls/tls_stream.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr auto kDrain = 1 * kj::SECONDS;

// Reads what still comes, until the peer closes: a socket that is closed with unread bytes would
// take back our last ones.
kj::Promise<void> Drain(kj::AsyncIoStream& stream, kj::ArrayPtr<kj::byte> scratch) {
  return stream.tryRead(scratch.begin(), 1, scratch.size())
      .then([&stream, scratch](size_t count) -> kj::Promise<void> {
        if (count == 0) return kj::READY_NOW;
        return Drain(stream, scratch);
      });
}

// Ends the RPC of a client that speaks no TLS with an error that it understands.
kj::Promise<void> AbortPlaintext(kj::AsyncIoStream& stream, const Error& error, kj::Timer& timer) {
  auto message = kj::heap<capnp::MallocMessageBuilder>();
  auto abort = message->initRoot<capnp::rpc::Message>().initAbort();
  const kj::Exception exception = ToKj(error);
  abort.setReason(exception.getDescription());
  abort.setType(capnp::rpc::Exception::Type::FAILED);
  auto scratch = kj::heapArray<kj::byte>(4096);
  const kj::ArrayPtr<kj::byte> space = scratch;
  return capnp::writeMessage(stream, *message)
      .then([&stream, space] {
        stream.shutdownWrite();
        return Drain(stream, space);
      })
      .exclusiveJoin(timer.afterDelay(kDrain))
      .attach(kj::mv(message), kj::mv(scratch));
}

}  // namespace

TlsServer::TlsServer(const std::string& keys, const std::string& server_name)
    : keys_(KeyDirectory(keys, server_name), server_name, TlsSide::kServer) {}

kj::Promise<TlsServer::Accepted> TlsServer::Accept(kj::Own<kj::AsyncIoStream> socket, int number,
                                                   Peer peer, kj::Timer& timer) {
  // Clients that have read the new files meet a server that has read them, too.
  CheckFiles();
  const std::string who = "the client at " + peer.text;
  return AcceptTls(kj::mv(socket), keys_.Current(), who, timer,
                   [&timer](kj::AsyncIoStream& stream, const Error& error) {
                     return AbortPlaintext(stream, error, timer);
                   })
      .then([this, number, peer = std::move(peer)](kj::Own<TlsStream> stream) mutable {
        const std::string name = stream->session().peer_name();
        const std::string serial = stream->session().peer_serial();
        auto entry = living_.Add(serial, name, number);
        // The list may have changed after the handshake began, and before the entry was added.
        KJ_REQUIRE(!keys_.Current()->revoked->Has(serial), "the certificate is revoked");
        peer.certificate = name;
        peer.uid.reset();
        peer.gids.clear();
        peer.text += StrCat(" (certificate ", name, ")");
        return Accepted{kj::mv(stream), std::move(peer), std::move(entry)};
      });
}

void TlsServer::CheckFiles() {
  if (keys_.Refresh()) living_.CloseRevoked(*keys_.Current()->revoked);
}

}  // namespace graphd
