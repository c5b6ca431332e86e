// SPDX-License-Identifier: Apache-2.0
#include "bench/support/bench_graph.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <thread>

#include "base/file.h"
#include "base/rng.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "client/routing/graph_access.h"
#include "format/partitioner.h"
#include "wire/ip_config.h"

namespace graphd::bench {
namespace {

constexpr uint16_t kPort = 31950;

std::shared_ptr<const GraphMeta> MetaOf(const Shape& shape) {
  std::vector<std::string> ntypes;
  std::vector<CanonicalEdgeType> etypes;
  std::vector<std::vector<IdMap::Range>> nodes, edges;
  for (NodeTypeId t = 0; t < shape.ntypes; t++) {
    ntypes.push_back(StrCat("node", t));
    nodes.push_back({{t * shape.nodes, (t + 1) * shape.nodes}});
  }
  const auto count = static_cast<int64_t>(shape.etype_edges());
  for (EdgeTypeId e = 0; e < shape.etypes; e++) {
    etypes.push_back({ntypes[static_cast<size_t>(e % shape.ntypes)], StrCat("edge", e),
                      ntypes[static_cast<size_t>(e / shape.ntypes % shape.ntypes)]});
    edges.push_back({{e * count, (e + 1) * count}});
  }
  auto meta = std::make_shared<GraphMeta>();
  meta->graph_name = "random";
  meta->schema = shape.etypes == 1 ? Schema::Homogeneous() : Schema(ntypes, etypes);
  meta->book = PartitionBook(IdMap::FromRanges("node", nodes), IdMap::FromRanges("edge", edges));
  meta->part_method = "random";
  return meta;
}

std::shared_ptr<const Partition> RandomPartition(const Shape& shape) {
  const auto edges = static_cast<int64_t>(shape.etype_edges());
  SegmentLayout layout;
  for (EdgeTypeId e = 0; e < shape.etypes; e++) {
    layout.Add(Partition::IndptrName(e), DType::kUInt64, {shape.nodes + 1});
    layout.Add(Partition::IndicesName(e), DType::kUInt32, {edges});
    if (shape.weights) {
      layout.Add(Partition::EdgeFeatureName(e, "weight"), DType::kFloat32, {edges});
    }
  }
  SegmentWriter writer("bench", std::move(layout));
  CounterRng random(3);
  for (EdgeTypeId e = 0; e < shape.etypes; e++) {
    const auto degree = static_cast<uint64_t>(shape.degree);
    auto indptr = writer.array<uint64_t>(Partition::IndptrName(e));
    for (size_t i = 0; i < indptr.size(); i++) {
      indptr[i] = std::min(i * degree, static_cast<uint64_t>(edges));
    }
    for (uint32_t& source : writer.array<uint32_t>(Partition::IndicesName(e))) {
      source = static_cast<uint32_t>(random.Below(static_cast<uint64_t>(shape.nodes)));
    }
    if (!shape.weights) continue;
    for (float& weight : writer.array<float>(Partition::EdgeFeatureName(e, "weight"))) {
      weight = 1 + static_cast<float>(random.Below(10));
    }
  }
  std::vector<std::shared_ptr<const Segment>> segments{std::move(writer).Seal()};
  return std::make_shared<const Partition>(MetaOf(shape), 0, std::move(segments));
}

// Calls make(shape) once per shape and caches its result.
template <class T>
const T& Once(const Shape& shape, T (*make)(const Shape&)) {
  static std::map<Shape, T> known;
  auto found = known.find(shape);
  if (found == known.end()) found = known.emplace(shape, make(shape)).first;
  return found->second;
}

const std::shared_ptr<const Partition>& SharedPartition(const Shape& shape) {
  return Once(shape, RandomPartition);
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

const Partition& LocalPartition(const Shape& shape) { return *SharedPartition(shape); }

const DistGraph& LocalGraph(const Shape& shape) {
  return Once<DistGraph>(shape, [](const Shape& wanted) {
    const auto& partition = SharedPartition(wanted);
    std::vector<std::vector<FeatureInfo>> of_nodes(static_cast<size_t>(wanted.ntypes)), of_edges;
    for (EdgeTypeId e = 0; e < wanted.etypes; e++) of_edges.push_back(partition->edge_features(e));
    return DistGraph(std::make_shared<LocalSession>(std::make_shared<GraphAccess>(
        partition->shared_meta(), std::move(of_nodes), std::move(of_edges), std::vector{partition},
        std::vector<std::shared_ptr<DaemonLink>>(1), std::vector<std::shared_ptr<TensorPort>>(1),
        std::make_shared<Traffic>(), std::chrono::seconds(1))));
  });
}

TensorSpec SumsSpec(int64_t rows, int64_t columns) {
  TensorSpec spec;
  spec.name = "sums";
  spec.policy = TensorPolicy::kRange;
  spec.rows = rows;
  spec.row_shape = {columns};
  spec.writers = TensorWriters::kMany;
  return spec;
}

std::vector<int64_t> RandomIds(size_t count, int64_t below, uint64_t seed) {
  CounterRng random(seed);
  std::vector<int64_t> ids(count);
  for (auto& id : ids) id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(below)));
  return ids;
}

namespace {

// Draws the ends of edges as R-MAT does, and gives the nodes random numbers.
void DrawPowerLaw(std::span<uint32_t> src, std::span<uint32_t> dst, uint64_t nodes) {
  const auto levels = static_cast<unsigned>(std::bit_width(nodes - 1));
  std::vector<uint32_t> numbers(nodes);
  std::iota(numbers.begin(), numbers.end(), 0U);
  CounterRng random(7);
  for (size_t i = nodes; i > 1; i--) std::swap(numbers[i - 1], numbers[random.Below(i)]);
  for (size_t i = 0; i < src.size(); i++) {
    uint64_t from = 0, to = 0;
    do {
      from = to = 0;
      for (unsigned level = 0; level < levels; level++) {
        const uint64_t draw = random.Below(100);  // 57, 19, 19 and 5 of a hundred
        from = 2 * from + (draw >= 76 ? 1 : 0);
        to = 2 * to + ((draw >= 57 && draw < 76) || draw >= 95 ? 1 : 0);
      }
    } while (from >= nodes || to >= nodes);
    src[i] = numbers[from];
    dst[i] = numbers[to];
  }
}

}  // namespace

ServedGraph::ServedGraph(int64_t nodes, int64_t degree, int64_t columns,
                         const std::vector<std::string>& arguments, Ends ends,
                         const std::vector<std::string>& store_as) {
  std::string pattern = (std::filesystem::temp_directory_path() / "graphd-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) ThrowErrno("can't make", pattern);
  directory_ = pattern;
  const auto limit = static_cast<uint64_t>(nodes);
  RawGraph graph{Schema::Homogeneous(), std::vector<RawNodes>(1), std::vector<RawEdges>(1)};
  graph.nodes[0].count = nodes;
  graph.nodes[0].features.push_back({"feat", RandomTensor<float>({nodes, columns}, 1000, 1)});
  graph.edges[0].src = RandomTensor<uint32_t>({nodes * degree}, limit, 2);
  graph.edges[0].dst = RandomTensor<uint32_t>({nodes * degree}, limit, 3);
  if (ends == Ends::kPowerLaw) {
    DrawPowerLaw(graph.edges[0].src.as<uint32_t>(), graph.edges[0].dst.as<uint32_t>(), limit);
  }
  PartitionOptions options;
  options.graph_name = "random";
  options.num_parts = 1;
  options.method = PartMethod::kRandom;
  options.storage.store_as = store_as;
  options.output = directory_ + "/data";
  const std::string config = PartitionGraph(graph, options).part_config;
  static uint16_t instances = 0;  // several may live at once
  port_ = static_cast<uint16_t>(kPort + instances++);
  ip_config_ = directory_ + "/ip_config.txt";
  WriteFileAtomically(ip_config_, StrCat("127.0.0.1 ", port_, "\n"));
  const std::string run = directory_ + "/run", listen = StrCat("127.0.0.1:", port_);
  ::setenv("GRAPHD_RUNTIME_DIR", run.c_str(), 1);
  words_ = {"graphd",
            "--server_name",
            "bench",
            "--part_config",
            config,
            "--part_id",
            "0",
            "--listen",
            listen,
            "--log_level",
            "warning",
            "--state_dir",
            directory_ + "/state"};
  words_.insert(words_.end(), arguments.begin(), arguments.end());
  socket_ = SocketPath(run, "bench", port_);
  Start();
}

void ServedGraph::Start() {
  std::vector<char*> argv;
  for (std::string& word : words_) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execv(GRAPHD_BIN_DIR "/graphd", argv.data());
    ::_exit(127);
  }
  for (int i = 0;; i++) {
    try {
      ControlClient::ConnectUnix(socket_, std::chrono::seconds(5))->Status();
      return;
    } catch (const Error&) {
      if (i == 2000) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void ServedGraph::KillAndStartAgain() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  Start();
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
