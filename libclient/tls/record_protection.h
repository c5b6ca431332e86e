// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tls/record_cipher.h"

namespace graphd {

// The types of records' contents (RFC 8446, section 5.1).
enum class ContentType : unsigned char { kAlert = 21, kHandshake = 22, kApplicationData = 23 };

// The protection of the records of one direction of a TLS 1.3 connection after its handshake, with
// the suite TLS_AES_128_GCM_SHA256 (RFC 8446, section 5.2). Not thread-safe.
//
// OpenSSL is not used for this, because it would copy the data twice more on each side, which takes
// as long as the encryption.
class RecordProtection {
 public:
  static constexpr size_t kSecretBytes = 32;
  using Secret = std::array<unsigned char, kSecretBytes>;

  static constexpr size_t kHeaderBytes = RecordCipher::kHeaderBytes;
  static constexpr size_t kMostContent = size_t{16} << 10;
  // The bytes of a record besides its content: the header, the content's type and the tag.
  static constexpr size_t kOverhead = kHeaderBytes + 1 + RecordCipher::kTagBytes;
  // The longest record that a peer may send. It may have padding.
  static constexpr size_t kMostRecord = kHeaderBytes + kMostContent + 256;
  // The number of records that a key may encrypt (RFC 8446, section 5.5: 2^24.5 of full size).
  static constexpr uint64_t kRecordsOfAKey = uint64_t{1} << 24;

  // Derives the key from a traffic secret of the handshake. Throws Error(kInternal) if OpenSSL
  // can't. After `records_of_a_key` records, needs_update() is true.
  explicit RecordProtection(const Secret& secret, uint64_t records_of_a_key = kRecordsOfAKey);
  ~RecordProtection();
  RecordProtection(const RecordProtection&) = delete;
  RecordProtection& operator=(const RecordProtection&) = delete;

  // Writes a record with this content, at most kMostContent bytes, to `to`. Returns the record's
  // length, which is the content's plus kOverhead.
  size_t Seal(ContentType type, std::span<const std::byte> content, std::byte* to);
  // Returns the length of the record that begins with these kHeaderBytes; nothing if they are not
  // the header of an encrypted record.
  static std::optional<size_t> RecordLength(const std::byte* header);
  struct Opened {
    ContentType type;
    size_t bytes;
  };
  // Decrypts a whole record to `to`, which has room for the record's length less kOverhead. Returns
  // nothing if the record is damaged, too long, or not the next one that the peer has sealed. The
  // connection can't be used any more then.
  std::optional<Opened> Open(std::span<const std::byte> record, std::byte* to);

  bool needs_update() const noexcept { return records_ >= records_of_a_key_; }
  // Changes to the next key (RFC 8446, section 7.2).
  void Update();

 private:
  void DeriveKey();
  RecordCipher::Nonce NextNonce();

  const uint64_t records_of_a_key_;
  Secret secret_;
  RecordCipher::Nonce mask_{};
  uint64_t records_ = 0;  // protected with the present key
  std::unique_ptr<RecordCipher> cipher_;
};

}  // namespace graphd
