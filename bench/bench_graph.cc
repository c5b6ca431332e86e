// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_graph.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/rng.h"
#include "base/strings.h"
#include "client/control.h"
#include "client/graph_access.h"
#include "format/partitioner.h"
#include "wire/ip_config.h"

namespace graphd::bench {
namespace {

constexpr uint16_t kPort = 31950;

std::shared_ptr<const GraphMeta> MetaOf(int64_t nodes, int64_t edges) {
  auto meta = std::make_shared<GraphMeta>();
  meta->graph_name = "random";
  meta->schema = Schema::Homogeneous();
  meta->book = PartitionBook(IdMap::FromRanges("node", {{{0, nodes}}}),
                             IdMap::FromRanges("edge", {{{0, edges}}}));
  meta->part_method = "random";
  return meta;
}

template <class T>
Tensor RandomTensor(std::vector<int64_t> shape, uint64_t below, uint64_t seed) {
  Tensor tensor = Tensor::Empty(DTypeOf<T>(), std::move(shape));
  CounterRng random(seed);
  for (T& value : tensor.as<T>()) value = static_cast<T>(random.Below(below));
  return tensor;
}

class LocalSession final : public Session {
 public:
  explicit LocalSession(std::shared_ptr<GraphAccess> access)
      : Session(Options()), access_(std::move(access)) {}
  void Barrier() override {}
  const std::shared_ptr<GraphAccess>& access() const noexcept override { return access_; }

 private:
  std::shared_ptr<GraphAccess> access_;
};

}  // namespace

std::shared_ptr<const Partition> RandomPartition(int64_t nodes, int64_t degree, int64_t columns) {
  SegmentLayout layout;
  layout.Add(Partition::IndptrName(0), DType::kUInt64, {nodes + 1});
  layout.Add(Partition::IndicesName(0), DType::kUInt32, {nodes * degree});
  if (columns) layout.Add(Partition::NodeFeatureName(0, "feat"), DType::kFloat32, {nodes, columns});
  SegmentWriter writer("bench", std::move(layout));
  auto indptr = writer.array<uint64_t>(Partition::IndptrName(0));
  for (size_t i = 0; i < indptr.size(); i++) indptr[i] = i * static_cast<uint64_t>(degree);
  CounterRng random(3);
  for (uint32_t& source : writer.array<uint32_t>(Partition::IndicesName(0))) {
    source = static_cast<uint32_t>(random.Below(static_cast<uint64_t>(nodes)));
  }
  std::vector<std::shared_ptr<const Segment>> segments{std::move(writer).Seal()};
  return std::make_shared<const Partition>(MetaOf(nodes, nodes * degree), 0, std::move(segments));
}

DistGraph LocalGraph(std::shared_ptr<const Partition> partition) {
  const Schema& schema = partition->meta().schema;
  const std::vector<std::vector<FeatureInfo>> of_nodes(static_cast<size_t>(schema.num_ntypes()));
  const std::vector<std::vector<FeatureInfo>> of_edges(static_cast<size_t>(schema.num_etypes()));
  return DistGraph(std::make_shared<LocalSession>(std::make_shared<GraphAccess>(
      partition->shared_meta(), of_nodes, of_edges, std::vector{partition},
      std::vector<std::shared_ptr<DaemonLink>>(1), std::make_shared<Traffic>(),
      std::chrono::seconds(1))));
}

ServedGraph::ServedGraph(int64_t nodes, int64_t degree, int64_t columns) {
  std::string pattern = (std::filesystem::temp_directory_path() / "graphd-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) ThrowErrno("can't make", pattern);
  directory_ = pattern;
  const auto limit = static_cast<uint64_t>(nodes);
  RawGraph graph{Schema::Homogeneous(), std::vector<RawNodes>(1), std::vector<RawEdges>(1)};
  graph.nodes[0].count = nodes;
  graph.nodes[0].features.push_back({"feat", RandomTensor<float>({nodes, columns}, 1000, 1)});
  graph.edges[0].src = RandomTensor<uint32_t>({nodes * degree}, limit, 2);
  graph.edges[0].dst = RandomTensor<uint32_t>({nodes * degree}, limit, 3);
  PartitionOptions options;
  options.graph_name = "random";
  options.num_parts = 1;
  options.method = PartMethod::kRandom;
  options.output = directory_ + "/data";
  const std::string config = PartitionGraph(graph, options).part_config;
  ip_config_ = directory_ + "/ip_config.txt";
  WriteFileAtomically(ip_config_, StrCat("127.0.0.1 ", kPort, "\n"));
  const std::string run = directory_ + "/run", listen = StrCat("127.0.0.1:", kPort);
  ::setenv("GRAPHD_RUNTIME_DIR", run.c_str(), 1);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl(GRAPHD_BIN_DIR "/graphd", "graphd", "--server_name", "bench", "--part_config",
            config.c_str(), "--part_id", "0", "--listen", listen.c_str(), "--log_level", "warning",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const std::string socket = SocketPath(run, "bench", kPort);
  for (int i = 0;; i++) {
    try {
      ControlClient::ConnectUnix(socket, std::chrono::seconds(5))->Status();
      return;
    } catch (const Error&) {
      if (i == 2000) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

ServedGraph::~ServedGraph() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(directory_);
}

Options ServedGraph::ClientOptions(Transport transport) const {
  Options options;
  options.server_name = "bench";
  options.ip_config = ip_config_;
  options.transport = transport;
  return options;
}

}  // namespace graphd::bench
