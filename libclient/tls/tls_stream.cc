// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_stream.h"

#include <kj/debug.h>

#include <cstring>
#include <utility>

#include "base/strings.h"
#include "tls/handshake_socket.h"
#include "tls/tls_connect.h"

namespace graphd {
namespace {

// Calls f, and converts an Error to an exception of KJ, after which the connection can't be used.
template <class F>
auto OrDisconnect(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    kj::throwFatalException(kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__,
                                          kj::heapString(error.what())));
  }
}

// Sends what the session has encrypted.
kj::Promise<void> Flush(TlsSession& session, kj::AsyncIoStream& socket) {
  const auto output = session.Output();
  if (output.empty()) return kj::READY_NOW;
  return socket.write(output.data(), output.size()).then([&session] { session.Sent(); });
}

std::span<const std::byte> AsBytes(kj::ArrayPtr<const kj::byte> piece) {
  return {reinterpret_cast<const std::byte*>(piece.begin()), piece.size()};
}

}  // namespace

kj::Promise<size_t> TlsStream::tryRead(void* buffer, size_t min_bytes, size_t max_bytes) {
  return ReadMore(static_cast<kj::byte*>(buffer), min_bytes, max_bytes, 0);
}

kj::Promise<size_t> TlsStream::ReadMore(kj::byte* to, size_t min_bytes, size_t max_bytes,
                                        size_t already) {
  const size_t count = OrDisconnect([&] {
    try {
      return session_->Decrypt({reinterpret_cast<std::byte*>(to), max_bytes});
    } catch (const Error&) {
      SendAlert();
      throw;
    }
  });
  already += count;
  if (count >= min_bytes || session_->is_closed()) return already;
  const std::span<std::byte> room = session_->InputRoom();
  return socket_->tryRead(room.data(), 1, room.size())
      .then([this, to = to + count, min_bytes = min_bytes - count, max_bytes = max_bytes - count,
             already](size_t received) -> kj::Promise<size_t> {
        if (received == 0) return already;
        OrDisconnect([&] { session_->Received(received); });
        return ReadMore(to, min_bytes, max_bytes, already);
      });
}

// Tells the peer why this stream ends, unless a write is under way, which then calls this again.
void TlsStream::SendAlert() {
  if (session_->is_sending()) return;
  closing_ = Flush(*session_, *socket_).eagerlyEvaluate([](kj::Exception&&) {});
}

kj::Promise<void> TlsStream::write(const void* buffer, size_t size) {
  auto piece = kj::heapArray<kj::ArrayPtr<const kj::byte>>(1);
  piece[0] = kj::arrayPtr(static_cast<const kj::byte*>(buffer), size);
  auto rest = kj::heap<Rest>();
  rest->pieces = kj::mv(piece);
  auto& reference = *rest;
  return WriteMore(reference).attach(kj::mv(rest));
}

kj::Promise<void> TlsStream::write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  auto rest = kj::heap<Rest>();
  rest->pieces = kj::heapArray(pieces);
  auto& reference = *rest;
  return WriteMore(reference).attach(kj::mv(rest));
}

// Encrypts until the buffer is full. Small pieces, such as a message's table of segments, are put
// into one record.
void TlsStream::EncryptSome(Rest& rest) {
  std::byte small[TlsSession::kRecordBytes];
  while (!rest.is_done()) {
    auto piece = AsBytes(rest.pieces[rest.index]).subspan(rest.offset);
    if (piece.size() >= sizeof small) {
      const size_t count = session_->Encrypt(piece);
      if (count == 0) return;
      rest.offset += count;
      continue;
    }
    // The end of this piece and the pieces after it are gathered into one record.
    size_t gathered = 0, index = rest.index, offset = rest.offset;
    while (index < rest.pieces.size() && gathered < sizeof small) {
      piece = AsBytes(rest.pieces[index]).subspan(offset);
      const size_t count = std::min(piece.size(), sizeof small - gathered);
      if (count > 0) std::memcpy(small + gathered, piece.data(), count);
      gathered += count;
      offset += count;
      if (offset == rest.pieces[index].size()) {
        index++;
        offset = 0;
      }
    }
    if (gathered > 0) {
      const size_t count = session_->Encrypt({small, gathered});
      if (count == 0) return;
      KJ_ASSERT(count == gathered);
    }
    rest.index = index;
    rest.offset = offset;
  }
}

kj::Promise<void> TlsStream::WriteMore(Rest& rest) {
  OrDisconnect([&] { EncryptSome(rest); });
  return Flush(*session_, *socket_).then([this, &rest]() -> kj::Promise<void> {
    if (session_->has_failed()) SendAlert();
    if (rest.is_done()) return kj::READY_NOW;
    return WriteMore(rest);
  });
}

void TlsStream::shutdownWrite() {
  OrDisconnect([&] { session_->Close(); });
  closing_ = Flush(*session_, *socket_)
                 .then([this] { socket_->shutdownWrite(); })
                 .eagerlyEvaluate([](kj::Exception&&) {});  // the peer has gone already
}

namespace {

// A server's handshake that is under way.
struct Accepting {
  kj::Own<kj::AsyncIoStream> socket;
  std::unique_ptr<TlsSession> session;
  TlsAccept how;
  bool speaks_tls = true;
};

kj::Exception Failed(const Error& error) {
  return {kj::Exception::Type::FAILED, __FILE__, __LINE__, kj::heapString(error.what())};
}

kj::Promise<void> Flush(Accepting& a) { return Flush(*a.session, *a.socket); }

kj::Promise<void> Refuse(Accepting& a, const Error& error) {
  auto told = a.speaks_tls ? Flush(a) : a.how.refuse(*a.socket, error);
  return told.catch_([](kj::Exception&&) {}).then([error]() -> kj::Promise<void> {
    return Failed(error);
  });
}

kj::Promise<void> Continue(Accepting& a) {
  try {
    if (a.session->Handshake()) {
      a.session->Encrypt({&kTlsWelcome, 1});
      return Flush(a);
    }
  } catch (const Error& error) {
    return Refuse(a, error);
  }
  return Flush(a)
      .then([&a] {
        const auto room = a.session->InputRoom();
        return a.socket->tryRead(room.data(), 1, room.size());
      })
      .then([&a](size_t received) -> kj::Promise<void> {
        KJ_REQUIRE(received > 0, "closed during the TLS handshake");
        try {
          a.session->Received(received);
        } catch (const Error& error) {
          a.speaks_tls = false;
          return Refuse(a, error);
        }
        return a.how.turn().then([&a] { return Continue(a); });
      });
}

}  // namespace

kj::Promise<kj::Own<TlsStream>> AcceptTls(kj::Own<kj::AsyncIoStream> socket,
                                          std::shared_ptr<const TlsCredentials> credentials,
                                          const std::string& peer, kj::Timer& timer,
                                          TlsAccept how) {
  auto accepting = kj::heap<Accepting>();
  accepting->socket = kj::mv(socket);
  accepting->session = std::make_unique<TlsSession>(std::move(credentials), peer);
  accepting->how = kj::mv(how);
  Accepting& a = *accepting;
  auto late =
      timer.afterDelay(kHandshakeLimit.count() * kj::SECONDS).then([peer]() -> kj::Promise<void> {
        return Failed(
            Error(ErrorCode::kDeadline, StrCat(peer, " did not complete the TLS handshake within ",
                                               kHandshakeLimit.count(), " s")));
      });
  return Continue(a).exclusiveJoin(kj::mv(late)).then([accepting = kj::mv(accepting)]() mutable {
    return kj::heap<TlsStream>(kj::mv(accepting->socket), std::move(accepting->session));
  });
}

}  // namespace graphd
