// SPDX-License-Identifier: Apache-2.0
// Tests clients and daemons that die or misbehave in the middle of a call.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <thread>

#include "base/file.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"

namespace graphd::testing {
namespace {

using Daemons = std::vector<std::vector<int>>;
using ::testing::HasSubstr;

// An attached session that this thread uses directly, without a DaemonLink.
struct RawSession {
  explicit RawSession(const std::string& socket_path)
      : RawSession(ConnectUnix(socket_path, 1000)) {}
  explicit RawSession(UniqueFd socket)
      : connection(*io.lowLevelProvider, {std::move(socket), true}, BufferPool::Create()),
        daemon(connection.Bootstrap()),
        session(Attach().wait(io.waitScope).getSession()) {}
  capnp::RemotePromise<wire::Daemon::AttachResults> Attach() {
    auto attach = daemon.attachRequest();
    WriteHello(attach.initHello());
    attach.initMember().setWorldSize(1);
    return attach.send();
  }
  kj::Promise<void> Slice(int64_t rows) {
    auto request = session.sliceRequest();
    request.setName("wide");
    request.setCount(rows);
    return request.send().ignoreResult();
  }
  kj::AsyncIoContext io = kj::setupAsyncIo();
  Connection connection;
  wire::Daemon::Client daemon;
  wire::Session::Client session;
};

// Forwards bytes between a client and a daemon. While `deaf` is set, the client receives nothing.
class Relay {
 public:
  explicit Relay(const std::string& socket_path) : daemon_(ConnectUnix(socket_path, 1000)) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) ThrowErrno("no", "pair");
    client_.reset(ends[0]);
    near_.reset(ends[1]);
    ::fcntl(client_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(daemon_.get(), F_SETFL, 0);
    out_ = std::thread([this] { Pump(near_.get(), daemon_.get(), never_); });
    in_ = std::thread([this] { Pump(daemon_.get(), near_.get(), deaf); });
  }
  ~Relay() {
    deaf = false;
    ::shutdown(daemon_.get(), SHUT_RDWR);
    ::shutdown(near_.get(), SHUT_RDWR);
    out_.join();
    in_.join();
  }
  UniqueFd TakeClientEnd() { return std::move(client_); }
  std::atomic<bool> deaf{false};

 private:
  static void Pump(int from, int to, const std::atomic<bool>& deaf) {
    std::vector<std::byte> buffer(256 << 10);
    try {
      for (;;) {
        while (deaf) ::usleep(1000);
        const ssize_t got = ::read(from, buffer.data(), buffer.size());
        if (got <= 0) return;
        while (deaf) ::usleep(1000);
        WriteExactly(to, std::span(buffer).first(static_cast<size_t>(got)), "the relay");
      }
    } catch (const Error&) {  // the other end was closed
    }
  }
  UniqueFd daemon_, client_, near_;
  const std::atomic<bool> never_{false};
  std::thread out_, in_;
};

bool IsServing(ServedGraphFixture& served, size_t daemon) {
  auto control = ControlClient::ConnectUnix(served.socket_path(daemon), std::chrono::seconds(5));
  return control->Status().state == "ready";
}

// Asks on a separate thread, because the calling thread may have an event loop.
ServerStatus StatusOf(ServedGraphFixture& served, size_t daemon) {
  ServerStatus status;
  std::thread([&] {
    status =
        ControlClient::ConnectUnix(served.socket_path(daemon), std::chrono::seconds(30))->Status();
  }).join();
  return status;
}

TEST(Failures, ClientsThatVanishDuringLargeRequestsDoNoHarm) {
  ServedGraphFixture served(Daemons{{0, 1}});
  for (int round = 0; round < 30; round++) {
    RawSession client(served.socket_path(0));
    kj::Vector<kj::Promise<void>> calls;
    for (int i = 0; i < 8; i++) {
      calls.add(client.Slice(25000).eagerlyEvaluate(nullptr));
      auto hop = client.session.hopRequest();
      std::vector<uint32_t> seeds(4096);
      for (uint32_t k = 0; k < seeds.size(); k++) seeds[k] = k;
      hop.initSeeds(1)[0].setIds(
          kj::arrayPtr(reinterpret_cast<const kj::byte*>(seeds.data()), 4 * seeds.size()));
      auto rule = hop.initRules(1)[0];
      rule.setFanout(-1);
      rule.setEdgeIds(true);
      calls.add(hop.send().ignoreResult().eagerlyEvaluate(nullptr));
    }
    // Lets some of the work begin; the end of the scope then closes the connection.
    client.io.provider->getTimer()
        .afterDelay(round % 10 * kj::MILLISECONDS)
        .wait(client.io.waitScope);
  }
  EXPECT_TRUE(IsServing(served, 0));
  served.daemon(0).Signal(SIGTERM);
  EXPECT_EQ(served.daemon(0).Wait(), 0);
}

// Gives a connection a share of memory beyond what it may leave unread: otherwise the daemon would
// not refuse requests but read them later.
const std::vector<std::string> kMuchMemory = {"--peer_memory", "16GiB"};

TEST(Failures, UnreadAnswersAreBounded) {
  ServedGraphFixture served(Daemons{{0, 1}}, 2, kMuchMemory);
  RawSession client(served.socket_path(0));
  // Each answer has 15 MB. None is read before all calls are sent, because the event loop does not
  // run until then.
  kj::Vector<kj::Promise<void>> calls;
  int refused = 0;
  for (int i = 0; i < 200; i++) {
    calls.add(client.Slice(29000)
                  .then([] {},
                        [&refused](kj::Exception&& exception) {
                          if (FromKj(exception, "daemon").code() == ErrorCode::kOverloaded)
                            refused++;
                        })
                  .eagerlyEvaluate(nullptr));
  }
  for (auto& call : calls) call.wait(client.io.waitScope);
  auto control_status = [&] { std::thread([&] { EXPECT_TRUE(IsServing(served, 0)); }).join(); };
  control_status();
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 200);
  client.Slice(29000).wait(client.io.waitScope);  // succeeds, because the answers were read
}

TEST(Failures, UnreadAnswersOfSubgraphRequestsAreBounded) {
  // The graph has a node with so many in-edges that a small request has an answer of 119 MB. This
  // answer and thirty slices of 33 MB exceed the GiB that may be unread; the slices alone do not.
  constexpr uint64_t kDegree = 3999, kSeeds = 3727, kSlices = 30;
  EdgeList edges;
  for (uint32_t i = 1; i <= kDegree; i++) edges.push_back({i, 0});
  RawGraph graph = HomogeneousGraph(kDegree + 1, edges);
  graph.nodes[0].features.push_back({"wide", Tensor::Empty(DType::kFloat32, {kDegree + 1, 2048})});
  ServedGraphFixture served(graph, {{0}}, 1, kMuchMemory);
  Relay relay(served.socket_path(0));
  RawSession client(relay.TakeClientEnd());
  std::vector<uint32_t> seeds(kSeeds, 0), members(kDegree + 1);
  std::iota(members.begin(), members.end(), 0);
  const auto bytes = [](const std::vector<uint32_t>& ids) {
    return kj::arrayPtr(reinterpret_cast<const kj::byte*>(ids.data()), 4 * ids.size());
  };
  relay.deaf = true;
  kj::Vector<kj::Promise<void>> answers;
  auto request = client.session.inducedRequest();
  request.setSeeds(bytes(seeds));
  request.setMembers(bytes(members));
  answers.add(request.send().ignoreResult().eagerlyEvaluate(nullptr));
  const auto await = [&](auto&& done) {
    for (int i = 0; i < 2000 && !done(StatusOf(served, 0)); i++) {
      client.io.waitScope.poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  await([&](const ServerStatus& s) { return s.bytes_sent >= kSeeds * kDegree * 8; });
  const uint64_t before = StatusOf(served, 0).requests;
  uint64_t refused = 0;
  for (uint64_t i = 0; i < kSlices; i++) {
    answers.add(client.Slice(kDegree)
                    .then([] {},
                          [&](kj::Exception&& exception) {
                            const Error error = FromKj(exception, "daemon");
                            if (error.code() == ErrorCode::kOverloaded) refused++;
                          })
                    .eagerlyEvaluate(nullptr));
  }
  await([&](const ServerStatus& s) { return s.requests >= before + kSlices; });
  relay.deaf = false;
  for (auto& answer : answers) answer.wait(client.io.waitScope);
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, kSlices);
  client.Slice(kDegree).wait(client.io.waitScope);  // succeeds, because the answers were read
}

TEST(Failures, AConnectionCanAttachOnlyOnce) {
  ServedGraphFixture served(Daemons{{0, 1}});
  RawSession client(served.socket_path(0));
  try {
    client.Attach().wait(client.io.waitScope);
    FAIL();
  } catch (const kj::Exception& exception) {
    EXPECT_EQ(FromKj(exception, "daemon").code(), ErrorCode::kExists);
  }
}

TEST(Failures, ATrainerThatGaveUpNoLongerWaitsInTheBarrier) {
  ServedGraphFixture served(Daemons{{0, 1}});
  Options options = served.TrainerOptions(Transport::kAuto, 0, 2);
  options.timeout = std::chrono::seconds(3);
  auto first = Initialize(options);
  for (int i = 0; i < 2; i++) {  // the client may try again
    try {
      first->Barrier();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDeadline) << error.what();
    }
  }
  // The other trainer must not pass alone.
  auto second = Initialize(served.TrainerOptions(Transport::kAuto, 1, 2));
  std::atomic<bool> passed{false};
  std::thread waiter([&] {
    try {
      second->Barrier();
      passed = true;
    } catch (const Error&) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(passed);
  first.reset();  // ends the wait of the other trainer
  waiter.join();
  EXPECT_FALSE(passed);
}

TEST(Failures, ATrainerKilledInTheBarrierLeavesTheJob) {
  ServedGraphFixture served(Daemons{{0, 1}});
  const pid_t child = ::fork();
  if (child == 0) {
    auto session = Initialize(served.TrainerOptions(Transport::kAuto, 0, 2));
    try {
      session->Barrier();
    } catch (const Error&) {
    }
    ::_exit(0);
  }
  auto jobs = [&] {
    return ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(5))
        ->Status()
        .jobs.size();
  };
  const auto wait_for = [&](size_t wanted) {
    for (int i = 0; i < 1000 && jobs() != wanted; i++) ::usleep(5000);
    return jobs();
  };
  EXPECT_EQ(wait_for(1), 1u);
  ::usleep(50000);  // gives the child time to enter the barrier
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(wait_for(0), 0u);
}

TEST(Failures, ManyThreadsSurviveTheRestartOfOneOfTwoDaemons) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  const DistGraph graph(Initialize(served.TrainerOptions(Transport::kTcp)));
  const DistTensor orig = graph.ndata("orig_id");
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, reads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      std::vector<int64_t> ids;
      for (int64_t i = 0; i < 2000; i++) ids.push_back((i * 29 + t) % ServedGraphFixture::kNodes);
      const Tensor expected = orig.Read(ids);
      while (!stop) {
        try {
          const Tensor now = orig.Read(ids);
          wrong += std::memcmp(now.data(), expected.data(), now.num_bytes()) != 0;
          reads++;
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
          return;
        }
      }
    });
  }
  for (int i = 0; i < 3; i++) {
    const int before = reads;
    while (reads < before + 20 && !::testing::Test::HasFailure()) ::usleep(1000);
    served.Restart(1);
  }
  const int before = reads;
  while (reads < before + 20 && !::testing::Test::HasFailure()) ::usleep(1000);
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Failures, BarriersWorkAfterALocalDaemonsRestart) {
  ServedGraphFixture served(Daemons{{0, 1}});
  auto session = Initialize(served.TrainerOptions(Transport::kAuto));
  session->Barrier();
  served.Restart(0);
  session->Barrier();
}

TEST(Failures, OneDaemonMayShareTheMemoryOfManyPartitions) {
  std::vector<int> parts;
  for (int p = 0; p < 12; p++) parts.push_back(p);
  ServedGraphFixture served(Daemons{parts}, 12);
  const DistGraph graph(Initialize(served.TrainerOptions(Transport::kAuto)));
  EXPECT_TRUE(graph.is_mapped(11));
  EXPECT_EQ(graph.ndata("label").Slice(0, graph.num_nodes()).num_rows(), graph.num_nodes());
}

TEST(Failures, PartitionsWithDifferentFeaturesAreRefused) {
  // Makes a copy of the graph in which the second partition has a feature of another name.
  ServedGraphFixture files(Daemons{}, 2);
  ScratchDirectory scratch;
  const std::string dir = scratch / "data";
  std::filesystem::copy(DirName(files.part_config()), dir,
                        std::filesystem::copy_options::recursive);
  const std::string header = dir + "/part1/partition.json";
  std::string text = ReadTextFile(header);
  for (size_t at; (at = text.find("node/0/label")) != std::string::npos;)
    text.replace(at, 12, "node/0/lebal");
  WriteFileAtomically(header, text);
  Options options;
  options.part_config = dir + "/hubs.json";
  try {
    Initialize(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(), HasSubstr("lebal"));
  }
}

TEST(Failures, RanksAndPartitionsOutsideTheJobAreRefused) {
  ServedGraphFixture files(Daemons{});
  for (auto change : std::vector<std::function<void(Options&)>>{
           [](Options& o) { o.rank = 1; }, [](Options& o) { o.world_size = 0; },
           [](Options& o) { o.local_rank = 3; }, [](Options& o) { o.part = 2; }}) {
    Options options = files.StandaloneOptions();
    change(options);
    EXPECT_THROW(Initialize(options), Error);
  }
}

}  // namespace
}  // namespace graphd::testing
