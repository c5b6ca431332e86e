// SPDX-License-Identifier: Apache-2.0
// Tests of what clients with and without certificates can do with a real daemon over TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/checkpoint.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/tls/test_keys.h"
#include "tls/record_cipher.h"
#include "wire/connection.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A daemon, with the keys of the folder "server" or without keys.
class TlsClients : public ::testing::Test {
 protected:
  void Serve(std::vector<std::string> arguments, bool with_keys = true) {
    keys_.AddClient("alice");
    if (with_keys) arguments.insert(arguments.end(), {"--keys", keys_.Path("server")});
    served_ = std::make_unique<ServedGraphFixture>(
        HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)),
        std::vector<std::vector<int>>{{0, 1}}, 2, arguments);
  }
  // Returns the options of a trainer with the keys of this folder; empty: without keys.
  Options TrainerOptions(const std::string& folder) const {
    Options options = served_->TrainerOptions(Transport::kTcp);
    options.job_id = "job of " + folder;
    options.timeout = std::chrono::seconds(20);
    if (!folder.empty()) options.keys = keys_.Path(folder);
    return options;
  }
  // Attaches with the keys and runs `action`; returns what either threw.
  std::string TrainerError(
      const std::string& folder,
      const std::function<void(const DistGraph&)>& action = [](const DistGraph&) {}) const {
    try {
      action(DistGraph(Initialize(TrainerOptions(folder))));
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
    return "no error";
  }
  std::string StatusError(const std::string& folder) const {
    try {
      TlsKeys keys(keys_.Directory(folder), "hubs", TlsSide::kClient);
      const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_->ip_config())).at(0);
      ControlClient::ConnectTcp(daemon.address, daemon.port, std::chrono::seconds(20), &keys)
          ->Status();
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
    return "no error";
  }
  // Revokes the certificate of a folder; returns how long a connection that does nothing stays
  // open.
  double SecondsToClose(const std::string& folder) {
    const DaemonAddress daemon = DaemonsOf(ReadIpConfig(served_->ip_config())).at(0);
    TlsKeys keys(keys_.Directory(folder), "hubs", TlsSide::kClient);
    const ClientSocket idle = ConnectTcp(daemon.address, daemon.port, 20000, &keys);
    keys_.Revoke("server", folder);
    const auto start = Clock::now();
    char byte = 0;
    while (::recv(idle.fd.get(), &byte, 1, MSG_DONTWAIT) != 0 && SecondsSince(start) < 20) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_LT(SecondsSince(start), 20) << "the connection stays open";
    return SecondsSince(start);
  }
  static TensorSpec Spec() {
    TensorSpec spec;
    spec.name = "t";
    spec.persistent = true;
    return spec;
  }

  TestKeys keys_{"hubs"};
  std::unique_ptr<ServedGraphFixture> served_;
};

TEST_F(TlsClients, ACertificateWithoutARuleGetsNothingButAnError) {
  Serve({});
  EXPECT_THAT(served_->daemon(0).Log(),
              HasSubstr(StrCat("TCP connections are encrypted by ", RecordCipherLibrary())));
  EXPECT_THAT(StatusError("alice"), AllOf(StartsWith("denied: the client with certificate 'alice'"),
                                          HasSubstr("--allow_read cert:alice")));
  EXPECT_THAT(TrainerError("alice"), AllOf(StartsWith("denied: "), HasSubstr("cert:alice")));
}

TEST_F(TlsClients, ACertificateOfAnotherAuthorityGetsNothingButAnError) {
  Serve({"--allow_operate", "cert:mallory"});
  TestKeys others("hubs");
  const KeyDirectory mallory = others.AddClient("mallory");
  // It is even given the authority that the daemon's certificate is signed by.
  mallory.Write("ca.pem", keys_.Directory("alice").Read("ca.pem"));
  Options options = TrainerOptions("alice");
  options.keys = mallory.path();
  try {
    Initialize(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("refuses the certificate 'mallory'"),
                                    HasSubstr("not signed by that side's authority")));
  }
}

TEST_F(TlsClients, AClientWithoutKeysIsToldToGiveThem) {
  Serve({"--allow_operate", "all"});
  EXPECT_THAT(TrainerError(""), AllOf(StartsWith("denied: "), HasSubstr("does not speak TLS"),
                                      HasSubstr("GRAPHD_KEYS")));
  // Over the Unix socket nothing changes.
  DistGraph(Initialize(served_->TrainerOptions(Transport::kUnix)));
}

TEST_F(TlsClients, ADaemonWithoutKeysIsNamedToAClientWithKeys) {
  Serve({}, false);
  EXPECT_THAT(TrainerError("alice"),
              AllOf(StartsWith("denied: "), HasSubstr("does not speak TLS"), HasSubstr("--keys")));
}

TEST_F(TlsClients, AReaderReadsAndChangesNothing) {
  Serve({"--allow_read", "cert:alice", "--allow_write", "cert:trainer"});
  EXPECT_EQ(TrainerError("trainer",
                         [](const DistGraph& graph) {
                           DistTensor::Create(graph, Spec());
                           CreateCheckpoint(graph, "c");
                         }),
            "no error");
  const std::vector<int64_t> ids = {1, 2, 3};
  EXPECT_EQ(TrainerError("alice",
                         [&](const DistGraph& graph) {
                           graph.InDegrees(ids);
                           graph.ndata("feat").Read(ids);
                           DistTensor::Open(graph, "t").Read(ids);
                         }),
            "no error");
  EXPECT_THAT(
      TrainerError("alice",
                   [&](const DistGraph& graph) {
                     DistTensor::Open(graph, "t").Write(ids, Tensor::Empty(DType::kFloat32, {3}));
                   }),
      AllOf(StartsWith("denied: "), HasSubstr("'alice' may not change tensors"),
            HasSubstr("--allow_write cert:alice")));
  EXPECT_THAT(TrainerError("trainer", [](const DistGraph& graph) { DeleteCheckpoint(graph, "c"); }),
              AllOf(StartsWith("denied: "), HasSubstr("--allow_operate cert:trainer")));
}

TEST_F(TlsClients, TheClientCertificateBesideTheDaemonsKeysIsAnOperators) {
  // The daemon's user launches jobs with it.
  for (const char* file : {"client.pem", "client.key"}) {
    keys_.Directory("server").Write(file, keys_.Directory("trainer").Read(file));
  }
  Serve({});
  EXPECT_EQ(TrainerError("server",
                         [](const DistGraph& graph) {
                           DistTensor::Create(graph, Spec());
                           CreateCheckpoint(graph, "c");
                           DeleteCheckpoint(graph, "c");
                         }),
            "no error");
}

TEST_F(TlsClients, ARevokedCertificateIsOutWhileItIsConnected) {
  Serve({"--allow_write", "cert:alice", "--allow_read", "cert:trainer"});
  const DistGraph other(Initialize(TrainerOptions("trainer")));
  const DistGraph graph(Initialize(TrainerOptions("alice")));
  const std::vector<int64_t> ids = {1, 2, 3};
  graph.InDegrees(ids);
  SecondsToClose("alice");
  try {
    graph.InDegrees(ids);
    FAIL() << "a revoked certificate still reads";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("it is revoked"));
  }
  EXPECT_THAT(TrainerError("alice"), AllOf(StartsWith("denied: "), HasSubstr("it is revoked")));
  other.InDegrees(ids);
}

TEST_F(TlsClients, ARevokedCertificateIsOutWithinASecond) {
  Serve({"--allow_read", "all"});
  // A busy machine may take longer, so the fastest of a few counts: 0.25 s when nothing else runs.
  double seconds = 20;
  for (int i = 0; i < 5 && seconds >= 1; i++) {
    const std::string name = StrCat("client", i);
    keys_.AddClient(name);
    seconds = SecondsToClose(name);
  }
  EXPECT_LT(seconds, 1);
  std::printf("closed after %.3f s\n", seconds);
}

TEST_F(TlsClients, ARotatedKeyTakesOverWhileAJobRuns) {
  Serve({"--allow_read", "cert:alice"});
  const DistGraph graph(Initialize(TrainerOptions("alice")));
  const std::vector<int64_t> ids = {1, 2, 3};
  graph.InDegrees(ids);
  const Certificate old =
      Certificate::FromPem(keys_.Directory("alice").Read("client.pem"), "client.pem");
  keys_.AddServer("server");
  keys_.AddClient("alice");
  RevokedList list;
  list.Add(old.serial(), old.name());
  keys_.Directory("server").Write("revoked", list.ToText());
  // The connection is closed, and the client connects with the new key.
  const auto start = Clock::now();
  while (SecondsSince(start) < 1) graph.InDegrees(ids);
}

}  // namespace
}  // namespace graphd::testing
