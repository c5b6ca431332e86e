// SPDX-License-Identifier: Apache-2.0
// Tests of a daemon without --listen: what it serves, and what its clients are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Returns the local addresses of a process's TCP sockets, in whatever state, as /proc/net shows
// them.
std::vector<std::string> TcpSocketsOf(pid_t pid) {
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator(StrCat("/proc/", pid, "/fd"))) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry, gone).string();
    if (!target.starts_with("socket:[")) continue;
    inodes.insert(target.substr(8, target.size() - 9));
  }
  EXPECT_THAT(inodes, Not(IsEmpty()));  // those of the Unix socket
  std::vector<std::string> found;
  for (const char* table : {"tcp", "tcp6"}) {
    std::ifstream lines(StrCat("/proc/", pid, "/net/", table));
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> columns(10);
      for (std::string& column : columns) words >> column;
      if (inodes.contains(columns[9])) found.push_back(columns[1]);
    }
  }
  return found;
}

class UnixOnly : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = std::make_unique<ServedGraphFixture>(
        HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)), std::vector<std::vector<int>>{});
  }
  static void TearDownTestSuite() { files_.reset(); }

  GraphdProcess Run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "--server_name", "hubs",          "--part_config", files_->part_config(),
        "--part_id",     "0,1",           "--runtime_dir", files_->runtime_dir(),
        "--state_dir",   scratch_ / "st", "--memory_dir",  memory_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return GraphdProcess(arguments, scratch_ / StrCat("log", logs_++));
  }
  std::string Socket(uint16_t port) const {
    return SocketPath(files_->runtime_dir(), "hubs", port);
  }
  Options TrainerOptions(uint16_t port, Transport transport) const {
    Options options = files_->TrainerOptions(transport);
    options.ip_config = scratch_ / "ip.txt";
    WriteFileAtomically(options.ip_config, StrCat("127.0.0.1 ", port, "\n127.0.0.1 ", port, "\n"));
    return options;
  }
  std::string Fails(std::vector<std::string> more) {
    GraphdProcess process = Run(std::move(more));
    EXPECT_EQ(process.Wait(), ExitCode(ErrorCode::kInvalid)) << process.Log();
    return process.Log();
  }

  ScratchDirectory scratch_;
  MemoryDirectory memory_;
  int logs_ = 0;
  static std::unique_ptr<ServedGraphFixture> files_;
};

std::unique_ptr<ServedGraphFixture> UnixOnly::files_;

TEST_F(UnixOnly, ADaemonWithoutListenHasNoTcpSocketAndTrainsOverItsUnixSocket) {
  const uint16_t port = FreePort();
  GraphdProcess process = Run({"--port", StrCat(port)});
  process.WaitReady(Socket(port));
  EXPECT_THAT(process.Log(), HasSubstr("not over TCP (--listen)"));
  for (const Transport transport : {Transport::kAuto, Transport::kUnix}) {
    const DistGraph graph(Initialize(TrainerOptions(port, transport)));
    EXPECT_EQ(graph.is_mapped(0), transport == Transport::kAuto);
    TensorSpec spec;
    spec.name = StrCat("t", static_cast<int>(transport));
    spec.row_shape = {4};
    const DistTensor tensor = DistTensor::Create(graph, spec);
    const std::vector<int64_t> ids = {1, 999};
    Tensor rows = Tensor::Empty(DType::kFloat32, {2, 4});
    std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, rows.as<float>().begin());
    tensor.Write(ids, rows);
    const Tensor read = tensor.Read(ids);
    EXPECT_TRUE(std::ranges::equal(read.as<float>(), rows.as<float>()));
    EXPECT_THAT(TcpSocketsOf(process.pid()), IsEmpty());
  }
  const auto control = ControlClient::ConnectUnix(Socket(port), std::chrono::seconds(20));
  EXPECT_THAT(control->Status().listening, ElementsAre(Socket(port)));
}

TEST_F(UnixOnly, TheSocketsOfADaemonWithListenAreSeenAsTheTestSeesThem) {
  const uint16_t port = FreePort();
  GraphdProcess process = Run({"--listen", StrCat("127.0.0.1:", port)});
  process.WaitReady(Socket(port));
  EXPECT_EQ(TcpSocketsOf(process.pid()).size(), 1u);
  const auto control = ControlClient::ConnectUnix(Socket(port), std::chrono::seconds(20));
  EXPECT_THAT(control->Status().listening, ElementsAre(StrCat("127.0.0.1:", port), Socket(port)));
}

TEST_F(UnixOnly, TheSocketHasTheDefaultPortsNameWithoutAnOption) {
  GraphdProcess process = Run({});
  process.WaitReady(Socket(kDefaultPort));
  EXPECT_THAT(TcpSocketsOf(process.pid()), IsEmpty());
}

TEST_F(UnixOnly, AClientThatInsistsOnTcpIsToldWhatToDo) {
  const uint16_t port = FreePort();
  GraphdProcess process = Run({"--port", StrCat(port)});
  process.WaitReady(Socket(port));
  try {
    Initialize(TrainerOptions(port, Transport::kTcp));
    FAIL() << "attached over TCP";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_THAT(error.what(), AllOf(StartsWith("the graphd at "), HasSubstr("--listen"),
                                    HasSubstr("GRAPHD_TRANSPORT=auto")));
  }
}

TEST_F(UnixOnly, OptionsThatProtectTcpNeedListen) {
  EXPECT_THAT(Fails({"--insecure"}), AllOf(HasSubstr("--insecure"), HasSubstr("--listen")));
  EXPECT_THAT(Fails({"--keys", "default"}), AllOf(HasSubstr("--keys"), HasSubstr("--listen")));
  EXPECT_THAT(Fails({"--port", "30051", "--listen", "127.0.0.1:30051"}),
              AllOf(HasSubstr("--port"), HasSubstr("--listen")));
  EXPECT_THAT(Fails({"--port", "0"}), HasSubstr("--port"));
}

}  // namespace
}  // namespace graphd::testing
