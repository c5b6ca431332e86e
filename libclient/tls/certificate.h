// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ctime>
#include <optional>
#include <string>

#include "tls/openssl.h"

namespace graphd {

// The purpose of a certificate, which its extensions state.
enum class CertificateKind { kAuthority, kServer, kClient, kOther };

// Returns "authority", "server", "client" or "other".
const char* CertificateKindName(CertificateKind kind);

// An X.509 certificate.
class Certificate {
 public:
  explicit Certificate(X509Ptr x509) : x509_(std::move(x509)) {}
  // Parses the first certificate in a PEM text. Throws Error(kInvalid), which names `where`.
  static Certificate FromPem(const std::string& pem, const std::string& where);
  std::string ToPem() const;

  // Returns the common name of the subject; empty if it has none.
  std::string name() const;
  // Returns the serial number in lower-case hexadecimal digits.
  std::string serial() const;
  CertificateKind kind() const;
  // Returns the times between which the certificate is valid.
  std::time_t not_before() const;
  std::time_t not_after() const;
  X509* get() const noexcept { return x509_.get(); }

 private:
  X509Ptr x509_;
};

// Return the common name and the serial number of a certificate that is owned elsewhere.
std::string CertificateName(const X509* x509);
std::string CertificateSerial(const X509* x509);

// A private key.
class PrivateKey {
 public:
  explicit PrivateKey(KeyPtr key) : key_(std::move(key)) {}
  // Makes a new key on the curve P-256.
  static PrivateKey Generate();
  // Parses a PEM text without a passphrase. Throws Error(kInvalid), which names `where`.
  static PrivateKey FromPem(const std::string& pem, const std::string& where);
  // Returns the private key in a PEM text that belongs to the certificate; nothing if there is
  // none.
  static std::optional<PrivateKey> Find(const std::string& pem, const Certificate& certificate);
  std::string ToPem() const;
  // Returns whether the certificate is for this key.
  bool Matches(const Certificate& certificate) const;
  EVP_PKEY* get() const noexcept { return key_.get(); }

 private:
  KeyPtr key_;
};

// A certificate and its private key.
struct KeyPair {
  Certificate certificate;
  PrivateKey key;
};

}  // namespace graphd
