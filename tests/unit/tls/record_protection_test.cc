// SPDX-License-Identifier: Apache-2.0
// Tests of encrypted records against the vectors of RFC 8448, and of both ciphers against each
// other.
#include "tls/record_protection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/tls/random_bytes.h"
#include "tls/record_cipher.h"

namespace graphd::testing {
namespace {

std::vector<std::byte> FromHex(std::string_view digits) {
  std::vector<std::byte> bytes;
  std::string pair;
  for (const char each : digits) {
    if (each != ' ') pair += each;
    if (pair.size() < 2) continue;
    bytes.push_back(static_cast<std::byte>(std::stoul(pair, nullptr, 16)));
    pair.clear();
  }
  return bytes;
}

RecordProtection::Secret ASecret(unsigned char first) {
  RecordProtection::Secret secret{};
  secret[0] = first;
  return secret;
}

std::vector<std::byte> RandomContent(size_t count, uint64_t seed) {
  return RandomBytes<std::vector<std::byte>>(count, seed);
}

std::vector<std::byte> SealRecord(RecordProtection& protection, std::span<const std::byte> content,
                                  ContentType type = ContentType::kApplicationData) {
  std::vector<std::byte> record(content.size() + RecordProtection::kOverhead);
  record.resize(protection.Seal(type, content, record.data()));
  return record;
}

// Returns the content of a record, or nothing if it can't be opened.
std::optional<std::vector<std::byte>> OpenRecord(RecordProtection& protection,
                                                 std::span<const std::byte> record) {
  std::vector<std::byte> content(record.size() - RecordProtection::kOverhead);
  const auto opened = protection.Open(record, content.data());
  if (!opened) return std::nullopt;
  content.resize(opened->bytes);
  return content;
}

// RFC 8448, section 3: the client's first record of application data.
TEST(RecordProtection, MakesTheRecordOfTheRfc) {
  RecordProtection::Secret secret{};
  const auto bytes = FromHex("9e40646ce79a7f9dc05af8889bce6552 875afa0b06df0087f792ebb7c17504a5");
  std::transform(bytes.begin(), bytes.end(), secret.begin(),
                 [](std::byte each) { return std::to_integer<unsigned char>(each); });
  std::vector<std::byte> content(50);
  for (size_t i = 0; i < content.size(); i++) content[i] = static_cast<std::byte>(i);
  RecordProtection protection(secret);
  EXPECT_EQ(SealRecord(protection, content),
            FromHex("1703030043 a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5"
                    "b46b395bd54a9a20441e2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4"));
}

TEST(RecordProtection, CarriesContentsOfAllSizesAndTypes) {
  RecordProtection sender(ASecret(1)), receiver(ASecret(1));
  for (const size_t size : {0UL, 1UL, 15UL, 16UL, 17UL, 255UL, 16383UL, 16384UL}) {
    const auto content = RandomContent(size, size);
    for (const auto type : {ContentType::kAlert, ContentType::kApplicationData}) {
      const auto record = SealRecord(sender, content, type);
      EXPECT_EQ(RecordProtection::RecordLength(record.data()), record.size());
      std::vector<std::byte> opened(size);
      const auto result = receiver.Open(record, opened.data());
      ASSERT_TRUE(result);
      EXPECT_EQ(result->type, type);
      EXPECT_EQ(result->bytes, size);
      EXPECT_EQ(opened, content);
    }
  }
}

TEST(RecordProtection, OpensOnlyTheNextRecordAndOnlyUnchanged) {
  for (const size_t place : {0UL, 3UL, 5UL, 100UL, 1004UL, 1005UL, 1010UL, 1021UL}) {
    RecordProtection sender(ASecret(1)), receiver(ASecret(1));
    auto record = SealRecord(sender, RandomContent(1000, 1));
    ASSERT_LT(place, record.size());
    record[place] ^= std::byte{0x10};
    EXPECT_FALSE(OpenRecord(receiver, record)) << place;
  }
  RecordProtection sender(ASecret(1)), repeated(ASecret(1)), reordered(ASecret(1)),
      foreign(ASecret(2));
  const auto first = SealRecord(sender, RandomContent(10, 1)),
             second = SealRecord(sender, RandomContent(10, 2));
  EXPECT_TRUE(OpenRecord(repeated, first));
  EXPECT_FALSE(OpenRecord(repeated, first));
  EXPECT_FALSE(OpenRecord(reordered, second));
  EXPECT_FALSE(OpenRecord(foreign, first));
}

TEST(RecordProtection, LeavesNothingOfADamagedRecord) {
  RecordProtection sender(ASecret(1)), receiver(ASecret(1));
  auto record = SealRecord(sender, RandomContent(1000, 1));
  record.back() ^= std::byte{1};
  std::vector<std::byte> content(1000, std::byte{7});
  EXPECT_FALSE(receiver.Open(record, content.data()));
  EXPECT_EQ(content, std::vector<std::byte>(1000));
}

TEST(RecordProtection, BothSidesGoOnWithTheNextKey) {
  RecordProtection sender(ASecret(1), 3), receiver(ASecret(1), 3), late(ASecret(1));
  for (int key = 0; key < 3; key++) {
    for (int i = 0; i < 3; i++) {
      EXPECT_FALSE(sender.needs_update());
      const auto content = RandomContent(100, static_cast<uint64_t>(i));
      const auto record = SealRecord(sender, content);
      EXPECT_EQ(OpenRecord(receiver, record), content);
      if (key == 1 && i == 0) {
        EXPECT_FALSE(OpenRecord(late, record)) << "the key is another one";
      }
    }
    EXPECT_TRUE(sender.needs_update());
    sender.Update();
    receiver.Update();
  }
}

TEST(RecordProtection, ARecordOfNothingButPaddingHasNoType) {
  RecordProtection sender(ASecret(1)), receiver(ASecret(1));
  const std::vector<std::byte> zeros(20);
  const auto record = SealRecord(sender, zeros, ContentType{0});
  std::vector<std::byte> content(zeros.size());
  const auto opened = receiver.Open(record, content.data());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->type, ContentType{0});
  EXPECT_EQ(opened->bytes, 0U);
}

TEST(RecordProtection, HeadersOfOtherRecordsAreRefused) {
  const auto length = [](std::string_view header) {
    return RecordProtection::RecordLength(FromHex(header).data());
  };
  EXPECT_EQ(length("1703030011"), 22U);  // an empty record: the type and the tag
  EXPECT_EQ(length("1703034100"), 16645U);
  EXPECT_EQ(length("1703030010"), std::nullopt);
  EXPECT_EQ(length("1703034101"), std::nullopt);
  EXPECT_EQ(length("170303ffff"), std::nullopt);
  EXPECT_EQ(length("1603030011"), std::nullopt);
  EXPECT_EQ(length("1703010011"), std::nullopt);
}

// With the instructions that it needs, the library is used: scripts/packages.txt has it.
TEST(RecordCiphers, AreThoseOfTheLibraryWhereTheProcessorHasVectorAes) {
  EXPECT_EQ(MakeVectorCipher({}) != nullptr, HasVectorAes());
}

TEST(RecordCiphers, MakeTheSameRecords) {
  const auto key_bytes = RandomContent(RecordCipher::kKeyBytes, 7);
  RecordCipher::Key key{};
  std::transform(key_bytes.begin(), key_bytes.end(), key.begin(),
                 [](std::byte each) { return std::to_integer<unsigned char>(each); });
  const auto openssl = MakeOpenSslCipher(key);
  auto other = MakeVectorCipher(key);
  if (!other) other = MakeRecordCipher(key);
  const auto header = RandomContent(RecordCipher::kHeaderBytes, 8);
  for (size_t size = 0; size < 20000; size = size < 300 ? size + 1 : size * 3 / 2) {
    const auto content = RandomContent(size, size);
    const RecordCipher::Nonce nonce{static_cast<unsigned char>(size)};
    std::vector<std::byte> one(size + 1 + RecordCipher::kTagBytes), two(one.size());
    openssl->Encrypt(nonce, header.data(), content, std::byte{23}, one.data());
    other->Encrypt(nonce, header.data(), content, std::byte{23}, two.data());
    ASSERT_EQ(one, two) << size;
    for (RecordCipher* each : {openssl.get(), other.get()}) {
      std::vector<std::byte> plain(size);
      std::byte type{};
      EXPECT_TRUE(each->Decrypt(nonce, header.data(), one, plain.data(), type)) << size;
      EXPECT_EQ(plain, content);
      EXPECT_EQ(type, std::byte{23});
      one[size] ^= std::byte{1};  // the type
      EXPECT_FALSE(each->Decrypt(nonce, header.data(), one, plain.data(), type)) << size;
      one[size] ^= std::byte{1};
    }
  }
}

}  // namespace
}  // namespace graphd::testing
