// SPDX-License-Identifier: Apache-2.0
#include "tls/certificate.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "base/strings.h"

namespace graphd {
namespace {

BioPtr ReadingBio(const std::string& text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) ThrowOpenSsl("can't read a PEM text");
  return bio;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

// Refuses keys with a passphrase: nobody is there to type it.
int NoPassphrase(char*, int, int, void*) { return -1; }

std::time_t TimeOf(const ASN1_TIME* time) {
  std::tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return 0;
  return ::timegm(&utc);
}

}  // namespace

const char* CertificateKindName(CertificateKind kind) {
  constexpr const char* kNames[] = {"authority", "server", "client", "other"};
  return kNames[static_cast<size_t>(kind)];
}

Certificate Certificate::FromPem(const std::string& pem, const std::string& where) {
  InitializeOpenSsl();
  const BioPtr bio = ReadingBio(pem);
  X509Ptr x509(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!x509) {
    Throw(ErrorCode::kInvalid, where, " is not a certificate in PEM form (", TakeOpenSslError(),
          "); make it again with `graphctl keys`");
  }
  return Certificate(std::move(x509));
}

std::string Certificate::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), x509_.get()) != 1) {
    ThrowOpenSsl("can't write a certificate");
  }
  return TextOf(bio.get());
}

std::string CertificateName(const X509* x509) {
  const X509_NAME* const subject = X509_get_subject_name(x509);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  return name;
}

std::string CertificateSerial(const X509* x509) {
  BIGNUM* const number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509), nullptr);
  char* const digits = number != nullptr ? BN_bn2hex(number) : nullptr;
  std::string serial = digits != nullptr ? digits : "";
  OPENSSL_free(digits);
  BN_free(number);
  std::transform(serial.begin(), serial.end(), serial.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return serial;
}

std::string Certificate::name() const { return CertificateName(x509_.get()); }
std::string Certificate::serial() const { return CertificateSerial(x509_.get()); }

CertificateKind Certificate::kind() const {
  if (X509_check_ca(x509_.get()) > 0) return CertificateKind::kAuthority;
  const uint32_t uses = X509_get_extended_key_usage(x509_.get());
  if (uses == XKU_SSL_SERVER) return CertificateKind::kServer;
  if (uses == XKU_SSL_CLIENT) return CertificateKind::kClient;
  return CertificateKind::kOther;
}

std::time_t Certificate::not_before() const { return TimeOf(X509_get0_notBefore(x509_.get())); }
std::time_t Certificate::not_after() const { return TimeOf(X509_get0_notAfter(x509_.get())); }

PrivateKey PrivateKey::Generate() {
  InitializeOpenSsl();
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) ThrowOpenSsl("can't make a private key");
  return PrivateKey(std::move(key));
}

PrivateKey PrivateKey::FromPem(const std::string& pem, const std::string& where) {
  InitializeOpenSsl();
  const BioPtr bio = ReadingBio(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!key) {
    Throw(ErrorCode::kInvalid, where, " is not a private key in PEM form without a passphrase (",
          TakeOpenSslError(), "); make it again with `graphctl keys`");
  }
  return PrivateKey(std::move(key));
}

std::optional<PrivateKey> PrivateKey::Find(const std::string& pem, const Certificate& certificate) {
  InitializeOpenSsl();
  const BioPtr bio = ReadingBio(pem);
  while (KeyPtr key{PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr)}) {
    PrivateKey found(std::move(key));
    if (found.Matches(certificate)) return found;
  }
  TakeOpenSslError();  // clears the error about the end of the text
  return std::nullopt;
}

std::string PrivateKey::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                            nullptr) != 1) {
    ThrowOpenSsl("can't write a private key");
  }
  return TextOf(bio.get());
}

bool PrivateKey::Matches(const Certificate& certificate) const {
  return X509_check_private_key(certificate.get(), key_.get()) == 1;
}

}  // namespace graphd
