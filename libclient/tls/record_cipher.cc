// SPDX-License-Identifier: Apache-2.0
#include "tls/record_cipher.h"

#include "tls/openssl.h"

namespace graphd {
namespace {

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, OpenSslFree<EVP_CIPHER_CTX_free>>;

unsigned char* Bytes(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }
const unsigned char* Bytes(const std::byte* at) {
  return reinterpret_cast<const unsigned char*>(at);
}

class OpenSslCipher final : public RecordCipher {
 public:
  explicit OpenSslCipher(const Key& key) : context_(EVP_CIPHER_CTX_new()) {
    Require(context_ != nullptr &&
            EVP_CipherInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr, 1));
  }

  void Encrypt(const Nonce& nonce, const std::byte* header, std::span<const std::byte> content,
               std::byte type, std::byte* to) override {
    Begin(nonce, header, 1);
    Update(Bytes(to), content.data(), content.size());
    Update(Bytes(to) + content.size(), &type, 1);
    int count = 0;
    unsigned char* const end = Bytes(to) + content.size() + 1;
    Require(EVP_CipherFinal_ex(context_.get(), end, &count) == 1 &&
            EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, end) == 1);
  }

  bool Decrypt(const Nonce& nonce, const std::byte* header, std::span<const std::byte> sealed,
               std::byte* to, std::byte& type) override {
    Begin(nonce, header, 0);
    const size_t content = sealed.size() - kTagBytes - 1;
    Update(Bytes(to), sealed.data(), content);
    Update(Bytes(&type), sealed.data() + content, 1);
    // OpenSSL takes the tag through a pointer that is not const, but only reads it.
    auto* const tag = const_cast<unsigned char*>(Bytes(sealed.data() + content + 1));
    Require(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag) == 1);
    int count = 0;
    unsigned char none = 0;
    return EVP_CipherFinal_ex(context_.get(), &none, &count) == 1;
  }

 private:
  static void Require(bool done) { RequireDone(done, "can't encrypt or decrypt"); }
  void Begin(const Nonce& nonce, const std::byte* header, int encrypt) {
    int count = 0;
    Require(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data(), encrypt) ==
                1 &&
            EVP_CipherUpdate(context_.get(), nullptr, &count, Bytes(header), kHeaderBytes) == 1);
  }
  void Update(unsigned char* to, const std::byte* from, size_t bytes) {
    int count = 0;
    if (bytes == 0) return;
    Require(EVP_CipherUpdate(context_.get(), to, &count, Bytes(from), static_cast<int>(bytes)) ==
            1);
  }

  const CipherContext context_;
};

}  // namespace

std::unique_ptr<RecordCipher> MakeOpenSslCipher(const RecordCipher::Key& key) {
  return std::make_unique<OpenSslCipher>(key);
}

std::unique_ptr<RecordCipher> MakeRecordCipher(const RecordCipher::Key& key) {
  auto cipher = MakeVectorCipher(key);
  return cipher ? std::move(cipher) : MakeOpenSslCipher(key);
}

const char* RecordCipherLibrary() { return MakeVectorCipher({}) ? "libipsec-mb" : "OpenSSL"; }

}  // namespace graphd
