// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_credentials.h"

#include <openssl/x509v3.h>

#include "base/strings.h"
#include "tls/certificate.h"
#include "tls/tls_session.h"

namespace graphd {
namespace {

// The suite that RFC 8446 requires of all implementations, and the fastest on processors with AES
// instructions. RecordProtection supports no other.
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256";

void RequireSetUp(bool done) { RequireDone(done, "can't set up TLS"); }

}  // namespace

TlsCredentials ReadTlsCredentials(const KeyDirectory& keys, const std::string& server_name,
                                  TlsSide side) {
  InitializeOpenSsl();
  const bool is_server = side == TlsSide::kServer;
  const std::string name = is_server ? "server" : "client";
  const std::string certificate_path = keys.PathOf(name + ".pem");
  const Certificate authority = Certificate::FromPem(keys.Read("ca.pem"), keys.PathOf("ca.pem"));
  const auto [own, key] = keys.ReadPair(name);
  if (own.kind() != (is_server ? CertificateKind::kServer : CertificateKind::kClient)) {
    Throw(ErrorCode::kInvalid, certificate_path, " is not a ", name, "'s certificate but of kind ",
          CertificateKindName(own.kind()), "; make it with `graphctl keys create`");
  }
  if (is_server && own.name() != server_name) {
    Throw(ErrorCode::kInvalid, certificate_path, " is that of server '", own.name(), "', not '",
          server_name, "'; check --server_name and --keys");
  }

  std::shared_ptr<SSL_CTX> context(
      SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()), SSL_CTX_free);
  RequireSetUp(context != nullptr);
  SSL_CTX* const ssl = context.get();
  RequireSetUp(SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) == 1);
  RequireSetUp(SSL_CTX_set_ciphersuites(ssl, kCiphers) == 1);
  SSL_CTX_set_options(ssl,
                      SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_RENEGOTIATION);
  RequireSetUp(SSL_CTX_set_num_tickets(ssl, 0) == 1);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  RequireSetUp(X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), authority.get()) == 1);
  RequireSetUp(SSL_CTX_use_certificate(ssl, own.get()) == 1);
  RequireSetUp(SSL_CTX_use_PrivateKey(ssl, key.get()) == 1);
  SSL_CTX_set_keylog_callback(ssl, TlsSession::TakeSecret);
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     TlsSession::CheckCertificate);
  return {side, server_name, keys.path(), own.name(), std::move(context), nullptr};
}

}  // namespace graphd
