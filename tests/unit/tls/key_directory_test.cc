// SPDX-License-Identifier: Apache-2.0
#include "tls/key_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "graphd/error.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ReadError(const KeyDirectory& keys, const std::string& file, ErrorCode code) {
  try {
    keys.Read(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(KeyDirectories, AreForTheirOwnerAlone) {
  const ScratchDirectory scratch;
  const KeyDirectory keys(scratch / "a/b", "products");
  keys.Write("client.key", "secret");
  keys.Write("client.key", "another secret");
  EXPECT_EQ(keys.Read("client.key"), "another secret");
  EXPECT_EQ(ModeOf(keys.path()), 0700U);
  EXPECT_EQ(ModeOf(keys.PathOf("client.key")), 0600U);
}

TEST(KeyDirectories, APrivateKeyThatOthersCanReadIsRefused) {
  const ScratchDirectory scratch;
  const KeyDirectory keys(scratch / "keys", "products");
  keys.Write("client.key", "secret");
  keys.Write("ca.pem", "certificate");
  for (const mode_t mode : {0640, 0604}) {
    ASSERT_EQ(::chmod(keys.PathOf("client.key").c_str(), mode), 0);
    EXPECT_THAT(ReadError(keys, "client.key", ErrorCode::kDenied),
                AllOf(HasSubstr("others can read it"),
                      HasSubstr("chmod 0600 " + keys.PathOf("client.key"))));
  }
  // Everybody may read a certificate, but not change it.
  ASSERT_EQ(::chmod(keys.PathOf("ca.pem").c_str(), 0644), 0);
  EXPECT_EQ(keys.Read("ca.pem"), "certificate");
  ASSERT_EQ(::chmod(keys.PathOf("ca.pem").c_str(), 0664), 0);
  EXPECT_THAT(ReadError(keys, "ca.pem", ErrorCode::kDenied), HasSubstr("others can change it"));
  ASSERT_EQ(::chmod(keys.PathOf("ca.pem").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(keys.path().c_str(), 0777), 0);
  EXPECT_THAT(ReadError(keys, "ca.pem", ErrorCode::kDenied),
              HasSubstr("chmod 0700 " + keys.path()));
}

TEST(KeyDirectories, AFileOfRootMayBeReadByItsGroup) {
  ASSERT_EQ(::geteuid(), 0U) << "only root can give files away: run this test as root";
  constexpr uid_t kNobody = 65534;
  const ScratchDirectory scratch;
  ASSERT_EQ(::chmod(DirName(scratch / "x").c_str(), 0755), 0);
  const KeyDirectory keys(scratch / "keys", "products");
  keys.Write("secret.key", "secret");
  // Returns what reading gives to a process that is not root's and in the group of the file.
  const auto read = [&](mode_t directory, uid_t owner, mode_t file) {
    const std::string path = keys.PathOf("secret.key");
    EXPECT_EQ(::chown(path.c_str(), owner, kNobody), 0);
    EXPECT_EQ(::chmod(path.c_str(), file), 0);
    EXPECT_EQ(::chmod(keys.path().c_str(), directory), 0);
    EXPECT_EQ(::setegid(kNobody), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
    std::string text;
    try {
      text = keys.Read("secret.key");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDenied);
      text = error.what();
    }
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
    return text;
  };
  EXPECT_EQ(read(03777, 0, 0440), "secret");  // Kubernetes mounts a Secret so
  EXPECT_EQ(read(0755, 0, 0640), "secret");
  EXPECT_THAT(read(03777, 0, 0444), HasSubstr("others can read it; run: chmod 0640 "));
  EXPECT_THAT(read(03777, 0, 0460), HasSubstr("has mode 0460, so others can change it"));
  EXPECT_THAT(read(03777, kNobody, 0640), HasSubstr("has mode 0640, so others can read it"));
  EXPECT_THAT(read(0777, 0, 0440), HasSubstr("keys has mode 0777, so others can change it"));
  // Root itself needs no group.
  ASSERT_EQ(::chown(keys.PathOf("secret.key").c_str(), 0, 0), 0);
  EXPECT_THAT(ReadError(keys, "secret.key", ErrorCode::kDenied), HasSubstr("keys has mode 0777"));
  ASSERT_EQ(::chmod(keys.path().c_str(), 01777), 0);
  EXPECT_THAT(ReadError(keys, "secret.key", ErrorCode::kDenied), HasSubstr("has mode 0440"));
  ASSERT_EQ(::chmod(keys.PathOf("secret.key").c_str(), 0400), 0);
  EXPECT_EQ(keys.Read("secret.key"), "secret");
}

TEST(KeyDirectories, AForeignFileIsRefused) {
  ASSERT_EQ(::geteuid(), 0U) << "only root can give files away: run this test as root";
  const ScratchDirectory scratch;
  const KeyDirectory keys(scratch / "keys", "products");
  keys.Write("client.key", "secret");
  ASSERT_EQ(::chown(keys.PathOf("client.key").c_str(), 65534, 65534), 0);
  EXPECT_THAT(ReadError(keys, "client.key", ErrorCode::kDenied),
              HasSubstr("belongs to user 65534"));
}

TEST(KeyDirectories, AMissingFileIsNamedWithTheRemedy) {
  const ScratchDirectory scratch;
  const KeyDirectory keys(scratch / "keys/", "products");
  EXPECT_THAT(ReadError(keys, "ca.pem", ErrorCode::kNotFound),
              AllOf(HasSubstr(scratch / "keys/ca.pem"),
                    HasSubstr("graphctl keys create --server_name products")));
}

TEST(KeyDirectories, ALargeFileOrADirectoryIsRefused) {
  const ScratchDirectory scratch;
  const KeyDirectory keys(scratch / "keys", "products");
  keys.Write("ca.pem", std::string((size_t{1} << 20) + 1, 'x'));
  ReadError(keys, "ca.pem", ErrorCode::kInvalid);
  ASSERT_EQ(::mkdir(keys.PathOf("revoked").c_str(), 0700), 0);
  ReadError(keys, "revoked", ErrorCode::kInvalid);
}

TEST(KeyDirectories, AVersionChangesWithTheFile) {
  const ScratchDirectory scratch;
  const KeyDirectory keys(scratch / "keys", "products");
  const auto without = keys.Version({"ca.pem"});
  keys.Write("ca.pem", "1");
  const auto first = keys.Version({"ca.pem"});
  EXPECT_NE(first, without);
  EXPECT_EQ(first, keys.Version({"ca.pem"}));
  keys.Write("ca.pem", "2");
  EXPECT_NE(first, keys.Version({"ca.pem"}));
}

}  // namespace
}  // namespace graphd::testing
