// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <sys/un.h>

#include <chrono>
#include <memory>

#include "base/file.h"
#include "graphd/error.h"
#include "tls/shared_secret.h"
#include "tls/tls_keys.h"
#include "tls/tls_session.h"
#include "wire/graphd.capnp.h"
#include "wire/tensor_stream.h"

// One Cap'n Proto connection with graphd's limits, for either side. A Connection and all its
// capabilities may be used only on the thread of the event loop that created it.

namespace graphd {

// The largest message that either side sends or accepts. It has room for the largest response
// (kMaxResponseBytes) and its ids. With Cap'n Proto's default, 64 MiB, both sides would refuse such
// a message.
inline constexpr size_t kMaxMessageBytes = size_t{400} << 20;
// The largest answer to one request. Clients split larger reads; servers refuse them.
inline constexpr size_t kMaxResponseBytes = size_t{256} << 20;

// The limits on the bytes of a client's unanswered calls, before and after Admit(). Beyond the
// limit, a server reads nothing more from the client (RpcSystem::setFlowLimit). Some calls are
// answered only after other messages have come, such as the parts of steps of several tensors. Such
// calls are refused before they reach this limit (StepGate::kMaxWaitingBytes), so the limit never
// holds back a message for which another call waits.
inline constexpr size_t kUnattachedUnanswered = size_t{1} << 20;
inline constexpr size_t kMaxUnanswered = size_t{1} << 30;

// The bytes of answers that a client may leave unread. The server refuses requests whose answers
// would exceed them.
inline constexpr size_t kMaxUnsentBytes = size_t{1} << 30;
// File descriptors that one message may carry; the kernel's limit is 253.
inline constexpr size_t kMaxDescriptors = 250;

// A connected, non-blocking socket of a client, and its TLS session after the handshake.
struct ClientSocket {
  UniqueFd fd;
  bool is_unix = false;
  std::unique_ptr<TlsSession> tls{};  // null: plaintext
};

// Takes ownership of a socket. `is_unix` sockets can pass descriptors.
kj::Own<kj::AsyncIoStream> WrapSocket(kj::LowLevelAsyncIoProvider& provider, UniqueFd fd,
                                      bool is_unix);

class Connection {
 public:
  // Takes ownership of a connected stream; if `is_unix`, the stream must come from WrapSocket.
  // Until Admit() is called, a server has the limits for unattached clients.
  // `bootstrap` is the capability that the server offers to its peer; null on the client side.
  Connection(kj::Own<kj::AsyncIoStream> stream, bool is_unix, std::shared_ptr<BufferPool> pool,
             capnp::rpc::twoparty::Side side, kj::Maybe<capnp::Capability::Client> bootstrap);
  // Makes a client's connection.
  Connection(kj::LowLevelAsyncIoProvider& provider, ClientSocket socket,
             std::shared_ptr<BufferPool> pool);
  // Returns the peer's bootstrap interface. Client side only.
  wire::Daemon::Client Bootstrap();
  // Returns a promise that is fulfilled when the peer disconnects.
  kj::Promise<void> OnDisconnect() { return network_.onDisconnect(); }
  TensorStream& stream() noexcept { return *messages_; }
  // Replaces a server's limits for unattached clients by those for attached clients; see
  // TensorStream::Admit.
  void Admit(std::shared_ptr<MemoryAccount> account);

 private:
  kj::Own<kj::AsyncIoStream> socket_;
  kj::Own<TensorStream> messages_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

// Convert errors to RPC exceptions and back; code and message are preserved. Exceptions that graphd
// has not made become kUnavailable (disconnected), kOverloaded, kVersion (unimplemented) or
// kInternal. Texts are truncated to kMaxErrorText bytes, because an answer that is an error is
// charged to nobody while the client does not read it.
inline constexpr size_t kMaxErrorText = 4096;
kj::Exception ToKj(const Error& error);
Error FromKj(const kj::Exception& exception, const std::string& peer);
// Calls f, and converts an Error that it throws with ToKj. This is needed in KJ's callbacks,
// because KJ does not preserve the type of exceptions that are not its own.
template <class F>
auto AsKj(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    kj::throwFatalException(ToKj(error));
  }
}

// The times that clients pass to NoticeVanishedPeer.
constexpr auto kClientIdle = std::chrono::seconds(15);
constexpr auto kClientProbe = std::chrono::seconds(5);
constexpr auto kClientUnacknowledged = std::chrono::milliseconds(60'000);

// Makes the kernel end a TCP connection whose peer's machine has vanished, when the time
// `unacknowledged` has passed since it was last heard from. After `idle` without data, Linux sends
// a probe every `interval`. The time, not the number of probes, decides when it gives up.
void NoticeVanishedPeer(int fd, std::chrono::seconds idle, std::chrono::seconds interval,
                        std::chrono::milliseconds unacknowledged);

// Connect to `address:port` or to the socket file within the timeout. The returned socket is
// non-blocking. A TCP socket has TCP_NODELAY, and ends about a minute after the peer's machine has
// vanished. Throw Error(kUnavailable) with the address and the reason. ConnectUnix throws
// Error(kDenied) if the user may not connect to the socket file, or if the user who listens there,
// or who owns its directory, is not trusted (wire/trusted_users.h).
// With `keys` or `secret`, ConnectTcp reads their files again if they have changed, makes the
// handshake of TLS or of the shared secret, and throws as ConnectTls or ConnectWithSecret does. It
// tries a second connection before it throws Error(kDenied).
ClientSocket ConnectTcp(const std::string& address, uint16_t port, int timeout_ms,
                        TlsKeys* keys = nullptr, SecretFile* secret = nullptr);
UniqueFd ConnectUnix(const std::string& path, int timeout_ms);
// The keys or the secret by which a client proves to daemons over TCP who it is; never both.
struct ClientCredentials {
  std::unique_ptr<TlsKeys> keys{};
  std::unique_ptr<SecretFile> secret{};
};
// Reads the keys in the directory `keys` or the secret in the file `secret_file`, which have the
// form of Options::keys and Options::secret_file. If both are empty, returns no credentials. Throws
// Error(kInvalid) if both are given.
ClientCredentials ReadCredentials(const std::string& keys, const std::string& secret_file,
                                  const std::string& server_name);
// Returns the address of a socket file. Throws Error(kInvalid) if the path is too long for a
// socket.
sockaddr_un UnixAddress(const std::string& path);

}  // namespace graphd
