// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_session.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "tls/certificate.h"

namespace graphd {
namespace {

// Buffers are small until a connection carries large messages. The large size is what a system call
// moves; it fits into the second-level cache.
constexpr size_t kSmallBuffer = size_t{20} << 10;
constexpr size_t kLargeBuffer = size_t{256} << 10;
// An upper bound of what TLS adds to a record.
constexpr size_t kOverhead = 512;

constexpr unsigned kHandshakeRecord = 22;  // the first byte of a client's first record
constexpr unsigned kAlertRecord = 21;

}  // namespace

void TlsSession::Bytes::Reserve(size_t bytes) {
  if (bytes <= capacity) return;
  auto grown = std::make_unique_for_overwrite<std::byte[]>(bytes);
  if (size() > 0) std::memcpy(grown.get(), data.get() + begin, size());
  data = std::move(grown);
  capacity = bytes;
  end -= begin;
  begin = 0;
}

TlsSession::TlsSession(std::shared_ptr<const TlsCredentials> credentials, std::string peer)
    : credentials_(std::move(credentials)), peer_(std::move(peer)) {
  ssl_.reset(SSL_new(credentials_->context.get()));
  BIO* const bio = ssl_ ? BIO_new(Transport()) : nullptr;
  if (bio == nullptr) ThrowOpenSsl("can't make a TLS connection");
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // takes ownership
  SSL_set_app_data(ssl_.get(), this);
  if (credentials_->side == TlsSide::kServer) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
  }
  in_.Reserve(kSmallBuffer);
  out_.Reserve(kSmallBuffer);
}

BIO_METHOD* TlsSession::Transport() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "graphd");
    if (made == nullptr) ThrowOpenSsl("can't set up TLS");
    BIO_meth_set_read(made, ReadBytes);
    BIO_meth_set_write(made, WriteBytes);
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long {
      return command == BIO_CTRL_FLUSH ? 1 : 0;
    });
    return made;
  }();
  return method;
}

int TlsSession::ReadBytes(BIO* bio, char* to, int size) {
  Bytes& in = static_cast<TlsSession*>(BIO_get_data(bio))->in_;
  BIO_clear_retry_flags(bio);
  const size_t count = std::min(in.size(), static_cast<size_t>(size));
  if (count == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(to, in.data.get() + in.begin, count);
  in.begin += count;
  return static_cast<int>(count);
}

int TlsSession::WriteBytes(BIO* bio, const char* from, int size) {
  Bytes& out = static_cast<TlsSession*>(BIO_get_data(bio))->out_;
  BIO_clear_retry_flags(bio);
  const auto count = static_cast<size_t>(size);
  // Encrypt leaves room. Only a peer that makes OpenSSL answer and never reads fills the buffer.
  if (out.end + count > kLargeBuffer + kOverhead) {
    BIO_set_retry_write(bio);
    return -1;
  }
  if (out.end + count > out.capacity) out.Reserve(kLargeBuffer + kOverhead);
  std::memcpy(out.data.get() + out.end, from, count);
  out.end += count;
  return size;
}

int TlsSession::CheckCertificate(int ok, X509_STORE_CTX* store) {
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  const X509* const x509 = X509_STORE_CTX_get0_cert(store);
  session->peer_name_ = CertificateName(x509);
  if (ok != 1 || X509_STORE_CTX_get_error_depth(store) != 0) return ok;
  const TlsCredentials& ours = *session->credentials_;
  if (ours.revoked && ours.revoked->Has(CertificateSerial(x509))) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED);
    return 0;
  }
  if (ours.side == TlsSide::kClient && CertificateName(x509) != ours.server_name) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
  }
  return 1;
}

bool TlsSession::Handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done != 1) {
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_WANT_READ) return false;
    ThrowFailure(error);
  }
  const X509Ptr x509(SSL_get1_peer_certificate(ssl_.get()));
  if (!x509) Throw(ErrorCode::kDenied, peer_, " presents no certificate");
  peer_name_ = CertificateName(x509.get());
  peer_serial_ = CertificateSerial(x509.get());
  established_ = true;
  return true;
}

std::span<std::byte> TlsSession::InputRoom() {
  if (in_.begin == in_.end) in_.begin = in_.end = 0;
  if (filled_ && established_) in_.Reserve(kLargeBuffer);
  return {in_.data.get() + in_.end, in_.capacity - in_.end};
}

void TlsSession::Received(size_t bytes) {
  in_.end += bytes;
  filled_ = in_.end == in_.capacity;
  if (has_received_ || bytes == 0) return;
  has_received_ = true;
  const auto first = std::to_integer<unsigned>(in_.data[0]);
  if (first == kHandshakeRecord || first == kAlertRecord) return;
  if (credentials_->side == TlsSide::kServer) {
    Throw(ErrorCode::kDenied, peer_,
          " does not speak TLS, and this graphd (--keys) takes nothing else over TCP; give the "
          "client keys: --keys, GRAPHD_KEYS");
  }
  Throw(ErrorCode::kDenied, peer_,
        " does not speak TLS, and this client has keys (GRAPHD_KEYS, --keys); start that graphd "
        "with --keys, or connect without keys");
}

size_t TlsSession::Encrypt(std::span<const std::byte> plain) {
  if (plain.size() >= kRecordBytes) out_.Reserve(kLargeBuffer + kOverhead);
  const size_t count = std::min(plain.size(), kRecordBytes);
  if (out_.end + count + kOverhead > out_.capacity) {
    if (out_.end > 0) return 0;
    out_.Reserve(kLargeBuffer + kOverhead);
  }
  ERR_clear_error();
  size_t written = 0;
  const int done = SSL_write_ex(ssl_.get(), plain.data(), count, &written);
  if (done != 1) ThrowFailure(SSL_get_error(ssl_.get(), done));
  return written;
}

std::span<const std::byte> TlsSession::Output() {
  if (sending_.size() == 0) {
    std::swap(sending_, out_);
    out_.begin = out_.end = 0;
    out_.Reserve(kSmallBuffer);
  }
  return {sending_.data.get() + sending_.begin, sending_.size()};
}

void TlsSession::Sent() { sending_.begin = sending_.end = 0; }

size_t TlsSession::Decrypt(std::span<std::byte> out) {
  size_t total = 0;
  while (total < out.size() && !closed_) {
    ERR_clear_error();
    size_t count = 0;
    const int done = SSL_read_ex(ssl_.get(), out.data() + total, out.size() - total, &count);
    if (done == 1) {
      total += count;
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), done);
    if (error == SSL_ERROR_WANT_READ) break;
    if (error == SSL_ERROR_ZERO_RETURN) {
      closed_ = true;
      break;
    }
    ThrowFailure(error);
  }
  return total;
}

void TlsSession::Close() {
  ERR_clear_error();
  if (established_) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

std::optional<Error> TlsSession::ProblemOfCertificate() const {
  const long result = SSL_get_verify_result(ssl_.get());
  if (result == X509_V_OK) return std::nullopt;
  const auto denied = [&](const auto&... text) {
    return Error(ErrorCode::kDenied,
                 StrCat("the certificate '", peer_name_, "' of ", peer_, text...));
  };
  switch (result) {
    case X509_V_ERR_CERT_REVOKED:
      return denied(" is revoked (", credentials_->directory,
                    "/revoked); make new keys for it with `graphctl keys`");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return denied(" has expired; make new keys with `graphctl keys rotate`");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return denied(" is not valid yet; check the clocks of both machines");
    case X509_V_ERR_INVALID_PURPOSE:
      return denied(credentials_->side == TlsSide::kServer ? " is not that of a client"
                                                           : " is not that of a server",
                    "; make it with `graphctl keys create`");
    case X509_V_ERR_HOSTNAME_MISMATCH:
      return denied(" is not that of server '", credentials_->server_name,
                    "'; check the server's name and the ports in ip_config");
    default:
      return denied(" is not signed by the authority in ", credentials_->directory, "/ca.pem (",
                    X509_verify_cert_error_string(result),
                    "); keys of both sides must come from the same `graphctl keys create`");
  }
}

std::optional<Error> TlsSession::RefusalByPeer(int reason) const {
  const auto denied = [&](const auto&... text) {
    return Error(ErrorCode::kDenied,
                 StrCat(peer_, " refuses the certificate '", credentials_->own_name, "' (",
                        credentials_->directory, "): ", text...));
  };
  switch (reason) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return denied("it is revoked; ask for new keys (graphctl keys create, distribute)");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return denied("it has expired; ask for new keys (graphctl keys rotate)");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return denied("it is not signed by that side's authority; keys of both sides must come from ",
                    "the same `graphctl keys create`");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return denied("it is not the right one for this server");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return Error(ErrorCode::kDenied, StrCat(peer_, " requires a certificate; give keys"));
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL:
      return Error(ErrorCode::kDenied, StrCat(peer_, " does not speak TLS 1.3; upgrade it"));
    default:
      return std::nullopt;
  }
}

void TlsSession::ThrowFailure(int ssl_error) {
  if (ssl_error == SSL_ERROR_WANT_WRITE) {
    Throw(ErrorCode::kUnavailable, peer_, " sends TLS control messages and reads no answers");
  }
  const auto problem = established_ ? std::nullopt : ProblemOfCertificate();
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  const auto refusal = RefusalByPeer(reason);
  const std::string text = TakeOpenSslError();
  if (problem) throw Error(*problem);
  if (refusal) throw Error(*refusal);
  if (!established_) Throw(ErrorCode::kDenied, "the TLS handshake with ", peer_, " failed: ", text);
  Throw(ErrorCode::kUnavailable, "the TLS connection with ", peer_, " is broken: ", text);
}

}  // namespace graphd
