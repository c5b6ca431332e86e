// SPDX-License-Identifier: Apache-2.0
// Tests errors between a client and its daemons, and the messages that report them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

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

// Returns the Error that `f` throws, as "code: message".
template <class F>
std::string ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(ErrorCodeName(error.code())) + ": " + error.what();
  }
  return "no error";
}

TEST(Attach, OneDaemonMayServeSeveralPartitions) {
  ServedGraphFixture served(Daemons{{0, 1}});
  for (Transport transport : {Transport::kAuto, Transport::kTcp}) {
    DistGraph graph(Initialize(served.TrainerOptions(transport)));
    EXPECT_EQ(graph.ndata("label").Slice(0, graph.num_nodes()).num_rows(), graph.num_nodes());
  }
}

TEST(Attach, ErrorsOfTheClientNameTheInvalidValue) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  Options options = served.TrainerOptions(Transport::kTcp);
  options.server_name = "others";
  EXPECT_THAT(ErrorOf([&] { Initialize(options); }), HasSubstr("not_found"));

  auto session = Initialize(served.TrainerOptions(Transport::kTcp));
  EXPECT_THAT(ErrorOf([&] { DistGraph(session, "cora"); }), HasSubstr("'cora'"));
  const DistGraph graph(session);
  EXPECT_THAT(ErrorOf([&] { graph.ndata("nothing"); }), HasSubstr("wide"));
  const std::vector<int64_t> beyond{5, 60000};
  EXPECT_THAT(ErrorOf([&] { graph.ndata("label").Read(beyond); }), HasSubstr("60000"));
  EXPECT_THAT(ErrorOf([&] { SampleNeighbors(graph, beyond, {}); }), HasSubstr("60000"));
  const std::vector<int64_t> negative{-1};
  EXPECT_THAT(ErrorOf([&] { SampleNeighbors(graph, negative, {}); }), HasSubstr("-1"));
  EXPECT_THAT(ErrorOf([&] {
                SampleNeighbors(graph, {}, {-2, false, 0, 0, false});
              }),
              HasSubstr("fanout -2"));
  EXPECT_THAT(ErrorOf([&] { Initialize(served.TrainerOptions(Transport::kTcp)); }),
              HasSubstr("rank 0 of job test is attached already, by "));
}

TEST(Attach, WrongIpConfigsAreExplained) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  Options options = served.TrainerOptions(Transport::kAuto);
  const std::string text = ReadTextFile(served.ip_config());
  ScratchDirectory scratch;
  options.ip_config = scratch / "ip_config.txt";
  WriteFileAtomically(options.ip_config, text.substr(0, text.find('\n') + 1));
  EXPECT_THAT(ErrorOf([&] { Initialize(options); }), HasSubstr("2 partitions"));
  const size_t cut = text.find('\n') + 1;
  WriteFileAtomically(options.ip_config,
                      text.substr(cut) + text.substr(0, cut));  // the lines are swapped
  EXPECT_THAT(ErrorOf([&] { Initialize(options); }), HasSubstr("does not serve partition"));
}

TEST(Attach, AMissingDaemonIsReportedWithinTheTimeout) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  Options options = served.TrainerOptions(Transport::kTcp);
  served.daemon(1).Signal(SIGTERM);
  EXPECT_EQ(served.daemon(1).Wait(), 0);
  options.timeout = std::chrono::milliseconds(300);
  const std::string error = ErrorOf([&] { Initialize(options); });
  EXPECT_THAT(error, HasSubstr("unavailable"));
  EXPECT_THAT(error, HasSubstr("graphctl server start"));
}

TEST(Attach, AMistypedServerNameIsReportedAtOnceWithTheOthers) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  Options options = served.TrainerOptions(Transport::kAuto);
  const std::string right = options.server_name;
  options.server_name += "x";
  options.timeout = std::chrono::minutes(5);
  const auto begin = Clock::now();
  const std::string error = ErrorOf([&] { Initialize(options); });
  EXPECT_LT(SecondsSince(begin), 60);
  EXPECT_THAT(error, HasSubstr("the server's name may be mistyped"));
  EXPECT_THAT(error, HasSubstr("'" + right + "'"));
}

TEST(Attach, CallsSurviveTheRestartOfADaemon) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  const DistGraph graph(Initialize(served.TrainerOptions(Transport::kTcp)));
  const std::vector<int64_t> ids{1, 2, 59000, 30000, 31000, 3};
  const Tensor before = graph.ndata("wide").Read(ids);
  const NeighborSampler sampler({5, 5});
  const MiniBatch batch = sampler.Sample(graph, {ids}, 1);
  served.Restart(1);
  served.Restart(0);
  EXPECT_EQ(sampler.Sample(graph, {ids}, 1).blocks[0].src_nodes, batch.blocks[0].src_nodes);
  const Tensor after = graph.ndata("wide").Read(ids);
  EXPECT_EQ(memcmp(before.data(), after.data(), before.num_bytes()), 0);
}

TEST(Attach, MappedMemorySurvivesItsDaemon) {
  ServedGraphFixture served(Daemons{{0, 1}});
  const DistGraph graph(Initialize(served.TrainerOptions(Transport::kAuto)));
  served.daemon(0).Signal(SIGKILL);
  served.daemon(0).Wait();
  const std::vector<int64_t> ids{1, 59000};
  EXPECT_EQ(graph.ndata("label").Read(ids).num_rows(), 2);
}

TEST(Attach, AnErrorAboutAnotherProtocolNamesBothVersions) {
  ServedGraphFixture served(Daemons{{0, 1}});
  auto io = kj::setupAsyncIo();
  Connection connection(*io.lowLevelProvider, {ConnectUnix(served.socket_path(0), 1000), true},
                        BufferPool::Create());
  auto request = connection.Bootstrap().attachRequest();
  request.initHello().setProtocol(77);
  request.getHello().setVersion("9.9.9");
  try {
    request.send().wait(io.waitScope);
    FAIL();
  } catch (const kj::Exception& exception) {
    const Error error = FromKj(exception, "peer");
    EXPECT_EQ(error.code(), ErrorCode::kVersion);
    EXPECT_THAT(error.what(), HasSubstr("protocol 77"));
    EXPECT_THAT(error.what(), HasSubstr("9.9.9"));
  }
}

TEST(Attach, TheServerChecksEveryRequest) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  auto io = kj::setupAsyncIo();
  Connection connection(*io.lowLevelProvider, {ConnectUnix(served.socket_path(0), 1000), true},
                        BufferPool::Create());
  auto attach = connection.Bootstrap().attachRequest();
  WriteHello(attach.initHello());
  attach.initMember().setWorldSize(1);
  auto session = attach.send().wait(io.waitScope).getSession();
  const auto gather = [&](int32_t part, int32_t type, const char* name, uint32_t id) {
    auto request = session.gatherRequest();
    request.setPart(part);
    request.setType(type);
    request.setName(name);
    request.setIds(kj::arrayPtr(reinterpret_cast<const kj::byte*>(&id), 4));
    try {
      request.send().wait(io.waitScope);
      return std::string("no error");
    } catch (const kj::Exception& exception) {
      return std::string(FromKj(exception, "peer").what());
    }
  };
  EXPECT_EQ(gather(0, 0, "label", 1), "no error");
  EXPECT_THAT(gather(1, 0, "label", 1), HasSubstr("partition 1 is not served here"));
  EXPECT_THAT(gather(0, 7, "label", 1), HasSubstr("type 7"));
  EXPECT_THAT(gather(0, -1, "label", 1), HasSubstr("type -1"));
  EXPECT_THAT(gather(0, 0, "x", 1), HasSubstr("no feature 'x'"));
  EXPECT_THAT(gather(0, 0, "label", 59999), HasSubstr("59999 does not belong to partition 0"));
  EXPECT_THAT(gather(0, 0, "label", UINT32_MAX), HasSubstr("does not belong"));

  const auto hop = [&](uint32_t seed, const std::function<void(wire::SamplingRule::Builder)>& set) {
    auto request = session.hopRequest();
    request.initSeeds(1)[0].setIds(kj::arrayPtr(reinterpret_cast<const kj::byte*>(&seed), 4));
    set(request.initRules(1)[0]);
    try {
      request.send().wait(io.waitScope);
      return std::string("no error");
    } catch (const kj::Exception& exception) {
      const Error error = FromKj(exception, "peer");
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      return std::string(error.what());
    }
  };
  const std::vector<
      std::tuple<uint32_t, std::function<void(wire::SamplingRule::Builder)>, const char*>>
      hops = {
          {1, [](auto rule) { rule.setFanout(3); }, "no error"},
          {59999, [](auto rule) { rule.setFanout(3); }, "59999 does not belong to partition 0"},
          {59999, [](auto rule) { rule.setOutward(true); }, "no error"},
          {60000, [](auto rule) { rule.setOutward(true); }, "60000 is outside"},
          {1, [](auto rule) { rule.setFanout(-2); }, "fanout -2"},
          {1, [](auto rule) { rule.setEtype(1); }, "edge type 1"},
          {1, [](auto rule) { rule.setSeeds(1); }, "list 1 of 1"},
          {1, [](auto rule) { rule.setMethod(99); }, "sampling method 99"},
          {1, [](auto rule) { rule.setMethod(1); }, "needs an edge feature"},
          {1, [](auto rule) { rule.setMethod(1), rule.setColumn("x"); }, "no feature 'x'"},
          {1, [](auto rule) { rule.setMethod(3), rule.setColumn("weight"); }, "times"},
          {1, [](auto rule) { rule.setFanout(INT32_MAX), rule.setReplace(true); }, "fewer seeds"},
          {1, [](auto rule) { rule.initExclude(3); }, "multiple of 4"},
      };
  for (const auto& [seed, set, expected] : hops) EXPECT_THAT(hop(seed, set), HasSubstr(expected));

  // The request repeats 10,000 seeds so often that it asks for 17 million edges.
  auto induced = session.inducedRequest();
  std::vector<uint32_t> members(60000), seeds;
  for (uint32_t id = 0; id < members.size(); id++) members[id] = id;
  for (int i = 0; i < 120; i++) seeds.insert(seeds.end(), members.begin(), members.begin() + 10000);
  const auto bytes = [](const std::vector<uint32_t>& ids) {
    return kj::arrayPtr(reinterpret_cast<const kj::byte*>(ids.data()), 4 * ids.size());
  };
  induced.setSeeds(bytes(seeds));
  induced.setMembers(bytes(members));
  try {
    induced.send().wait(io.waitScope);
    ADD_FAILURE() << "no error";
  } catch (const kj::Exception& exception) {
    EXPECT_THAT(FromKj(exception, "peer").what(), HasSubstr("ask for fewer nodes"));
  }
  auto slice = session.sliceRequest();
  slice.setName("label");
  slice.setBegin(1);
  slice.setCount(INT64_MAX);
  EXPECT_THROW(slice.send().wait(io.waitScope), kj::Exception);
  EXPECT_EQ(gather(0, 0, "label", 1), "no error");  // the connection still works
}

TEST(Attach, AMessageThatClaimsAHugeSizeEndsOnlyItsConnection) {
  ServedGraphFixture served(Daemons{{0, 1}});
  UniqueFd liar = ConnectUnix(served.socket_path(0), 1000);
  const uint32_t head[2] = {0, 0xfffffff0};  // one segment of 32 GiB
  WriteExactly(liar.get(), std::as_bytes(std::span(head)), "socket");
  char byte;
  pollfd wait{liar.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 5000), 1);
  // The daemon may send the reason (an abort message) before it closes the connection.
  while (::read(liar.get(), &byte, 1) == 1) {
  }
  auto control = ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(5));
  const ServerStatus status = control->Status();
  EXPECT_EQ(status.state, "ready");
  EXPECT_LT(status.rss_bytes, uint64_t{1} << 30);
}

TEST(Attach, StatusListsPartitionsAndJobs) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  auto session = Initialize(served.TrainerOptions(Transport::kAuto));
  auto control = ControlClient::ConnectUnix(served.socket_path(1), std::chrono::seconds(5));
  const ServerStatus status = control->Status();
  EXPECT_EQ(status.server_name, "hubs");
  EXPECT_EQ(status.num_parts, 2);
  ASSERT_EQ(status.partitions.size(), 1u);
  EXPECT_EQ(status.partitions[0].part, 1);
  EXPECT_GT(status.partitions[0].bytes, 10u << 20);
  EXPECT_THAT(status.partitions[0].pages, HasSubstr("iB"));
  ASSERT_EQ(status.jobs.size(), 1u);
  EXPECT_EQ(status.jobs[0].job_id, "test");
  ASSERT_EQ(status.jobs[0].members.size(), 1u);
  EXPECT_EQ(status.jobs[0].members[0].pid, ::getpid());
  EXPECT_THAT(ErrorOf([&] { control->Shutdown(false); }), HasSubstr("1 job is attached ("));
  session.reset();
}

}  // namespace
}  // namespace graphd::testing
