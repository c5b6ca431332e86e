// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <sys/un.h>

#include <memory>

#include "base/file.h"
#include "graphd/error.h"
#include "wire/graphd.capnp.h"
#include "wire/tensor_stream.h"

// One Cap'n Proto connection with graphd's limits, for either side. A Connection and all its
// capabilities belong to the thread whose event loop it was made on.

namespace graphd {

// The largest message either side sends or takes: above what one response may carry
// (kMaxResponseBytes) plus its ids. Cap'n Proto's own default, 64 MiB, would refuse at *both* ends.
inline constexpr size_t kMaxMessageBytes = size_t{400} << 20;
// The largest answer to one request. Clients cut larger reads; servers refuse them.
inline constexpr size_t kMaxResponseBytes = size_t{256} << 20;

// What a client may leave unread before it is refused more.
inline constexpr size_t kMaxUnsentBytes = size_t{1} << 30;
// Descriptors that one message may carry; the kernel's limit is 253.
inline constexpr size_t kMaxDescriptors = 250;

class Connection {
 public:
  // Takes over a connected stream socket. `is_unix` sockets can pass descriptors.
  // Server side: `bootstrap` is what the peer gets; client side: null.
  Connection(kj::LowLevelAsyncIoProvider& provider, UniqueFd fd, bool is_unix,
             std::shared_ptr<BufferPool> pool, capnp::rpc::twoparty::Side side,
             kj::Maybe<capnp::Capability::Client> bootstrap);
  // Client side: the peer's bootstrap interface.
  wire::Daemon::Client Bootstrap();
  // Done when the peer has gone.
  kj::Promise<void> OnDisconnect() { return network_.onDisconnect(); }
  TensorStream& stream() noexcept { return *messages_; }

 private:
  kj::Own<kj::AsyncIoStream> socket_;
  kj::Own<TensorStream> messages_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

// Errors as exceptions of the RPC, and back: code and message survive the trip. Exceptions that are
// not ours become kUnavailable (disconnected), kOverloaded, kVersion (unimplemented) or kInternal.
kj::Exception ToKj(const Error& error);
Error FromKj(const kj::Exception& exception, const std::string& peer);
// Calls f; an Error it throws leaves as the exception that ToKj makes of it. For KJ's callbacks,
// which keep no other exception's type.
template <class F>
auto AsKj(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    kj::throwFatalException(ToKj(error));
  }
}

// Whether `fd` connects to `address:port` (or the socket file) within the timeout. Throws
// Error(kUnavailable) with the address and the reason. The result is non-blocking, with
// TCP_NODELAY.
UniqueFd ConnectTcp(const std::string& address, uint16_t port, int timeout_ms);
UniqueFd ConnectUnix(const std::string& path, int timeout_ms);
// The address of a socket file. Throws Error(kInvalid) if the path is too long for one.
sockaddr_un UnixAddress(const std::string& path);

}  // namespace graphd
