// SPDX-License-Identifier: Apache-2.0
// Tests of what clients with and without the shared secret can do with a real daemon over TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "base/clock.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/checkpoint.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/sanitizers.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/tls/test_keys.h"
#include "tls/secret_handshake.h"
#include "wire/connection.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SecretClients : public ::testing::Test {
 protected:
  // Writes a file with a new secret; returns its path.
  std::string NewFile(const std::string& name) const {
    const std::string path = scratch_ / name;
    WriteFileAtomically(path, SharedSecret::NewText());
    ::chmod(path.c_str(), 0600);
    return path;
  }
  void Serve(std::vector<std::string> arguments, bool with_secret = true) {
    file_ = NewFile("secret");
    if (with_secret) arguments.insert(arguments.end(), {"--secret", file_});
    served_ = std::make_unique<ServedGraphFixture>(
        HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)),
        std::vector<std::vector<int>>{{0, 1}}, 2, arguments);
  }
  Options TrainerOptions(const std::string& secret_file) const {
    Options options = served_->TrainerOptions(Transport::kTcp);
    options.job_id = "a job";
    options.timeout = std::chrono::seconds(20);
    options.secret_file = secret_file;
    return options;
  }
  static std::string ErrorOf(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
    return "no error";
  }
  // Attaches with the secret and runs `action`; returns what either threw.
  std::string TrainerError(
      const std::string& secret_file,
      const std::function<void(const DistGraph&)>& action = [](const DistGraph&) {}) const {
    return ErrorOf([&] { action(DistGraph(Initialize(TrainerOptions(secret_file)))); });
  }
  UniqueFd ConnectPlainly() const {
    const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_->ip_config())).at(0);
    return std::move(ConnectTcp(daemon.address, daemon.port, 20000).fd);
  }
  std::string WaitForLog(const std::string& text) {
    const auto start = Clock::now();
    for (;;) {
      std::string log = served_->daemon(0).Log();
      if (log.find(text) != std::string::npos || SecondsSince(start) > 20) return log;
      ::usleep(5000);
    }
  }
  static TensorSpec Spec() {
    TensorSpec spec;
    spec.name = "t";
    spec.persistent = true;
    return spec;
  }

  ScratchDirectory scratch_;
  std::string file_;
  std::unique_ptr<ServedGraphFixture> served_;
};

TEST_F(SecretClients, ATrainerThatKnowsTheSecretTrainsOverTcp) {
  Serve({});
  EXPECT_THAT(served_->daemon(0).Log(), HasSubstr("(shared secret)"));
  const std::string text = ReadTextFile(file_).substr(0, 64);
  EXPECT_EQ(TrainerError(file_,
                         [](const DistGraph& graph) {
                           EXPECT_FALSE(graph.is_mapped(0));
                           const std::vector<int64_t> ids = {1, 2, 3};
                           graph.InDegrees(ids);
                           graph.ndata("feat").Read(ids);
                           const DistTensor tensor = DistTensor::Create(graph, Spec());
                           tensor.Write(ids, Tensor::Empty(DType::kFloat32, {3}));
                           CreateCheckpoint(graph, "c");
                           RestoreCheckpoint(graph, "c");
                           DeleteCheckpoint(graph, "c");
                         }),
            "no error");
  // The secret is shown nowhere: not in the log, the arguments or the status.
  EXPECT_THAT(served_->daemon(0).Log(), Not(HasSubstr(text)));
  std::ifstream arguments(StrCat("/proc/", served_->daemon(0).pid(), "/cmdline"));
  const std::string line(std::istreambuf_iterator<char>(arguments), {});
  EXPECT_THAT(line, AllOf(HasSubstr("--secret"), Not(HasSubstr(text))));
  // A server is stopped over its Unix socket only.
  const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_->ip_config())).at(0);
  SecretFile secret(file_, "hubs");
  EXPECT_THAT(ErrorOf([&] {
                ControlClient::ConnectTcp(daemon.address, daemon.port, std::chrono::seconds(20),
                                          nullptr, &secret)
                    ->Shutdown(true);
              }),
              AllOf(StartsWith("denied: "), HasSubstr("Unix socket")));
}

TEST_F(SecretClients, AClientWithoutTheSecretOrWithAnotherGetsNothingButAnError) {
  Serve({"--allow_operate", "all"});
  EXPECT_THAT(TrainerError(""), AllOf(StartsWith("denied: "), HasSubstr("GRAPHD_SECRET")));
  EXPECT_THAT(TrainerError(NewFile("other")),
              AllOf(StartsWith("denied: "), HasSubstr("does not know the shared secret")));
  EXPECT_THAT(WaitForLog("has a wrong secret"), HasSubstr("has a wrong secret"));
  const TestKeys keys("hubs");
  Options options = TrainerOptions("");
  options.keys = keys.Path("trainer");
  EXPECT_THAT(ErrorOf([&] { Initialize(options); }),
              AllOf(StartsWith("denied: "), HasSubstr("does not speak TLS")));
  options.secret_file = file_;
  EXPECT_THAT(ErrorOf([&] { Initialize(options); }),
              AllOf(StartsWith("invalid: "), HasSubstr("GRAPHD_KEYS"), HasSubstr("--secret")));
  // Over the Unix socket nothing changes.
  DistGraph(Initialize(served_->TrainerOptions(Transport::kUnix)));
}

TEST_F(SecretClients, ADaemonWithoutASecretIsNamed) {
  Serve({}, false);
  EXPECT_THAT(TrainerError(file_),
              AllOf(StartsWith("denied: "), HasSubstr("does not ask for"), HasSubstr("--secret")));
  const TestKeys keys("hubs");
  served_ = nullptr;
  Serve({"--keys", keys.Path("server")}, false);
  EXPECT_THAT(TrainerError(file_), AllOf(StartsWith("denied: "), HasSubstr("does not ask for")));
}

TEST_F(SecretClients, RulesNameTheClientsThatKnowTheSecret) {
  Serve({"--allow_read", "secret"});
  EXPECT_THAT(TrainerError(file_,
                           [](const DistGraph& graph) {
                             graph.InDegrees(std::vector<int64_t>{1});
                             DistTensor::Create(graph, Spec());
                           }),
              AllOf(StartsWith("denied: a client with the shared secret may not "),
                    HasSubstr("--allow_write secret")));
}

TEST_F(SecretClients, AnAddressBeyondLoopbackNeedsNoMoreThanASecret) {
  ServedGraphFixture files(HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)),
                           std::vector<std::vector<int>>{});
  const std::string file = NewFile("s");
  const uint16_t port = FreePort();
  const std::vector<std::string> arguments = {
      "--server_name", "s",        "--part_config",          files.part_config(), "--part_id",
      "0,1",           "--listen", StrCat("0.0.0.0:", port), "--runtime_dir",     scratch_ / "run"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    return GraphdProcess(more, scratch_ / StrCat("log", more.size(), more.back().size()));
  };
  {
    GraphdProcess process = run({"--secret", file});
    process.WaitReady(SocketPath(scratch_ / "run", "s", port));
  }
  for (const std::string conflict : {"--insecure", "--keys=default"}) {
    GraphdProcess process = run({"--secret", file, conflict});
    EXPECT_EQ(process.Wait(), ExitCode(ErrorCode::kInvalid));
    EXPECT_THAT(process.Log(), AllOf(HasSubstr(conflict.substr(0, 6)), HasSubstr("--secret"),
                                     HasSubstr("exclude each other")));
  }
  ::chmod(file.c_str(), 0644);
  GraphdProcess process = run({"--secret", file});
  EXPECT_EQ(process.Wait(), ExitCode(ErrorCode::kDenied));
  EXPECT_THAT(process.Log(), HasSubstr("chmod 0600"));
}

TEST_F(SecretClients, FailedHandshakesKeepNoMemory) {
  Serve({});
  const auto resident = [&] {
    std::ifstream statm(StrCat("/proc/", served_->daemon(0).pid(), "/statm"));
    uint64_t total = 0, pages = 0;
    statm >> total >> pages;
    return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  };
  const std::string hello =
      std::string(kSecretMagic.begin(), kSecretMagic.end()) + std::string(32, 'n');
  const std::string texts[] = {"",
                               hello,
                               hello.substr(0, 20),
                               hello + std::string(32, 'p'),
                               std::string(1000, '\0'),
                               std::string(100000, 'x')};
  const auto attack = [&](int rounds) {
    for (int i = 0; i < rounds; i++) {
      for (const std::string& text : texts) {
        const UniqueFd fd = ConnectPlainly();
        ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
    EXPECT_EQ(TrainerError(file_), "no error");
  };
  attack(20);
  const uint64_t before = resident();
  attack(300);
  EXPECT_LT(resident(), before + (uint64_t{kSanitized ? 512 : 8} << 20));
}

TEST_F(SecretClients, ANewSecretIsTakenFromTheNextConnectionOn) {
  Serve({});
  const DistGraph graph(Initialize(TrainerOptions(file_)));
  const std::string other = NewFile("other");
  WriteFileAtomically(file_ + ".new", ReadTextFile(other));
  ::chmod((file_ + ".new").c_str(), 0600);
  ASSERT_EQ(::rename((file_ + ".new").c_str(), file_.c_str()), 0);
  EXPECT_THAT(WaitForLog("read the new secret"), HasSubstr("read the new secret"));
  Options options = TrainerOptions(other);
  options.job_id = "another job";
  DistGraph(Initialize(options)).InDegrees(std::vector<int64_t>{1});
  graph.InDegrees(std::vector<int64_t>{1});
}

}  // namespace
}  // namespace graphd::testing
