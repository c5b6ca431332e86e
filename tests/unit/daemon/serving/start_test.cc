// SPDX-License-Identifier: Apache-2.0
// Tests of how graphd starts and ends: the log and the exit code of a real process.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/file.h"
#include "base/processor.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/tls/test_keys.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

class StartTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    files_ = std::make_unique<ServedGraphFixture>(std::vector<std::vector<int>>{});
  }
  static void TearDownTestSuite() { files_.reset(); }

  std::vector<std::string> Arguments(uint16_t port, const std::string& part = "0") {
    return {"--server_name", "s",  "--part_config", files_->part_config(),
            "--part_id",     part, "--listen",      "127.0.0.1:" + std::to_string(port),
            "--runtime_dir", run()};
  }
  GraphdProcess Run(std::vector<std::string> arguments) {
    return GraphdProcess(std::move(arguments), scratch_ / ("log" + std::to_string(logs_++)));
  }
  // Runs graphd until it ends with this code; returns the log.
  std::string Fails(std::vector<std::string> arguments, ErrorCode code) {
    GraphdProcess process = Run(std::move(arguments));
    EXPECT_EQ(process.Wait(), ExitCode(code)) << process.Log();
    return process.Log();
  }
  // Copies the graph, replaces the features of the first partition by a sparse file of `bytes`
  // bytes and adapts its header. Returns the part config of the copy.
  std::string WithSparseFeatures(int64_t bytes) {
    const std::string dir = scratch_ / "sparse", header_path = dir + "/part0/partition.json";
    std::filesystem::copy(DirName(files_->part_config()), dir,
                          std::filesystem::copy_options::recursive);
    auto header = nlohmann::json::parse(ReadTextFile(header_path));
    for (auto& segment : header["segments"]) {
      if (segment["file"] != "node_feat.seg") continue;
      nlohmann::json array = segment["arrays"][0];
      const auto rows = array["shape"][0].get<int64_t>();
      SegmentLayout layout;
      const ArraySpec& spec = layout.Add(array["name"], DType::kUInt8, {rows, bytes / rows});
      array["dtype"] = "uint8";
      array["shape"] = spec.shape;
      array["offset"] = spec.offset;
      array["bytes"] = spec.bytes;
      segment["arrays"] = nlohmann::json::array({array});
      segment["total_bytes"] = layout.total_bytes();
      EXPECT_EQ(::truncate((dir + "/part0/node_feat.seg").c_str(),
                           static_cast<off_t>(layout.total_bytes())),
                0);
    }
    WriteFileAtomically(header_path, header.dump());
    return dir + "/hubs.json";
  }
  std::string run() { return scratch_ / "run"; }
  std::string Socket(uint16_t port) { return SocketPath(run(), "s", port); }

  ScratchDirectory scratch_;
  int logs_ = 0;
  static std::unique_ptr<ServedGraphFixture> files_;
};

std::unique_ptr<ServedGraphFixture> StartTest::files_;

TEST_F(StartTest, ServesAndEndsCleanlyOnSigterm) {
  const uint16_t port = FreePort();
  GraphdProcess process = Run(Arguments(port));
  process.WaitReady(Socket(port));
  auto tcp = ControlClient::ConnectTcp("127.0.0.1", port, std::chrono::seconds(5));
  EXPECT_EQ(tcp->Status().server_name, "s");
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_FALSE(FileExists(Socket(port)));
}

TEST_F(StartTest, AClientCanNotFillTheLog) {
  const uint16_t port = FreePort();
  auto arguments = Arguments(port);
  arguments.insert(arguments.end(), {"--log_level", "debug"});
  GraphdProcess process = Run(std::move(arguments));
  process.WaitReady(Socket(port));
  auto client = ControlClient::ConnectUnix(Socket(port), std::chrono::seconds(5));
  JobMember wrong;
  wrong.job_id = "flood";
  wrong.rank = 7;  // the world has one trainer
  constexpr int kAttempts = 200;
  for (int i = 0; i < kAttempts; i++) EXPECT_THROW(client->JoinJob(wrong), Error);
  wrong.rank = 0;
  client->JoinJob(wrong);
  process.Signal(SIGTERM);  // the end tells what was left out
  EXPECT_EQ(process.Wait(), 0);
  const std::string log = process.Log();
  const std::string refusal = StrCat("refusing the client pid ", ::getpid(), ", uid ", ::getuid());
  size_t refusals = 0;
  for (size_t at = 0; (at = log.find(refusal, at)) != std::string::npos; at++) refusals++;
  EXPECT_GE(refusals, 59u);
  EXPECT_LT(refusals, 100u);  // the limit lets some more pass on a slow machine
  std::smatch told;
  ASSERT_TRUE(std::regex_search(log, told, std::regex("(\\d+) lines about 'attach' were left out")))
      << log;
  // The line that tells that the job has attached may be among those that were left out.
  const size_t lines = refusals + std::stoul(told[1]);
  EXPECT_TRUE(lines == kAttempts || lines == kAttempts + 1) << log;
  EXPECT_THAT(log, HasSubstr("job flood has left"));
}

TEST_F(StartTest, CanBeStoppedOverItsUnixSocketButNotOverTcp) {
  const uint16_t port = FreePort();
  GraphdProcess process = Run(Arguments(port));
  process.WaitReady(Socket(port));
  {
    auto tcp = ControlClient::ConnectTcp("127.0.0.1", port, std::chrono::seconds(5));
    EXPECT_THROW(tcp->Shutdown(true), Error);
  }
  ControlClient::ConnectUnix(Socket(port), std::chrono::seconds(5))->Shutdown(false);
  EXPECT_EQ(process.Wait(), 0);
}

TEST_F(StartTest, APortInUseIsReportedWithTheRemedy) {
  UniqueFd taken(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  ::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &length);
  const std::string log = Fails(Arguments(ntohs(address.sin_port)), ErrorCode::kExists);
  EXPECT_THAT(log, HasSubstr("is in use"));
  EXPECT_THAT(log, HasSubstr("--listen"));
}

TEST_F(StartTest, TheSocketOfARunningServerIsKeptAndThatOfADeadOneReplaced) {
  const uint16_t port = FreePort();
  GraphdProcess first = Run(Arguments(port));
  first.WaitReady(Socket(port));
  auto second = Arguments(port);
  second[7] = "127.0.0.2:" + std::to_string(port);  // another address, the same socket file
  EXPECT_THAT(Fails(second, ErrorCode::kExists), HasSubstr("a running graphd answers"));
  first.Signal(SIGKILL);
  first.Wait();
  EXPECT_TRUE(FileExists(Socket(port)));
  GraphdProcess third = Run(Arguments(port));
  third.WaitReady(Socket(port));
}

TEST_F(StartTest, UnknownPartitionsAndMissingPartConfigsAreReported) {
  EXPECT_THAT(Fails(Arguments(FreePort(), "2"), ErrorCode::kNotFound),
              HasSubstr("has partitions 0..1"));
  auto missing = Arguments(FreePort());
  missing[3] = scratch_ / "nothing.json";
  EXPECT_THAT(Fails(missing, ErrorCode::kNotFound), HasSubstr("nothing.json"));
}

TEST_F(StartTest, OptionsAreChecked) {
  auto arguments = Arguments(FreePort());
  arguments[1] = "../x";
  EXPECT_THAT(Fails(arguments, ErrorCode::kInvalid), HasSubstr("server name '../x'"));
  EXPECT_THAT(Fails(Arguments(FreePort(), "0,0"), ErrorCode::kInvalid), HasSubstr("twice"));
  EXPECT_THAT(Fails({"--part_config", "x"}, ErrorCode::kInvalid), HasSubstr("server_name"));
  arguments = Arguments(FreePort());
  arguments.push_back("--no_such_option");
  EXPECT_THAT(Fails(arguments, ErrorCode::kInvalid), HasSubstr("no_such_option"));
}

TEST_F(StartTest, TheLogSaysWhichVectorsAreUsed) {
  const uint16_t port = FreePort();
  GraphdProcess process = Run(Arguments(port));
  process.WaitReady(Socket(port));
  EXPECT_THAT(process.Log(), HasSubstr(StrCat("this process uses vectors of up to ", kVectorBits)));
}

TEST_F(StartTest, AnAddressBeyondLoopbackNeedsInsecure) {
  auto arguments = Arguments(FreePort());
  arguments[7] = "0.0.0.0:" + std::to_string(FreePort());
  EXPECT_THAT(Fails(arguments, ErrorCode::kDenied), HasSubstr("--insecure"));
  const uint16_t port = FreePort();
  arguments[7] = "0.0.0.0:" + std::to_string(port);
  arguments.push_back("--insecure");
  GraphdProcess process = Run(arguments);
  process.WaitReady(Socket(port));
  EXPECT_THAT(process.Log(), HasSubstr("everyone who reaches"));
}

TEST_F(StartTest, AnAddressBeyondLoopbackNeedsNoMoreThanKeys) {
  const TestKeys keys("s"), others("papers");
  const uint16_t port = FreePort();
  auto arguments = Arguments(port);
  arguments[7] = "0.0.0.0:" + std::to_string(port);
  arguments.insert(arguments.end(), {"--keys", keys.Path("server")});
  {
    GraphdProcess process = Run(arguments);
    process.WaitReady(Socket(port));
    EXPECT_THAT(process.Log(), HasSubstr("(TLS)"));
  }
  arguments.push_back("--insecure");
  EXPECT_THAT(Fails(arguments, ErrorCode::kInvalid), HasSubstr("give one of them"));
  arguments.pop_back();
  arguments.back() = others.Path("server");
  EXPECT_THAT(Fails(arguments, ErrorCode::kInvalid), HasSubstr("is that of server 'papers'"));
}

TEST_F(StartTest, OptionsCanBeGivenInAConfigurationFile) {
  const uint16_t port = FreePort();
  const std::string path = scratch_ / "s.conf";
  WriteFileAtomically(
      path, "# a server\nserver_name = \"s\"\npart_config = \"" + files_->part_config() +
                "\"\npart_id = [0, 1]\nlisten = \"127.0.0.1:" + std::to_string(port) +
                "\"\nruntime_dir = \"" + run() + "\"\nnum_servers = 1\nlog_level = \"debug\"\n");
  GraphdProcess process = Run({"--config", path});
  process.WaitReady(Socket(port));
  auto control = ControlClient::ConnectUnix(Socket(port), std::chrono::seconds(5));
  EXPECT_EQ(control->Status().partitions.size(), 2u);
  WriteFileAtomically(path, "no_such_key = 1\n");
  EXPECT_THAT(Fails({"--config", path}, ErrorCode::kInvalid), HasSubstr("no_such_key"));
}

TEST_F(StartTest, DeclaredIndexesAreBuiltBeforeServing) {
  const uint16_t port = FreePort();
  auto arguments = Arguments(port, "0,1");
  for (const char* index : {"out:_E", "alias:_E/weight", "order:_E/weight"}) {
    arguments.insert(arguments.end(), {"--index", index});
  }
  GraphdProcess process = Run(arguments);
  process.WaitReady(Socket(port));
  const std::string log = process.Log();
  EXPECT_THAT(log, HasSubstr("made the out index of edge type 0"));
  EXPECT_THAT(log, HasSubstr("partition 1"));
  EXPECT_THAT(log, HasSubstr("alias index of edge type 0 by 'weight'"));
  EXPECT_THAT(log, HasSubstr("order index of edge type 0 by 'weight'"));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0);
  auto wrong = Arguments(FreePort());
  wrong.insert(wrong.end(), {"--index", "alias:_E/nothing"});
  EXPECT_THAT(Fails(wrong, ErrorCode::kNotFound), HasSubstr("no feature 'nothing'"));
}

TEST_F(StartTest, TooLittleMemoryIsAnErrorBeforeLoading) {
  auto arguments = Arguments(FreePort());
  arguments[3] = WithSparseFeatures(int64_t{4} << 40);
  const std::string log = Fails(arguments, ErrorCode::kOverloaded);
  EXPECT_THAT(log, HasSubstr("needs 4.0 TiB"));
  EXPECT_THAT(log, HasSubstr("fewer partitions"));
}

TEST_F(StartTest, ASignalWhileLoadingEndsGraphdAndRemovesItsSocket) {
  const uint16_t port = FreePort();
  auto arguments = Arguments(port);
  arguments[3] = WithSparseFeatures(int64_t{2} << 30);  // takes a second or so
  GraphdProcess process = Run(arguments);
  for (int i = 0; i < 5000 && !FileExists(Socket(port)); i++) ::usleep(1000);
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait(), 0) << process.Log();
  EXPECT_THAT(process.Log(), HasSubstr("stopped while loading"));
  EXPECT_FALSE(FileExists(Socket(port)));
}

TEST_F(StartTest, EndsWithItsLastJob) {
  const uint16_t port = FreePort();
  auto arguments = Arguments(port, "0,1");
  arguments.push_back("--end_with_jobs");
  GraphdProcess process = Run(arguments);
  process.WaitReady(Socket(port));
  {
    auto one = ControlClient::ConnectUnix(Socket(port), std::chrono::seconds(5));
    one->JoinJob({"job", JobRole::kLauncher, 0, 1, "train", ""});
    EXPECT_TRUE(one->Status().ends_with_jobs);
    EXPECT_EQ(one->Status().jobs.at(0).command, "train");
  }
  EXPECT_EQ(process.Wait(), 0);
}

}  // namespace
}  // namespace graphd::testing
