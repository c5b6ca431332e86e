// SPDX-License-Identifier: Apache-2.0
// A greedy job of the chaos test: its threads push changes to all rows of a tensor as fast as the
// daemons take them, until the process is killed, and print "pushed" after each change. Errors are
// expected, because daemons are killed, stopped and cut off meanwhile.
//
//   chaos_pusher NAME
//
// The environment names the daemons and the job as for any trainer.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/error.h"
#include "graphd/tensor.h"

namespace graphd {
namespace {

constexpr int64_t kDim = 128;
constexpr int kThreads = 4;
constexpr auto kPauseAfterErrors = std::chrono::milliseconds(20);

// Calls f until it succeeds.
template <class F>
auto Repeat(F&& f) {
  for (;;) {
    try {
      return f();
    } catch (const Error&) {
      std::this_thread::sleep_for(kPauseAfterErrors);
    }
  }
}

void PushForEver(const std::string& name) {
  const DistGraph graph = Repeat([] { return DistGraph(Initialize()); });
  TensorSpec spec;
  spec.name = name;
  spec.row_shape = {kDim};
  const DistTensor tensor = Repeat([&] { return DistTensor::Create(graph, spec); });
  std::vector<int64_t> ids(static_cast<size_t>(graph.num_nodes()));
  std::iota(ids.begin(), ids.end(), 0);
  Tensor changes = Tensor::Empty(DType::kFloat32, {graph.num_nodes(), kDim});
  std::ranges::fill(changes.as<float>(), 1.0F);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&] {
      for (;;) {
        Repeat([&] { tensor.Add(ids, changes); });
        std::puts("pushed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace graphd

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: chaos_pusher NAME\n", stderr);
    return 2;
  }
  ::setlinebuf(stdout);
  graphd::PushForEver(argv[1]);
}
