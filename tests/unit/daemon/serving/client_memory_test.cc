// SPDX-License-Identifier: Apache-2.0
// Tests of what clients that have attached can make a real daemon keep.
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "graphd/dist_graph.h"
#include "tests/support/raw_client.h"
#include "tests/support/sanitizers.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/status.h"

namespace graphd::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// The growth of the daemon that the tests allow for the 128 MiB of --peer_memory.
constexpr uint64_t kMostGrowth = (kSanitized ? 6 : 1) * 128 * kMiB;
constexpr int64_t kNodes = 60000;
constexpr uint16_t kHopMethod = 0, kSliceMethod = 2, kCheckpointsMethod = 20;

// Asks for an edge of each of the first nodes, once for each rule.
void FillHop(uint32_t seeds, uint32_t rules, wire::Session::HopParams::Builder hop) {
  auto ids = hop.initSeeds(1)[0].initIds(seeds * sizeof(uint32_t));
  for (uint32_t i = 0; i < seeds; i++) std::memcpy(ids.begin() + i * sizeof i, &i, sizeof i);
  for (auto rule : hop.initRules(rules)) {
    rule.setFanout(1);
    rule.setEdgeIds(true);
  }
}

// A client that writes messages of the protocol, and reads answers only when it wants to.
class SilentClient {
 public:
  SilentClient(const std::string& socket, const std::string& job)
      : fd_(ConnectUnix(socket, 20000)) {
    Write([](capnp::rpc::Message::Builder message) { message.initBootstrap().setQuestionId(0); });
    Write([&](capnp::rpc::Message::Builder message) {
      auto call = message.initCall();
      call.setQuestionId(1);
      call.initTarget().initPromisedAnswer().setQuestionId(0);
      call.setInterfaceId(capnp::typeId<wire::Daemon>());
      call.setMethodId(0);
      auto params = call.initParams().getContent().initAs<wire::Daemon::AttachParams>();
      WriteHello(params.initHello());
      JobMember member;
      member.job_id = job;
      member.role = JobRole::kLauncher;
      WriteMember(member, params.initMember());
    });
    ReadSome();  // attached
  }

  // Writes a message; returns false if the daemon stops reading for two seconds.
  bool Write(const std::function<void(capnp::rpc::Message::Builder)>& fill) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<capnp::rpc::Message>());
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    return WriteBytes(bytes.begin(), bytes.size());
  }
  bool WriteBytes(const void* data, size_t size) {
    for (size_t at = 0; at < size;) {
      const ssize_t written =
          ::send(fd_.get(), static_cast<const char*>(data) + at, size - at, MSG_NOSIGNAL);
      if (written > 0) {
        at += static_cast<size_t>(written);
        continue;
      }
      if (written < 0 && errno != EAGAIN) return false;
      pollfd room{fd_.get(), POLLOUT, 0};
      if (::poll(&room, 1, 2000) == 0) return false;
    }
    return true;
  }
  // Calls a method of the session without waiting for answers.
  template <class Params>
  bool Call(uint16_t method, const std::function<void(typename Params::Builder)>& fill) {
    return Write([&](capnp::rpc::Message::Builder message) {
      auto call = message.initCall();
      call.setQuestionId(next_question_++);
      auto target = call.initTarget().initPromisedAnswer();
      target.setQuestionId(1);
      target.initTransform(1)[0].setGetPointerField(3);  // AttachResults.session
      call.setInterfaceId(capnp::typeId<wire::Session>());
      call.setMethodId(method);
      fill(call.initParams().getContent().initAs<Params>());
    });
  }
  bool AskForRows(int64_t count, const std::string& name = "feat") {
    return Call<wire::Session::SliceParams>(kSliceMethod, [&](auto params) {
      params.setName(name);
      params.setCount(count);
    });
  }
  // Reads what there is, after waiting for it. Returns an empty text at the end of the connection.
  std::string ReadSome() {
    pollfd wait{fd_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, 20000), 1);
    std::string bytes(1 << 16, '\0');
    const ssize_t got = ::read(fd_.get(), bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  // Returns whether the daemon closes the connection within `seconds`; reads nothing.
  bool IsClosedWithin(int seconds) const {
    pollfd wait{fd_.get(), 0, 0};
    return ::poll(&wait, 1, seconds * 1000) == 1 && (wait.revents & POLLHUP) != 0;
  }
  // Reads until the daemon closes the connection.
  std::string ReadToEnd() {
    std::string all;
    for (std::string some = ReadSome(); !some.empty(); some = ReadSome()) {
      all = all.substr(all.size() > 4096 ? all.size() - 4096 : 0) + some;
    }
    return all;
  }

 private:
  UniqueFd fd_;
  uint32_t next_question_ = 2;
};

class ClientMemory : public ::testing::Test {
 protected:
  explicit ClientMemory(std::vector<std::string> options = {}, const std::string& memory = "128MiB")
      : served_(
            [] {
              EdgeList edges;
              for (uint32_t v = 0; v < kNodes; v++)
                edges.push_back({v, (v + 1) % uint32_t{kNodes}});
              return HomogeneousGraph(kNodes, edges);
            }(),
            {{0}}, 1,
            [&] {
              options.insert(options.end(), {"--peer_memory", memory});
              return options;
            }()) {}
  uint64_t ResidentBytes() {
    std::ifstream statm(StrCat("/proc/", served_.daemon(0).pid(), "/statm"));
    uint64_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  std::unique_ptr<SilentClient> Attach(const std::string& job) {
    return std::make_unique<SilentClient>(served_.socket_path(0), job);
  }
  // Reads rows as an ordinary trainer does.
  void ReadAsATrainer() {
    const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kTcp)));
    std::vector<int64_t> ids(10000);
    std::iota(ids.begin(), ids.end(), 0);
    EXPECT_EQ(graph.ndata("feat").Read(ids).num_rows(), 10000);
  }
  // Waits until the daemon's memory is at most `bytes`.
  void ExpectSoonAtMost(uint64_t bytes) {
    const auto start = Clock::now();
    while (ResidentBytes() > bytes && SecondsSince(start) < 60) ::usleep(200'000);
    EXPECT_LE(ResidentBytes() / kMiB, bytes / kMiB);
  }

  ServedGraphFixture served_;
};

class HopMemory : public ClientMemory {
 protected:
  HopMemory() : ClientMemory({}, "1GiB") {}
};

TEST_F(ClientMemory, MessagesThatNeverEndAreBoundedAndTheirMemoryIsGivenBack) {
  ReadAsATrainer();
  const uint64_t before = ResidentBytes();
  {
    std::vector<std::unique_ptr<SilentClient>> clients;
    const std::vector<char> zeros(10 * kMiB);
    for (int i = 0; i < 10; i++) {
      clients.push_back(Attach(StrCat("greedy ", i)));
      const uint32_t head[2] = {0, 12 << 17};  // one segment of 12 MiB
      ASSERT_TRUE(clients.back()->WriteBytes(head, sizeof head));
      clients.back()->WriteBytes(zeros.data(), zeros.size());
    }
    EXPECT_LT(ResidentBytes(), before + kMostGrowth);
    EXPECT_GT(ResidentBytes(), before + 32 * kMiB) << "the first of them are received";
    ReadAsATrainer();
  }
  ExpectSoonAtMost(before + 24 * kMiB);
}

TEST_F(ClientMemory, AMessageThatNeverFitsIsRefusedWithTheReason) {
  const auto client = Attach("greedy");
  const uint32_t head[2] = {0, 100 << 17};
  ASSERT_TRUE(client->WriteBytes(head, sizeof head));
  EXPECT_THAT(client->ReadToEnd(), ::testing::HasSubstr("--peer_memory"));
}

TEST_F(ClientMemory, AnswersThatNobodyReadsAreBoundedAndTheirMemoryIsGivenBack) {
  ReadAsATrainer();
  const uint64_t before = ResidentBytes();
  {
    std::vector<std::unique_ptr<SilentClient>> clients;
    for (int i = 0; i < 4; i++) {
      clients.push_back(Attach(StrCat("greedy ", i)));
      for (int call = 0; call < 500 && clients.back()->AskForRows(kNodes); call++) {
      }
    }
    EXPECT_LT(ResidentBytes(), before + kMostGrowth);
    ReadAsATrainer();
  }
  ExpectSoonAtMost(before + 24 * kMiB);
}

TEST_F(ClientMemory, AnswersOfManySmallArraysThatNobodyReadsAreBounded) {
  ReadAsATrainer();
  const uint64_t before = ResidentBytes();
  const auto client = Attach("greedy");
  const auto ask = [&client] {
    return client->Call<wire::Session::HopParams>(kHopMethod,
                                                  [](auto hop) { FillHop(4000, 120, hop); });
  };
  for (int call = 0; call < 60 && ask(); call++) {
    ::usleep(50'000);
  }
  ReadAsATrainer();
  EXPECT_LT(ResidentBytes(), before + kMostGrowth);
}

// Large arrays and, if there are many, small ones are segments of the message.
TEST_F(HopMemory, AHopWithHundredsOfRulesIsAnswered) {
  constexpr uint32_t kRules = 300;
  RawClient client(served_.socket_path(0), "wide");
  for (const uint32_t seeds : {5000u, 1000u}) {
    auto request = client.session().hopRequest();
    FillHop(seeds, kRules, request);
    const auto answer =
        client.Wait(request.send().then([](auto&& response) { return std::move(response); }));
    const auto samples = answer.getSamples();
    ASSERT_EQ(samples.size(), kRules);
    for (const auto sample : samples) {
      ASSERT_EQ(sample.getCounts().size(), seeds);
      ASSERT_EQ(sample.getNeighbors().size(), seeds * sizeof(uint32_t));
      const auto edges = sample.getEdges();
      ASSERT_EQ(edges.size(), seeds * sizeof(uint32_t));
      // Each node has one edge, and edges are numbered by destination.
      for (uint32_t i = 0; i < seeds; i++) {
        uint32_t edge = 0;
        std::memcpy(&edge, edges.begin() + i * sizeof edge, sizeof edge);
        ASSERT_EQ(edge, i);
      }
    }
  }
}

TEST_F(ClientMemory, ErrorsAboutLongNamesThatNobodyReadsAreBounded) {
  ReadAsATrainer();
  const uint64_t before = ResidentBytes();
  const std::string name(8 * kMiB, 'n');
  std::vector<std::unique_ptr<SilentClient>> clients;
  for (int i = 0; i < 4; i++) {
    clients.push_back(Attach(StrCat("greedy ", i)));
    for (int call = 0; call < 40 && clients.back()->AskForRows(0, name); call++) {
    }
  }
  ReadAsATrainer();
  EXPECT_LT(ResidentBytes(), before + kMostGrowth);
}

TEST_F(ClientMemory, CallsThatAreNeverFinishedCloseTheConnection) {
  const auto client = Attach("greedy");
  std::string answers;
  for (int round = 0; round < 1000 && answers.find("Finish") == std::string::npos; round++) {
    bool open = true;
    for (int i = 0; open && i < 200; i++) open = client->AskForRows(0);
    const std::string some = client->ReadSome();
    if (some.empty()) break;
    answers = answers.substr(answers.size() > 4096 ? answers.size() - 4096 : 0) + some;
  }
  EXPECT_THAT(answers, ::testing::HasSubstr("calls that it has not finished"));
}

TEST_F(ClientMemory, HandlesThatAreNeverReleasedAreLimitedByANamedError) {
  const auto client = Attach("greedy");
  std::string answers;
  for (int round = 0; round < 1000 && answers.find("handles of") == std::string::npos; round++) {
    bool open = true;
    for (int i = 0; open && i < 100; i++) {
      open = client->Call<wire::Session::CheckpointsParams>(kCheckpointsMethod, [](auto) {});
    }
    const std::string some = client->ReadSome();
    ASSERT_FALSE(some.empty()) << "the connection stays open";
    answers = answers.substr(answers.size() > 4096 ? answers.size() - 4096 : 0) + some;
  }
  EXPECT_THAT(answers, ::testing::HasSubstr("overloaded] this client holds 8192 handles"));
  ReadAsATrainer();
}

class WriteTimeout : public ClientMemory {
 protected:
  WriteTimeout() : ClientMemory({"--write_timeout", "2"}) {}
};

TEST_F(WriteTimeout, AClientThatReadsNoAnswerIsDisconnectedAndItsMemoryIsGivenBack) {
  ReadAsATrainer();
  const uint64_t before = ResidentBytes();
  const auto idle = Attach("idle");
  const auto client = Attach("greedy");
  for (int call = 0; call < 500 && client->AskForRows(kNodes); call++) {
  }
  EXPECT_GT(ResidentBytes(), before + 8 * kMiB) << "answers wait";
  EXPECT_TRUE(client->IsClosedWithin(30));
  EXPECT_FALSE(idle->IsClosedWithin(4)) << "no answer waits for this client";
  ReadAsATrainer();
  ExpectSoonAtMost(before + 24 * kMiB);
}

}  // namespace
}  // namespace graphd::testing
