// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>

#include "graphd/dist_graph.h"
#include "graphd/initialize.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using Daemons = std::vector<std::vector<int>>;

// Runs f in a forked child. Returns its exit code: 0 if f returned true; -1 if it hung.
int InChild(const std::function<bool()>& f) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(f() ? 0 : 1);
  int status = 0;
  for (int i = 0; i < 6000; i++) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    ::usleep(5000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return -1;
}

bool IsRefused(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kInvalid &&
           std::string(error.what()).find("graphd::Initialize") != std::string::npos;
  }
  return false;
}

class Fork : public ::testing::TestWithParam<Transport> {};

TEST_P(Fork, AChildCanOnlyDestroyWhatItInherits) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  auto graph = std::make_unique<DistGraph>(Initialize(served.TrainerOptions(GetParam())));
  const std::vector<int64_t> ids{0, 1, 2};
  const Tensor before = graph->ndata("orig_id").Read(ids);
  EXPECT_EQ(InChild([&] { return IsRefused([&] { graph->ndata("orig_id").Read(ids); }); }), 0);
  EXPECT_EQ(InChild([&] { return IsRefused([&] { graph->Barrier(); }); }), 0);
  EXPECT_EQ(InChild([&] {
              graph = nullptr;
              return true;
            }),
            0);
  const Tensor after = graph->ndata("orig_id").Read(ids);
  EXPECT_EQ(std::memcmp(before.data(), after.data(), before.num_bytes()), 0);
}

#ifndef __SANITIZE_THREAD__  // ThreadSanitizer ends a forked child that starts threads
TEST_P(Fork, AChildMayInitialize) {
  ServedGraphFixture served(Daemons{{0}, {1}});
  const Options options = served.TrainerOptions(GetParam());
  const DistGraph graph(Initialize(options));
  const std::vector<int64_t> ids{0, 1, 2};
  const Tensor before = graph.ndata("orig_id").Read(ids);
  EXPECT_EQ(InChild([&] {
              Options mine = options;
              mine.is_worker = true;
              const DistGraph own(Initialize(mine));
              const Tensor rows = own.ndata("orig_id").Read(ids);
              return std::memcmp(before.data(), rows.data(), rows.num_bytes()) == 0;
            }),
            0);
  const Tensor after = graph.ndata("orig_id").Read(ids);
  EXPECT_EQ(std::memcmp(before.data(), after.data(), before.num_bytes()), 0);
}
#endif

INSTANTIATE_TEST_SUITE_P(Transports, Fork, ::testing::Values(Transport::kAuto, Transport::kTcp));

}  // namespace
}  // namespace graphd::testing
