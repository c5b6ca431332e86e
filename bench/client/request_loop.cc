// SPDX-License-Identifier: Apache-2.0
// Sends requests of one kind to a daemon, one after another, and prints the seconds that a request
// took. The client is a process of its own, so that bench/guard can count the instructions of the
// daemon and of the client without those that make the graph.
//
// usage: request_loop hop|rows|push SIZE unix|tcp REQUESTS
//   SIZE  seed nodes of a hop of fanout 10, rows of 100 floats that are read, or rows of 128 floats
//         that are pushed
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bench/support/bench_graph.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"
#include "graphd/sampling.h"

namespace graphd::bench {
namespace {

constexpr int64_t kNodes = 20'000, kDegree = 20, kColumns = 100;
constexpr int64_t kRows = 20'000, kDim = 128;

// Returns a function that sends a request with these ids.
std::function<void(const std::vector<int64_t>& ids)> RequestOf(std::string_view kind,
                                                               const DistGraph& graph) {
  if (kind == "hop") {
    return [&graph, seed = uint64_t{0}](const std::vector<int64_t>& ids) mutable {
      SampleNeighbors(graph, ids, {10, false, seed++, 0, false});
    };
  }
  if (kind == "rows") {
    return [&graph](const std::vector<int64_t>& ids) { graph.ndata("feat").Read(ids); };
  }
  return
      [sums = DistTensor::Create(graph, SumsSpec(kRows, kDim))](const std::vector<int64_t>& ids) {
        Tensor changes = Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(ids.size()), kDim});
        std::ranges::fill(changes.as<float>(), 0.01F);
        sums.Add(ids, changes);
      };
}

void SendRequests(std::string_view kind, size_t size, const Options& options, int requests) {
  const DistGraph graph(Initialize(options));
  const auto send = RequestOf(kind, graph);
  const auto start = Clock::now();
  for (int i = 0; i < requests; i++) {
    send(RandomIds(size, kNodes, static_cast<uint64_t>(i) + 1));
  }
  std::printf("%.9f\n", SecondsSince(start) / requests);
}

// Runs the same program as a client of the daemon, and returns its exit status.
int RunClient(char** argv, std::string ip_config) {
  const pid_t client = ::fork();
  if (client == 0) {
    char* const words[] = {argv[0], argv[1], argv[2], argv[3], argv[4], ip_config.data(), nullptr};
    ::execv(argv[0], words);
    ::_exit(127);
  }
  int status = 1;
  if (client < 0 || ::waitpid(client, &status, 0) != client) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int Main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "", transport = argc > 3 ? argv[3] : "";
  const int size = argc > 2 ? std::atoi(argv[2]) : 0, requests = argc > 4 ? std::atoi(argv[4]) : 0;
  const bool is_client = argc == 6;  // the last argument is the ip_config file
  if ((argc != 5 && !is_client) || (kind != "hop" && kind != "rows" && kind != "push") ||
      (transport != "unix" && transport != "tcp") || size <= 0 || requests <= 0) {
    std::fprintf(stderr, "usage: request_loop hop|rows|push SIZE unix|tcp REQUESTS\n");
    return 2;
  }
  if (!is_client) {
    const ServedGraph served(kNodes, kDegree, kColumns);
    return RunClient(argv, served.ClientOptions(Transport::kUnix).ip_config);
  }
  Options options;
  options.server_name = "bench";
  options.ip_config = argv[5];
  options.transport = transport == "unix" ? Transport::kUnix : Transport::kTcp;
  SendRequests(kind, static_cast<size_t>(size), options, requests);
  return 0;
}

}  // namespace
}  // namespace graphd::bench

int main(int argc, char** argv) { return graphd::bench::Main(argc, argv); }
