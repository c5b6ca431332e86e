// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/find_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class FindServersTest : public ::testing::Test {
 protected:
  // Leaves the socket of a server whose process was killed.
  void AddDeadSocket(const std::string& server, const std::string& file) {
    std::filesystem::create_directories(scratch_ / server);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = scratch_ / (server + "/" + file);
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  std::vector<FoundServer> Find(const FindOptions& find) {
    return FindServers(options_, scratch_.path(), find);
  }
  ScratchDirectory scratch_;
  HostOptions options_;
};

TEST_F(FindServersTest, WithoutSocketsThereIsNoServer) {
  EXPECT_THAT(Find({.dead = DeadSockets::kReport}), SizeIs(0));
  std::filesystem::create_directory(scratch_ / "products");
  WriteFileAtomically(scratch_ / "products/30050.log", "");
  WriteFileAtomically(scratch_ / "stray", "");
  EXPECT_THAT(Find({.dead = DeadSockets::kReport}), SizeIs(0));
  EXPECT_THAT(FindServers(options_, scratch_ / "none", {}), SizeIs(0));
}

TEST_F(FindServersTest, ADeadSocketIsToldOnlyOnDemand) {
  AddDeadSocket("products", "30050.sock");
  EXPECT_THAT(Find({}), SizeIs(0));
  const std::vector<FoundServer> found = Find({.dead = DeadSockets::kReport});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].host, "port 30050");
  EXPECT_FALSE(found[0].serves());
  EXPECT_FALSE(found[0].is_denied);
  EXPECT_THAT(found[0].error, StartsWith("server 'products' does not run ("));
}

TEST_F(FindServersTest, OnlyServersOfANameAreLookedAt) {
  AddDeadSocket("products", "30050.sock");
  AddDeadSocket("products", "30051.sock");
  AddDeadSocket("products2", "30060.sock");
  EXPECT_THAT(Find({.dead = DeadSockets::kReport}), SizeIs(3));
  const std::vector<FoundServer> found = Find({.only = "products", .dead = DeadSockets::kReport});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].host, "port 30050");
  EXPECT_EQ(found[1].host, "port 30051");
  EXPECT_THAT(Find({.only = "product", .dead = DeadSockets::kReport}), SizeIs(0));
}

TEST_F(FindServersTest, NoServerIsToldWithWhatToDo) {
  options_.server.server_name = "products";
  EXPECT_THAT(NoServerText(options_, scratch_.path(), true),
              AllOf(StartsWith("no server 'products' runs in "),
                    HasSubstr("`graphctl server start` starts one")));
  AddDeadSocket("papers", "30050.sock");
  EXPECT_THAT(NoServerText(options_, scratch_.path(), true),
              AllOf(HasSubstr("papers"), Not(HasSubstr("server start"))));
}

TEST_F(FindServersTest, AFileIsNoRuntimeDirectory) {
  WriteFileAtomically(scratch_ / "file", "");
  options_.server.runtime_dir = scratch_ / "file";
  EXPECT_THAT(ErrorOf([&] { RuntimeDirOf(options_); }),
              AllOf(StartsWith("invalid: --runtime_dir "), HasSubstr("/file is not a directory")));
  options_.server.runtime_dir = scratch_ / "none";
  EXPECT_EQ(RuntimeDirOf(options_), scratch_ / "none");
}

}  // namespace
}  // namespace graphd::ctl
