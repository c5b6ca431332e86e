// SPDX-License-Identifier: Apache-2.0
#include "daemon/handshakes/abort_plaintext.h"

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize-async.h>

#include "wire/connection.h"

namespace graphd {
namespace {

constexpr auto kDrain = 1 * kj::SECONDS;

// Reads and drops what the peer still sends, until it closes the connection: if a socket is closed
// with unread bytes, the last bytes that were sent may be lost.
kj::Promise<void> Drain(kj::AsyncIoStream& stream, kj::ArrayPtr<kj::byte> scratch) {
  return stream.tryRead(scratch.begin(), 1, scratch.size())
      .then([&stream, scratch](size_t count) -> kj::Promise<void> {
        if (count == 0) return kj::READY_NOW;
        return Drain(stream, scratch);
      });
}

}  // namespace

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

}  // namespace graphd
