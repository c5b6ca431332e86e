// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/strings.h"
#include "graphd/error.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/tls/test_keys.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

std::string ServerError(const TestKeys& keys, const std::string& folder) {
  try {
    keys.Server(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(KeysOfAServer, MustFitTheirUse) {
  TestKeys keys("products");
  EXPECT_EQ(ServerError(keys, "server"), "no error");
  keys.AddServer("other", "papers");
  EXPECT_THAT(ServerError(keys, "other"), HasSubstr("is that of server 'papers', not 'products'"));
  keys.AddServer("client", "products", CertificateKind::kClient);
  EXPECT_THAT(ServerError(keys, "client"), HasSubstr("is not a server's certificate"));
  keys.Directory("server").Write("server.key", keys.Directory("other").Read("server.key"));
  EXPECT_THAT(ServerError(keys, "server"), HasSubstr("is not the private key of"));
}

TEST(KeysOfAServer, AreReadAgainWhenTheyChange) {
  TestKeys keys("products");
  TlsKeys server(keys.Directory("server"), "products", TlsSide::kServer);
  EXPECT_FALSE(server.Refresh());
  const auto first = server.Current();
  keys.Revoke("server", "trainer");
  EXPECT_TRUE(server.Refresh());
  EXPECT_EQ(server.Current()->revoked->names().size(), 1U);
  EXPECT_EQ(server.Current()->context, first->context);
  EXPECT_FALSE(server.Refresh());
  keys.AddServer("server");
  EXPECT_TRUE(server.Refresh());
  EXPECT_NE(server.Current()->context, first->context);
  EXPECT_EQ(server.Current()->revoked->names().size(), 1U);
}

TEST(KeysOfAServer, ARevocationThatCanNotBeReadAtOnceIsReadLater) {
  TestKeys keys("products");
  TlsKeys server(keys.Directory("server"), "products", TlsSide::kServer);
  keys.Revoke("server", "trainer");
  {
    const NoDescriptors shortage;
    server.Refresh();
  }
  EXPECT_EQ(server.Current()->revoked->names().size(), 0U);
  EXPECT_TRUE(server.Refresh());
  EXPECT_EQ(server.Current()->revoked->names().size(), 1U);
  EXPECT_FALSE(server.Refresh());
}

// A process that is killed while it replaces the pair leaves files in one of these states.
TEST(KeysOfAServer, FitAtEveryMomentOfTheirReplacement) {
  TestKeys keys("products");
  TestKeys others("products");
  const KeyDirectory server = keys.Directory("server"), next = others.Directory("server");
  server.Write("ca.pem", next.Read("ca.pem"));  // the authority is not what this test is about
  const std::string key = next.Read("server.key");
  server.Write("server.key", key + server.Read("server.key"));
  EXPECT_EQ(ServerError(keys, "server"), "no error");
  server.Write("server.pem", next.Read("server.pem"));
  EXPECT_EQ(ServerError(keys, "server"), "no error");
  server.Write("server.key", key);
  EXPECT_EQ(ServerError(keys, "server"), "no error");
  server.Write("server.key", "garbage");
  EXPECT_THAT(ServerError(keys, "server"), HasSubstr("is not a private key in PEM form"));
}

// Another thread replaces the pair again and again. TlsKeys would wait for files that fit; this
// does not.
TEST(KeysOfAServer, CanBeReadWhileTheyAreReplaced) {
  TestKeys keys("products");
  std::atomic<bool> stop = false;
  std::thread rotation([&] {
    while (!stop) keys.AddServer("server");
  });
  for (int i = 0; i < 300; i++) {
    EXPECT_NO_THROW(ReadTlsCredentials(keys.Directory("server"), "products", TlsSide::kServer));
  }
  stop = true;
  rotation.join();
}

// The certificate can't be replaced, as if the process were killed before it is.
TEST(KeysOfAServer, AnInterruptedReplacementLeavesBothKeys) {
  TestKeys keys("products");
  const KeyDirectory server = keys.Directory("server");
  const Certificate old = Certificate::FromPem(server.Read("server.pem"), "server.pem");
  const std::string temporary = StrCat(server.PathOf("server.pem"), ".", ::getpid(), ".tmp");
  ASSERT_EQ(::mkdir(temporary.c_str(), 0700), 0);
  EXPECT_THROW(keys.AddServer("server"), Error);
  EXPECT_EQ(server.ReadPair("server").certificate.serial(), old.serial());
  const std::string text = server.Read("server.key");
  EXPECT_NE(text.find("BEGIN", text.find("BEGIN") + 1), std::string::npos);
  ASSERT_EQ(::rmdir(temporary.c_str()), 0);
  keys.AddServer("server");
  EXPECT_NE(server.ReadPair("server").certificate.serial(), old.serial());
  EXPECT_EQ(server.Read("server.key"), server.ReadPair("server").key.ToPem());
}

TEST(KeysOfAServer, AKeyThatOthersCanReadIsReplaced) {
  TestKeys keys("products");
  ASSERT_EQ(::chmod(keys.Directory("server").PathOf("server.key").c_str(), 0644), 0);
  EXPECT_THAT(ServerError(keys, "server"), HasSubstr("others can read it"));
  keys.AddServer("server");
  EXPECT_EQ(ServerError(keys, "server"), "no error");
}

TEST(KeysOfAServer, StayAsTheyWereWhileFilesAreDamaged) {
  TestKeys keys("products");
  keys.Revoke("server", "trainer");
  TlsKeys server(keys.Directory("server"), "products", TlsSide::kServer);
  const auto first = server.Current();
  // Somebody copies a pair of files by hand; between the two copies they do not fit.
  keys.Directory("server").Write("server.key", PrivateKey::Generate().ToPem());
  EXPECT_TRUE(server.Refresh());
  EXPECT_TRUE(server.Refresh());  // logs an error
  EXPECT_FALSE(server.Refresh());
  EXPECT_EQ(server.Current()->context, first->context);
  keys.Directory("server").Write("revoked", "not a list\n");
  EXPECT_TRUE(server.Refresh());
  EXPECT_EQ(server.Current()->revoked->names().size(), 1U);
  ::unlink(keys.Directory("server").PathOf("revoked").c_str());
  EXPECT_TRUE(server.Refresh());
  EXPECT_EQ(server.Current()->revoked->names().size(), 1U);
}

}  // namespace
}  // namespace graphd::testing
