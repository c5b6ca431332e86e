// SPDX-License-Identifier: Apache-2.0
// Tests of shared secrets, their proofs and their files.
#include "tls/shared_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class F>
std::string SecretErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

TEST(SharedSecret, ANewOneIsTakenAndDifferentEachTime) {
  const std::string text = SharedSecret::NewText();
  SharedSecret::Parse(text, "f");
  EXPECT_NE(text, SharedSecret::NewText());
}

TEST(SharedSecret, AnythingButEnoughHexadecimalDigitsIsRefusedWithoutShowingIt) {
  const std::string digits = SharedSecret::NewText().substr(0, 64);
  SharedSecret::Parse(digits + " \n", "f");
  for (const std::string& text :
       {std::string(), digits.substr(2), digits + "0", digits + "zz", " " + digits,
        std::string(64, '0'), std::string("correct horse battery staple"), digits + '\0' + digits,
        digits + std::string(2000, 'a')}) {
    const std::string said = SecretErrorOf([&] { SharedSecret::Parse(text, "f"); });
    EXPECT_THAT(said, AllOf(StartsWith("invalid: f has no secret"),
                            HasSubstr("graphctl keys create --shared_secret")));
    EXPECT_TRUE(text.empty() || said.find(text) == std::string::npos);
  }
}

TEST(SharedSecret, AProofDependsOnAllThatItCovers) {
  const SharedSecret secret = SharedSecret::Parse(SharedSecret::NewText(), "f"),
                     other = SharedSecret::Parse(SharedSecret::NewText(), "g");
  const SecretNonce a = NewNonce(), b = NewNonce();
  const SecretProof proof = secret.Prove(SecretSide::kClient, "s", a, b);
  EXPECT_TRUE(EqualProofs(proof, secret.Prove(SecretSide::kClient, "s", a, b)));
  EXPECT_FALSE(EqualProofs(proof, secret.Prove(SecretSide::kServer, "s", a, b)));
  EXPECT_FALSE(EqualProofs(proof, secret.Prove(SecretSide::kClient, "t", a, b)));
  EXPECT_FALSE(EqualProofs(proof, secret.Prove(SecretSide::kClient, "s", b, a)));
  EXPECT_FALSE(EqualProofs(proof, secret.Prove(SecretSide::kClient, "s", a, NewNonce())));
  EXPECT_FALSE(EqualProofs(proof, other.Prove(SecretSide::kClient, "s", a, b)));
}

TEST(SharedSecret, AProofIsHmacSha256) {
  // Made with: printf 'graphd secret 1 client1:s%064d' 0 |
  //   openssl dgst -sha256 -mac HMAC -macopt hexkey:0001..1f
  std::string digits;
  for (int i = 0; i < 32; i++) digits += StrCat(i / 16, "0123456789abcdef"[i % 16]);
  SecretNonce zeros;
  zeros.fill(std::byte{'0'});
  const SecretProof proof =
      SharedSecret::Parse(digits, "f").Prove(SecretSide::kClient, "s", zeros, zeros);
  std::string hex;
  for (const std::byte each : proof) {
    hex += "0123456789abcdef"[std::to_integer<int>(each) >> 4];
    hex += "0123456789abcdef"[std::to_integer<int>(each) & 15];
  }
  EXPECT_EQ(hex, "1c123b9f4b2fe8e054a64fa69a69295f907b4b232f5e42413d94983c01cecf8f");
}

TEST(SharedSecret, AFileIsForItsOwnerAlone) {
  ScratchDirectory scratch;
  const std::string path = scratch / "any_name";
  EXPECT_THAT(
      SecretErrorOf([&] { SecretFile(path, "s"); }),
      AllOf(StartsWith("not_found: "), HasSubstr("keys create --shared_secret --server_name s")));
  WriteFileAtomically(path, SharedSecret::NewText());
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    ::chmod(path.c_str(), mode);
    EXPECT_THAT(SecretErrorOf([&] { SecretFile(path, "s"); }),
                AllOf(StartsWith("denied: "), HasSubstr("chmod 0600")));
  }
  ::chmod(path.c_str(), 0600);
  SecretFile(path, "s");
  ::chmod(DirName(path).c_str(), 0777);  // others could replace the file
  EXPECT_THAT(SecretErrorOf([&] { SecretFile(path, "s"); }), StartsWith("denied: "));
}

TEST(SharedSecret, AChangedFileIsReadAgainAndADamagedOneIgnored) {
  ScratchDirectory scratch;
  const std::string path = scratch / "secret.key";
  const auto write = [&](const std::string& text) {
    WriteFileAtomically(path, text);
    ::chmod(path.c_str(), 0600);
  };
  write(SharedSecret::NewText());
  SecretFile file(path, "s");
  const auto first = file.Current();
  file.Refresh();
  EXPECT_EQ(file.Current(), first);
  write("short");
  file.Refresh();
  EXPECT_EQ(file.Current(), first);
  write(SharedSecret::NewText());
  file.Refresh();
  EXPECT_NE(file.Current(), first);
}

}  // namespace
}  // namespace graphd::testing
