// SPDX-License-Identifier: Apache-2.0
#include "tls/issue.h"

#include <openssl/bn.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/strings.h"

namespace graphd {
namespace {

constexpr long kBackdatedSeconds = 600;
constexpr long kSecondsPerDay = 24L * 3600;
constexpr int kSerialBytes = 16;

void RequireMade(bool done) { RequireDone(done, "can't make a certificate"); }

// Sets a random serial number, so that certificates of different authorities have different ones,
// too.
void SetSerial(X509* x509) {
  unsigned char bytes[kSerialBytes];
  RequireMade(RAND_bytes(bytes, sizeof bytes) == 1);
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3f) | 0x40);  // positive, of full length
  BIGNUM* const number = BN_bin2bn(bytes, sizeof bytes, nullptr);
  const bool done =
      number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != nullptr;
  BN_free(number);
  RequireMade(done);
}

void SetSubject(X509* x509, const std::string& name) {
  X509_NAME* const subject = X509_get_subject_name(x509);
  RequireMade(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                         reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                                         -1, 0) == 1);
}

void AddExtension(X509* x509, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  const bool done = extension != nullptr && X509_add_ext(x509, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  RequireMade(done);
}

// Makes a certificate for `key` that has no extensions and no signature yet.
X509Ptr NewCertificate(const PrivateKey& key, const std::string& name, int days) {
  X509Ptr x509(X509_new());
  RequireMade(x509 != nullptr);
  RequireMade(X509_set_version(x509.get(), X509_VERSION_3) == 1);
  SetSerial(x509.get());
  SetSubject(x509.get(), name);
  const long end = days * kSecondsPerDay;
  const long begin = days < 0 ? end - kSecondsPerDay : -kBackdatedSeconds;
  RequireMade(X509_gmtime_adj(X509_getm_notBefore(x509.get()), begin) != nullptr);
  RequireMade(X509_gmtime_adj(X509_getm_notAfter(x509.get()), end) != nullptr);
  RequireMade(X509_set_pubkey(x509.get(), key.get()) == 1);
  return x509;
}

}  // namespace

KeyPair MakeAuthority(const std::string& server_name, int days) {
  PrivateKey key = PrivateKey::Generate();
  // The name of the authority differs from that of the server, because a certificate that names
  // itself as its issuer counts as self-signed.
  X509Ptr x509 = NewCertificate(key, server_name + " authority", days);
  RequireMade(X509_set_issuer_name(x509.get(), X509_get_subject_name(x509.get())) == 1);
  AddExtension(x509.get(), x509.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  AddExtension(x509.get(), x509.get(), NID_key_usage, "critical,keyCertSign");
  AddExtension(x509.get(), x509.get(), NID_subject_key_identifier, "hash");
  RequireMade(X509_sign(x509.get(), key.get(), EVP_sha256()) > 0);
  return {Certificate(std::move(x509)), std::move(key)};
}

KeyPair Issue(const KeyPair& authority, CertificateKind kind, const std::string& name, int days) {
  if (authority.certificate.kind() != CertificateKind::kAuthority) {
    Throw(ErrorCode::kInvalid, "the certificate of '", authority.certificate.name(),
          "' is not that of an authority; make one with `graphctl keys create`");
  }
  PrivateKey key = PrivateKey::Generate();
  X509Ptr x509 = NewCertificate(key, name, days);
  X509* const issuer = authority.certificate.get();
  RequireMade(X509_set_issuer_name(x509.get(), X509_get_subject_name(issuer)) == 1);
  AddExtension(x509.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(x509.get(), issuer, NID_key_usage, "critical,digitalSignature");
  AddExtension(x509.get(), issuer, NID_ext_key_usage,
               kind == CertificateKind::kServer ? "serverAuth" : "clientAuth");
  AddExtension(x509.get(), issuer, NID_authority_key_identifier, "keyid");
  RequireMade(X509_sign(x509.get(), authority.key.get(), EVP_sha256()) > 0);
  return {Certificate(std::move(x509)), std::move(key)};
}

}  // namespace graphd
