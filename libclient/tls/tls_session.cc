// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_session.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/strings.h"
#include "tls/certificate.h"

namespace graphd {
namespace {

// A buffer has the small size until a connection carries large messages. The large size is the most
// that a system call moves, and fits into the second-level cache.
constexpr size_t kSmallBuffer = size_t{20} << 10;
constexpr size_t kLargeBuffer = size_t{256} << 10;
// An upper bound of the bytes that OpenSSL adds to a record, plus those of a record with a message
// KeyUpdate.
constexpr size_t kRoomBesideContent = 512;
static_assert(kSmallBuffer >= RecordProtection::kMostRecord);

constexpr unsigned kAes128GcmSha256 = 0x1301;  // RFC 8446, section B.4

constexpr size_t kSpareBytes = RecordProtection::kMostRecord - RecordProtection::kOverhead;

constexpr size_t kAlertBytes = 2;  // the level and the description
// A message KeyUpdate that does not ask the peer to change its key, too (RFC 8446, section 4.6.3).
constexpr std::byte kKeyUpdate[] = {std::byte{SSL3_MT_KEY_UPDATE}, std::byte{0}, std::byte{0},
                                    std::byte{1}, std::byte{0}};

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

TlsSession::TlsSession(std::shared_ptr<const TlsCredentials> credentials, std::string peer,
                       uint64_t records_of_a_key)
    : credentials_(std::move(credentials)),
      peer_(std::move(peer)),
      records_of_a_key_(records_of_a_key) {
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

TlsSession::~TlsSession() {
  OPENSSL_cleanse(client_secret_.data(), client_secret_.size());
  OPENSSL_cleanse(server_secret_.data(), server_secret_.size());
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
  // This is only a bound: a handshake has less to send.
  if (out.end + count > kLargeBuffer + kRoomBesideContent) {
    BIO_set_retry_write(bio);
    return -1;
  }
  if (out.end + count > out.capacity) out.Reserve(kLargeBuffer + kRoomBesideContent);
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

void TlsSession::TakeSecret(const SSL* ssl, const char* line) {
  auto* const session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  const std::string_view text(line);
  RecordProtection::Secret* secret = nullptr;
  if (text.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) secret = &session->client_secret_;
  if (text.starts_with("SERVER_TRAFFIC_SECRET_0 ")) secret = &session->server_secret_;
  if (secret == nullptr) return;
  size_t bytes = 0;
  const char* const digits = line + text.rfind(' ') + 1;
  if (OPENSSL_hexstr2buf_ex(secret->data(), secret->size(), &bytes, digits, '\0') == 1 &&
      bytes == secret->size()) {
    session->secrets_++;
  }
}

bool TlsSession::Handshake() {
  if (!ssl_) return true;
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
  CheckHandOver();
  const bool is_server = credentials_->side == TlsSide::kServer;
  encryption_.emplace(is_server ? server_secret_ : client_secret_, records_of_a_key_);
  decryption_.emplace(is_server ? client_secret_ : server_secret_);
  ssl_.reset();
  return true;
}

// Checks that OpenSSL has protected or read no record with the keys that this class uses from now
// on: this class would use the nonces of such records again, which would disclose the keys.
void TlsSession::CheckHandOver() const {
  const SSL_CIPHER* const cipher = SSL_get_current_cipher(ssl_.get());
  const bool is_right = secrets_ == 2 && cipher != nullptr &&
                        SSL_CIPHER_get_protocol_id(cipher) == kAes128GcmSha256 &&
                        SSL_get_num_tickets(ssl_.get()) == 0 && SSL_has_pending(ssl_.get()) == 0 &&
                        SSL_get_read_ahead(ssl_.get()) == 0;
  if (!is_right) {
    Throw(ErrorCode::kInternal, "OpenSSL has not handed over the TLS connection with ", peer_);
  }
}

std::span<std::byte> TlsSession::InputRoom() {
  if (in_.begin > 0) {
    // The remaining bytes are the beginning of a record.
    std::memmove(in_.data.get(), in_.data.get() + in_.begin, in_.size());
    in_.end -= in_.begin;
    in_.begin = 0;
  }
  if (filled_ && !ssl_) in_.Reserve(kLargeBuffer);
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

// Appends a record to Output(). The caller makes sure that there is room.
void TlsSession::Seal(ContentType type, std::span<const std::byte> content) {
  out_.end += encryption_->Seal(type, content, out_.data.get() + out_.end);
}

void TlsSession::UpdateSendingKey() {
  Seal(ContentType::kHandshake, kKeyUpdate);
  encryption_->Update();
  update_is_due_ = false;
}

size_t TlsSession::Encrypt(std::span<const std::byte> plain) {
  if (failure_) throw Error(*failure_);
  if (plain.size() >= kRecordBytes) out_.Reserve(kLargeBuffer + kRoomBesideContent);
  const size_t count = std::min(plain.size(), kRecordBytes);
  if (out_.end + count + kRoomBesideContent > out_.capacity) {
    if (out_.end > 0) return 0;
    out_.Reserve(kLargeBuffer + kRoomBesideContent);
  }
  if (update_is_due_ || encryption_->needs_update()) UpdateSendingKey();
  Seal(ContentType::kApplicationData, plain.first(count));
  return count;
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

size_t TlsSession::TakeSpare(std::span<std::byte> out) {
  const size_t count = std::min(out.size(), spare_.size());
  if (count > 0) std::memcpy(out.data(), spare_.data.get() + spare_.begin, count);
  spare_.begin += count;
  return count;
}

size_t TlsSession::Decrypt(std::span<std::byte> out) {
  if (failure_) throw Error(*failure_);
  size_t total = TakeSpare(out);
  while (total < out.size() && !closed_) {
    if (in_.size() < RecordProtection::kHeaderBytes) break;
    const auto length = RecordProtection::RecordLength(in_.data.get() + in_.begin);
    if (!length) ThrowBroken("a record has no valid header", SSL_AD_DECODE_ERROR);
    if (in_.size() < *length) break;
    total += DecryptRecord(*length, out.subspan(total));
  }
  return total;
}

// Decrypts the next record, which has arrived completely: directly to `out` if it fits there, and
// otherwise to `spare_`.
size_t TlsSession::DecryptRecord(size_t length, std::span<std::byte> out) {
  const std::byte* const record = in_.data.get() + in_.begin;
  const bool fits = out.size() >= length - RecordProtection::kOverhead;
  if (!fits) spare_.Reserve(kSpareBytes);
  std::byte* const to = fits ? out.data() : spare_.data.get();
  const auto opened = decryption_->Open({record, length}, to);
  in_.begin += length;
  if (!opened) ThrowBroken("a record is damaged, repeated or missing", SSL_AD_BAD_RECORD_MAC);
  switch (opened->type) {
    case ContentType::kApplicationData:
      if (opened->bytes > 0) data_since_update_ = true;
      update_credit_ = std::min(update_credit_ + opened->bytes, kUpdateCredit);
      if (fits) return opened->bytes;
      spare_.begin = 0;
      spare_.end = opened->bytes;
      return TakeSpare(out);
    case ContentType::kAlert:
      HandleAlert({to, opened->bytes});
      return 0;
    case ContentType::kHandshake:
      HandleKeyUpdate({to, opened->bytes});
      return 0;
  }
  ThrowBroken("a record has an unknown type", SSL_AD_UNEXPECTED_MESSAGE);
}

void TlsSession::HandleAlert(std::span<const std::byte> alert) {
  if (alert.size() != kAlertBytes) {
    ThrowBroken("an alert has a wrong length", SSL_AD_DECODE_ERROR);
  }
  const int description = std::to_integer<int>(alert[1]);
  if (description == SSL_AD_CLOSE_NOTIFY) {
    closed_ = true;
    return;
  }
  if (const auto refusal = RefusalByPeer(SSL_AD_REASON_OFFSET + description)) {
    failure_ = refusal;
    throw Error(*refusal);
  }
  ThrowBroken(StrCat("the peer reports: ", SSL_alert_desc_string_long(description)));
}

// Handles a handshake message that came after the handshake. The only one that is allowed is a
// change of the peer's key.
void TlsSession::HandleKeyUpdate(std::span<const std::byte> message) {
  const bool is_update = message.size() == std::size(kKeyUpdate) &&
                         std::equal(message.begin(), message.end() - 1, std::begin(kKeyUpdate)) &&
                         std::to_integer<int>(message.back()) <= SSL_KEY_UPDATE_REQUESTED;
  if (!is_update) {
    ThrowBroken("a message of the handshake came after it", SSL_AD_UNEXPECTED_MESSAGE);
  }
  if (!data_since_update_) {
    ThrowBroken("the peer changes its key without sending anything", SSL_AD_UNEXPECTED_MESSAGE);
  }
  if (update_credit_ < kUpdateCost) {
    ThrowBroken("the peer changes its key again and again", SSL_AD_UNEXPECTED_MESSAGE);
  }
  update_credit_ -= kUpdateCost;
  data_since_update_ = false;
  decryption_->Update();
  if (std::to_integer<int>(message.back()) == SSL_KEY_UPDATE_REQUESTED) update_is_due_ = true;
}

void TlsSession::SendAlert(int level, int description) {
  if (!encryption_) return;
  const std::byte alert[kAlertBytes] = {std::byte(level), std::byte(description)};
  out_.Reserve(out_.end + RecordProtection::kOverhead + kAlertBytes);
  Seal(ContentType::kAlert, alert);
}

void TlsSession::Close() { SendAlert(SSL3_AL_WARNING, SSL_AD_CLOSE_NOTIFY); }

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
  const auto problem = ProblemOfCertificate();
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  const auto refusal = RefusalByPeer(reason);
  const std::string text = TakeOpenSslError();
  if (problem) throw Error(*problem);
  if (refusal) throw Error(*refusal);
  Throw(ErrorCode::kDenied, "the TLS handshake with ", peer_, " failed: ", text);
}

void TlsSession::ThrowBroken(const std::string& why, std::optional<int> alert) {
  failure_.emplace(ErrorCode::kUnavailable,
                   StrCat("the TLS connection with ", peer_, " is broken: ", why));
  if (alert) {
    try {
      SendAlert(SSL3_AL_FATAL, *alert);
    } catch (const std::bad_alloc&) {  // the peer is not told
    }
  }
  throw Error(*failure_);
}

}  // namespace graphd
