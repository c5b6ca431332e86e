// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "graphd/error.h"
#include "tls/issue.h"
#include "tls/revoked_list.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;

TEST(Certificates, StateTheirNameUseAndTime) {
  const KeyPair authority = MakeAuthority("products");
  EXPECT_EQ(authority.certificate.kind(), CertificateKind::kAuthority);
  const KeyPair server = Issue(authority, CertificateKind::kServer, "products");
  const KeyPair client = Issue(authority, CertificateKind::kClient, "alice", 30);
  EXPECT_EQ(server.certificate.kind(), CertificateKind::kServer);
  EXPECT_EQ(client.certificate.kind(), CertificateKind::kClient);
  EXPECT_EQ(client.certificate.name(), "alice");
  EXPECT_EQ(client.certificate.serial().size(), 32U);
  EXPECT_NE(client.certificate.serial(), server.certificate.serial());
  const std::time_t now = std::time(nullptr);
  EXPECT_LT(client.certificate.not_before(), now);
  EXPECT_NEAR(static_cast<double>(client.certificate.not_after() - now), 30 * 86400.0, 60);
}

TEST(Certificates, AreReadAsTheyWereWritten) {
  const KeyPair authority = MakeAuthority("products");
  const KeyPair client = Issue(authority, CertificateKind::kClient, "alice");
  const Certificate read = Certificate::FromPem(client.certificate.ToPem(), "client.pem");
  EXPECT_EQ(read.serial(), client.certificate.serial());
  const PrivateKey key = PrivateKey::FromPem(client.key.ToPem(), "client.key");
  EXPECT_TRUE(key.Matches(read));
  EXPECT_FALSE(key.Matches(authority.certificate));
}

TEST(Certificates, AnErrorNamesTheFileThatIsNone) {
  for (const char* text : {"", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n"}) {
    try {
      Certificate::FromPem(text, "/keys/ca.pem");
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      EXPECT_THAT(error.what(), HasSubstr("/keys/ca.pem"));
    }
    EXPECT_THROW(PrivateKey::FromPem(text, "ca.key"), Error);
  }
}

TEST(Certificates, OnlyAnAuthorityIssuesThem) {
  const KeyPair authority = MakeAuthority("products");
  const KeyPair client = Issue(authority, CertificateKind::kClient, "alice");
  EXPECT_THROW(Issue(client, CertificateKind::kClient, "bob"), Error);
}

TEST(RevokedCertificates, AreReadAsTheyWereWritten) {
  RevokedList list;
  list.Add("0af3", "alice");
  list.Add("77", "bob");
  const RevokedList read = RevokedList::Parse(list.ToText(), "revoked");
  EXPECT_EQ(read.names(), list.names());
  EXPECT_TRUE(read.Has("77"));
  EXPECT_FALSE(read.Has("78"));
}

TEST(RevokedCertificates, ALineThatIsNoneIsNamed) {
  EXPECT_TRUE(RevokedList::Parse("# a comment\n\n  0AF3  alice\n", "revoked").Has("0af3"));
  for (const char* text : {"0af3 alice\nxyz bob\n", "0af3 alice\n12 a b\n"}) {
    try {
      RevokedList::Parse(text, "/keys/revoked");
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("/keys/revoked:2"));
    }
  }
}

}  // namespace
}  // namespace graphd
