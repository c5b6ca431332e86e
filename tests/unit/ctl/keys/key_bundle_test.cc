// SPDX-License-Identifier: Apache-2.0
#include "ctl/keys/key_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "ctl/keys/key_maker.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> NamesOf(const std::vector<KeyFile>& files) {
  std::vector<std::string> names;
  for (const KeyFile& file : files) names.push_back(file.name);
  return names;
}

class KeyBundles : public ::testing::Test {
 protected:
  KeyBundles() { maker_.Create({"alice"}, 30); }
  KeyDirectory Directory(const std::string& name) const {
    return KeyDirectory(scratch_ / name, "products");
  }
  // Installs files on another machine; returns the error.
  std::string InstallError(const std::vector<KeyFile>& files, ErrorCode code) const {
    try {
      InstallKeys(Directory("host"), files);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "no error";
  }

  const testing::ScratchDirectory scratch_;
  KeyMaker maker_{KeyDirectory(scratch_ / "keys", "products"), "products"};
};

TEST_F(KeyBundles, HaveWhatAMachineNeedsAndNotTheAuthoritysKey) {
  EXPECT_THAT(
      NamesOf(KeysOfHost(maker_.directory())),
      ElementsAre("ca.pem", "server.key", "server.pem", "client.key", "client.pem", "revoked"));
  EXPECT_THAT(NamesOf(KeysOfHost(maker_.directory(), false)), Not(::testing::Contains("revoked")));
  EXPECT_THAT(NamesOf(KeysOfTrainerHost(maker_.directory())),
              ElementsAre("ca.pem", "client.key", "client.pem", "revoked"));
  EXPECT_THAT(NamesOf(KeysOfTrainerHost(maker_.directory(), false)),
              ElementsAre("ca.pem", "client.key", "client.pem"));
  const auto alice = KeysOfClient(maker_.directory(), "alice");
  EXPECT_THAT(NamesOf(alice), ElementsAre("ca.pem", "client.key", "client.pem", "revoked"));
  const Certificate certificate = Certificate::FromPem(alice.at(2).text, "client.pem");
  EXPECT_EQ(certificate.name(), "alice");
  EXPECT_THROW(KeysOfClient(maker_.directory(), "bob"), Error);
}

TEST_F(KeyBundles, AreInstalledAsTheyWereSent) {
  const auto files = KeysOfHost(maker_.directory());
  InstallKeys(Directory("host"), files);
  for (const KeyFile& file : files) EXPECT_EQ(Directory("host").Read(file.name), file.text);
  InstallKeys(Directory("host"), files);
}

TEST_F(KeyBundles, HaveTheKeyOfTheCertificateAlone) {
  const KeyDirectory& keys = maker_.directory();
  const std::string key = keys.Read("server.key");
  keys.Write("server.key", PrivateKey::Generate().ToPem() + key);
  const auto files = KeysOfHost(keys);
  EXPECT_EQ(files.at(1).text, key);
  auto wrong = files;
  wrong.at(1).text = PrivateKey::Generate().ToPem();
  EXPECT_THAT(InstallError(wrong, ErrorCode::kInvalid), HasSubstr("is not the private key of"));
  EXPECT_FALSE(Directory("host").Has("ca.pem"));
}

TEST_F(KeyBundles, InstallNoOtherFiles) {
  for (const char* name : {"ca.key", "../server.pem", "/etc/passwd", "clients/x/client.pem", ""}) {
    EXPECT_THAT(InstallError({{"ca.pem", maker_.directory().Read("ca.pem")}, {name, "text"}},
                             ErrorCode::kInvalid),
                HasSubstr("is not a file that a machine is sent"));
  }
  InstallError({{"ca.pem", "garbage"}}, ErrorCode::kInvalid);
  InstallError({{"revoked", "garbage"}}, ErrorCode::kInvalid);
  EXPECT_FALSE(Directory("host").Has("ca.pem")) << "nothing is written unless all is valid";
}

TEST_F(KeyBundles, CarryASharedSecretWithCertificatesOrAlone) {
  const KeyMaker alone(Directory("alone"), "products");
  for (const KeyMaker* maker : {&std::as_const(maker_), &alone}) {
    EXPECT_FALSE(maker->HasSecret());
    maker->CreateSecret();
    EXPECT_TRUE(maker->HasSecret());
    EXPECT_THROW(maker->CreateSecret(), Error);
    EXPECT_EQ(NamesOf(KeysOfHost(maker->directory())).front(), "secret.key");
  }
  const auto files = KeysOfHost(alone.directory());
  EXPECT_THAT(NamesOf(files), ElementsAre("secret.key"));
  EXPECT_THAT(alone.List(), ::testing::IsEmpty());
  InstallKeys(Directory("host"), files);
  EXPECT_EQ(Directory("host").Read("secret.key"), files[0].text);
  EXPECT_THAT(NamesOf(KeysOfClient(maker_.directory(), "alice")),
              Not(::testing::Contains("secret.key")));
  InstallError({{"secret.key", "0000"}}, ErrorCode::kInvalid);
}

TEST_F(KeyBundles, ReplaceNoAuthority) {
  KeyMaker other(Directory("host"), "products");
  other.Create({}, 30);
  EXPECT_THAT(InstallError(KeysOfHost(maker_.directory()), ErrorCode::kExists),
              HasSubstr("its own authority"));
}

TEST_F(KeyBundles, ARotationThatIsNotSentRevokesNothing) {
  EXPECT_THROW(maker_.Rotate({}, 30, [] { throw Error(ErrorCode::kUnavailable, "no machine"); }),
               Error);
  for (const KeyMaker::Entry& entry : maker_.List()) EXPECT_FALSE(entry.is_revoked) << entry.name;
}

TEST_F(KeyBundles, ARotationAlsoRevokesWhatAFailedOneHasReplaced) {
  const auto serials = [&] {
    std::map<std::string, std::string> found;
    for (const KeyMaker::Entry& entry : maker_.List()) {
      if (entry.kind && entry.kind != CertificateKind::kAuthority) found[entry.name] = entry.serial;
    }
    return found;
  };
  const auto fails = [] { throw Error(ErrorCode::kUnavailable, "no machine"); };
  const auto revoked = [&] {
    return RevokedList::Parse(maker_.directory().Read("revoked"), "revoked");
  };
  const auto first = serials();
  EXPECT_THROW(maker_.Rotate({}, 30, fails), Error);
  const auto second = serials();
  maker_.Rotate({"alice"}, 30, [] {});
  EXPECT_TRUE(revoked().Has(first.at("alice")));
  EXPECT_TRUE(revoked().Has(second.at("alice")));
  EXPECT_FALSE(revoked().Has(first.at("products"))) << "the server's key was not rotated again";
  maker_.Rotate({}, 30, [] {});
  for (const char* name : {"products", "owner"}) {
    EXPECT_TRUE(revoked().Has(first.at(name))) << name;
    EXPECT_TRUE(revoked().Has(second.at(name))) << name;
  }
  EXPECT_FALSE(maker_.directory().Has("revoke_next"));
  for (const auto& [name, serial] : serials()) EXPECT_FALSE(revoked().Has(serial)) << name;
}

TEST_F(KeyBundles, ARevocationCoversWhatAFailedRotationHasReplaced) {
  const std::string first =
      Certificate::FromPem(maker_.directory().Read("clients/alice/client.pem"), "").serial();
  EXPECT_THROW(maker_.Rotate({}, 30, [] { throw Error(ErrorCode::kUnavailable, "no machine"); }),
               Error);
  EXPECT_EQ(maker_.Revoke("alice").size(), 2U);
  EXPECT_TRUE(RevokedList::Parse(maker_.directory().Read("revoked"), "revoked").Has(first));
}

TEST_F(KeyBundles, RevocationsAtTheSameTimeAreAllKept) {
  std::vector<std::string> names;
  for (int i = 0; i < 8; i++) names.push_back("client" + std::to_string(i));
  maker_.Create(names, 30);
  std::vector<std::thread> threads;
  for (const std::string& name : names) {
    threads.emplace_back([&, name] {
      KeyMaker(Directory("keys"), "products").Revoke(name);
      InstallKeys(Directory("host"), RevokedAlone(Directory("keys")));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* folder : {"keys", "host"}) {
    const RevokedList list = RevokedList::Parse(Directory(folder).Read("revoked"), folder);
    EXPECT_EQ(list.names().size(), names.size()) << folder;
  }
}

TEST_F(KeyBundles, AnOlderListMakesNoCertificateValidAgain) {
  const auto older = RevokedAlone(maker_.directory());
  maker_.Revoke("alice");
  InstallKeys(Directory("host"), RevokedAlone(maker_.directory()));
  InstallKeys(Directory("host"), older);
  EXPECT_EQ(Directory("host").Read("revoked"), maker_.directory().Read("revoked"));
}

}  // namespace
}  // namespace graphd::ctl
