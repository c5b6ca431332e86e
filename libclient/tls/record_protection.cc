// SPDX-License-Identifier: Apache-2.0
#include "tls/record_protection.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <string_view>

#include "tls/openssl.h"

namespace graphd {
namespace {

using KdfPtr = std::unique_ptr<EVP_KDF, OpenSslFree<EVP_KDF_free>>;
using KdfContextPtr = std::unique_ptr<EVP_KDF_CTX, OpenSslFree<EVP_KDF_CTX_free>>;

// The bytes with which an encrypted record begins. By them, it looks like application data of TLS
// 1.2.
constexpr std::byte kRecordStart[] = {std::byte{23}, std::byte{3}, std::byte{3}};

// Bytes that are overwritten when nobody needs them any longer.
template <class Bytes>
struct Cleansed {
  ~Cleansed() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  Bytes bytes{};
};

// HKDF-Expand-Label of RFC 8446, section 7.1, without a context.
void Expand(const RecordProtection::Secret& secret, std::string_view label,
            std::span<unsigned char> to) {
  const auto require = [](bool done) { RequireDone(done, "can't derive a key of TLS"); };
  const KdfPtr kdf(EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_TLS1_3_KDF, nullptr));
  require(kdf != nullptr);
  const KdfContextPtr context(EVP_KDF_CTX_new(kdf.get()));
  require(context != nullptr);
  // OpenSSL takes parameters through pointers that are not const, but only reads them.
  const auto octets = [](const char* name, const void* data, size_t size) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<void*>(data), size);
  };
  char digest[] = "SHA256";
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  constexpr std::string_view kPrefix = "tls13 ";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      octets(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      octets(OSSL_KDF_PARAM_PREFIX, kPrefix.data(), kPrefix.size()),
      octets(OSSL_KDF_PARAM_LABEL, label.data(), label.size()),
      OSSL_PARAM_construct_end(),
  };
  require(EVP_KDF_derive(context.get(), to.data(), to.size(), parameters) == 1);
}

}  // namespace

RecordProtection::RecordProtection(const Secret& secret, uint64_t records_of_a_key)
    : records_of_a_key_(records_of_a_key), secret_(secret) {
  DeriveKey();
}

RecordProtection::~RecordProtection() {
  OPENSSL_cleanse(secret_.data(), secret_.size());
  OPENSSL_cleanse(mask_.data(), mask_.size());
}

void RecordProtection::DeriveKey() {
  Cleansed<RecordCipher::Key> key;
  Expand(secret_, "key", key.bytes);
  Expand(secret_, "iv", mask_);
  cipher_ = MakeRecordCipher(key.bytes);
  records_ = 0;
}

void RecordProtection::Update() {
  Cleansed<Secret> next;
  Expand(secret_, "traffic upd", next.bytes);
  secret_ = next.bytes;
  DeriveKey();
}

RecordCipher::Nonce RecordProtection::NextNonce() {
  RecordCipher::Nonce nonce = mask_;
  for (size_t i = 0; i < sizeof records_; i++) {
    nonce[nonce.size() - 1 - i] ^= static_cast<unsigned char>(records_ >> (8 * i));
  }
  records_++;
  return nonce;
}

size_t RecordProtection::Seal(ContentType type, std::span<const std::byte> content, std::byte* to) {
  const size_t body = content.size() + 1 + RecordCipher::kTagBytes;
  std::copy(std::begin(kRecordStart), std::end(kRecordStart), to);
  to[3] = static_cast<std::byte>(body >> 8);
  to[4] = static_cast<std::byte>(body);
  cipher_->Encrypt(NextNonce(), to, content, static_cast<std::byte>(type), to + kHeaderBytes);
  return kHeaderBytes + body;
}

std::optional<size_t> RecordProtection::RecordLength(const std::byte* header) {
  if (!std::equal(std::begin(kRecordStart), std::end(kRecordStart), header)) return std::nullopt;
  const size_t length =
      kHeaderBytes + (std::to_integer<size_t>(header[3]) << 8) + std::to_integer<size_t>(header[4]);
  if (length < kOverhead || length > kMostRecord) return std::nullopt;
  return length;
}

std::optional<RecordProtection::Opened> RecordProtection::Open(std::span<const std::byte> record,
                                                               std::byte* to) {
  size_t bytes = record.size() - kOverhead;
  std::byte type{};
  if (!cipher_->Decrypt(NextNonce(), record.data(), record.subspan(kHeaderBytes), to, type)) {
    OPENSSL_cleanse(to, bytes);  // nobody may use it
    return std::nullopt;
  }
  // Zeros after the type are padding, which graphd never sends.
  while (type == std::byte{0} && bytes > 0) type = to[--bytes];
  if (bytes > kMostContent) return std::nullopt;
  return Opened{static_cast<ContentType>(type), bytes};
}

}  // namespace graphd
