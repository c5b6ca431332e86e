// SPDX-License-Identifier: Apache-2.0
// Tests attaching to daemons whose partition book has an owner for each node: the owners come in
// shared memory, or in pieces that other clients' calls do not wait for.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "client/checkpoints/client.h"
#include "client/link/control.h"
#include "client/link/daemon_link.h"
#include "format/load_part_config.h"
#include "graphd/dist_graph.h"
#include "tests/support/mapped_nodes.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

// Reading a book of 100 million ids takes longer than a fixture waits.
void WaitUntilReady(ServedGraphFixture& served) {
  for (int i = 0;; i++) {
    try {
      ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(60))->Status();
      return;
    } catch (const Error&) {
      if (i == 6000) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

constexpr int64_t kNodes = 1'500'000;  // three pieces

// A ring of a few of many nodes, in two partitions that are served by a daemon each.
class LargeMappedBook : public ::testing::Test {
 protected:
  LargeMappedBook() {
    const auto config = LoadPartConfig(served_.part_config());
    for (int64_t id = 0; id < kNodes; id++) {
      owners_.push_back(config.meta->book.nodes().Owner(NodeTypeId(0), id));
    }
    for (const size_t daemon : {0, 1}) served_.Kill(daemon);
    MapNodes(served_.part_config(), owners_);
    for (const size_t daemon : {0, 1}) {
      served_.StartAgain(daemon);
      served_.daemon(daemon).WaitReady(served_.socket_path(daemon));
    }
  }
  static RawGraph Ring() {
    EdgeList edges;
    for (uint32_t v = 0; v < 1000; v++) edges.push_back({v, (v + 1) % 1000});
    return HomogeneousGraph(kNodes, edges);
  }
  void ExpectOwners(const DistGraph& graph) const {
    const auto owners = graph.partition_book().nodes().owners();
    ASSERT_TRUE(std::equal(owners.begin(), owners.end(), owners_.begin(), owners_.end()));
  }

  ServedGraphFixture served_{Ring(), {{0}, {1}}, 2};
  std::vector<int32_t> owners_;
};

TEST_F(LargeMappedBook, IsSharedOrReadInPieces) {
  for (const Transport transport : {Transport::kAuto, Transport::kUnix, Transport::kTcp}) {
    const DistGraph graph(Initialize(served_.TrainerOptions(transport)));
    ExpectOwners(graph);
    // An edge is found where its destination is.
    const auto in_all = [&] {
      int64_t edges = 0;
      for (int64_t v = 0; v < kNodes; v += kNodes / 100) {
        const std::vector<int64_t> ids{v};
        edges += graph.InDegrees(ids)[0];
      }
      return edges;
    };
    const int64_t before = in_all();
    served_.Restart(0);
    EXPECT_EQ(in_all(), before);
  }
}

TEST_F(LargeMappedBook, CheckpointsReadItToo) {
  for (const Transport transport : {Transport::kUnix, Transport::kTcp}) {
    CheckpointClient client(served_.TrainerOptions(transport));
    EXPECT_TRUE(client.List().empty());
  }
}

// Attaches to one daemon whose partition has few of very many nodes, by each transport, while
// another client of the daemon's only data thread measures how long its calls take.
// GRAPHD_BOOK_IDS sets the number of nodes; more than 104,857,600 don't fit one message.
TEST(VeryLargeMappedBook, IsAttachedToWhileOtherCallsAreAnswered) {
  const char* const wanted = std::getenv("GRAPHD_BOOK_IDS");
  const auto nodes = static_cast<size_t>(wanted != nullptr ? std::stoll(wanted) : 4'000'000);
  ServedGraphFixture served(HomogeneousGraph(1000, {{1, 2}, {2, 3}}), {{0}}, 2,
                            {"--data_threads", "1"});
  {
    std::vector<int32_t> owners(nodes, 1);
    const auto config = LoadPartConfig(served.part_config());
    for (int64_t id = 0; id < 1000; id++) {
      owners[static_cast<size_t>(id)] = config.meta->book.nodes().Owner(NodeTypeId(0), id);
    }
    served.Kill(0);
    MapNodes(served.part_config(), owners);
    served.StartAgain(0);
  }
  WaitUntilReady(served);
  const auto control = ControlClient::ConnectUnix(served.socket_path(0), std::chrono::seconds(60));
  for (const Transport transport : {Transport::kAuto, Transport::kTcp}) {
    const Options options = served.TrainerOptions(transport);
    std::atomic<bool> done = false;
    double seconds = 0;
    int64_t total = 0;
    std::thread trainer([&] {
      const auto start = Clock::now();
      DaemonLink link(std::make_shared<RpcThread>(), BufferPool::Create(),
                      std::make_shared<Traffic>(), options,
                      DaemonsOf(ReadIpConfig(options.ip_config))[0]);
      total = link.Attach().meta->book.nodes().count_in(1);
      seconds = SecondsSince(start);
      done = true;
    });
    int answers = 0;
    double longest = 0;
    while (!done) {
      const auto start = Clock::now();
      control->Status();
      longest = std::max(longest, SecondsSince(start));
      answers++;
    }
    trainer.join();
    EXPECT_GT(total, static_cast<int64_t>(nodes) - 1000);
    EXPECT_GT(answers, 1);
    EXPECT_LT(longest, 5);  // on a busy machine; without other work it is milliseconds
    std::cout << nodes << " ids, " << (transport == Transport::kTcp ? "TCP" : "shared memory")
              << ": attached in " << seconds << " s; the longest of " << answers
              << " other calls took " << longest * 1000 << " ms\n";
  }
}

}  // namespace
}  // namespace graphd::testing
