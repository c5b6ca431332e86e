// SPDX-License-Identifier: Apache-2.0
#include "graphd/layerwise.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <future>
#include <limits>
#include <numeric>
#include <set>

#include "base/strings.h"
#include "client/routing/graph_access.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

constexpr size_t kWidth = 3;
using Daemons = std::vector<std::vector<int>>;
using Values = std::vector<std::vector<double>>;  // [ntype][node * width]

// The edge types of TypedGraph that have edges, and so weights.
constexpr std::array<int32_t, 3> kWeighted{1, 2, 3};

std::span<const float> WeightsOf(const LayerBatch& batch, EdgeTypeId etype) {
  const auto* const place = std::find(kWeighted.begin(), kWeighted.end(), int32_t{etype});
  return batch.edge_rows.at(static_cast<size_t>(place - kWeighted.begin())).as<float>();
}

// A layer without parameters: half of a node's row, plus for each edge type the mean of its
// neighbours' rows, times the edges' weights or not. Columns are rotated by one, so that a layer
// mixes them.
std::vector<Tensor> Mean(const Schema& schema, const LayerBatch& batch, bool weighted) {
  std::vector<Tensor> out(batch.rows.size());
  for (size_t t = 0; t < out.size(); t++) {
    const auto count = static_cast<size_t>(batch.block.num_dst[t]);
    if (count == 0) continue;
    out[t] = Tensor::Empty(DType::kFloat32, {batch.block.num_dst[t], kWidth});
    const auto result = out[t].as<float>();
    const auto own = batch.rows[t].as<float>();
    for (size_t i = 0; i < result.size(); i++) result[i] = own[i] / 2;
    for (const BlockEdges& edges : batch.block.edges) {
      if (schema.dst_type(edges.etype) != NodeTypeId(t)) continue;
      const auto rows =
          batch.rows[static_cast<size_t>(int32_t{schema.src_type(edges.etype)})].as<float>();
      for (size_t i = 0; i < count; i++) {
        const auto begin = static_cast<size_t>(edges.indptr[i]);
        const auto end = static_cast<size_t>(edges.indptr[i + 1]);
        for (size_t k = begin; k < end; k++) {
          const float weight = weighted ? WeightsOf(batch, edges.etype)[k] : 1;
          for (size_t c = 0; c < kWidth; c++) {
            const size_t from = static_cast<size_t>(edges.indices[k]) * kWidth + (c + 1) % kWidth;
            result[i * kWidth + c] += weight * rows[from] / static_cast<float>(end - begin);
          }
        }
      }
    }
  }
  return out;
}

LayerFunction MeanLayer(const DistGraph& graph, bool weighted = false) {
  return
      [graph, weighted](const LayerBatch& batch) { return Mean(graph.schema(), batch, weighted); };
}

std::vector<int64_t> UpTo(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<DistTensor> FeaturesOf(const DistGraph& graph) {
  std::vector<DistTensor> features;
  for (int32_t t = 0; t < graph.schema().num_ntypes(); t++) {
    features.push_back(graph.ndata("feat", t));
  }
  return features;
}

// Computes the same as layers of Mean from the list of all edges, without sampling.
Values Forward(const DistGraph& graph, int layers, bool weighted = false) {
  Values values;
  for (const DistTensor& feature : FeaturesOf(graph)) {
    const Tensor rows = All(feature);
    values.emplace_back(rows.as<float>().begin(), rows.as<float>().end());
  }
  for (int layer = 0; layer < layers; layer++) {
    Values next = values;
    for (auto& rows : next) {
      for (double& value : rows) value /= 2;
    }
    for (int32_t e = 0; e < graph.schema().num_etypes(); e++) {
      const std::vector<int64_t> ids = UpTo(graph.num_edges(EdgeTypeId(e)));
      const EdgeEnds ends = graph.FindEdges(ids, e);
      const Tensor weights = ids.empty() ? Tensor() : All(graph.edata("weight", e));
      auto& to = next[static_cast<size_t>(int32_t{graph.schema().dst_type(e)})];
      const auto& from = values[static_cast<size_t>(int32_t{graph.schema().src_type(e)})];
      std::vector<double> degrees(to.size() / kWidth);
      for (const int64_t dst : ends.dst) degrees[static_cast<size_t>(dst)]++;
      for (size_t i = 0; i < ids.size(); i++) {
        const auto src = static_cast<size_t>(ends.src[i]), dst = static_cast<size_t>(ends.dst[i]);
        const double weight = weighted ? weights.as<float>()[i] : 1;
        for (size_t c = 0; c < kWidth; c++) {
          to[dst * kWidth + c] += weight * from[src * kWidth + (c + 1) % kWidth] / degrees[dst];
        }
      }
    }
    values = next;
  }
  return values;
}

// Returns the largest difference, relative to the largest value.
double Difference(const DistTensor& found, const std::vector<double>& wanted) {
  const Tensor rows = All(found);
  double most = 0, scale = 1e-30;
  for (size_t i = 0; i < wanted.size(); i++) {
    most = std::max(most, std::abs(double{rows.as<float>()[i]} - wanted[i]));
    scale = std::max(scale, std::abs(wanted[i]));
  }
  return rows.as<float>().size() == wanted.size() ? most / scale
                                                  : std::numeric_limits<double>::infinity();
}

// Calls f(graph, rank) in one thread for each trainer of a job.
void WithTrainers(const ServedGraphFixture& served, int count, const std::string& job,
                  const std::function<void(const DistGraph&, int)>& f) {
  std::vector<std::future<void>> trainers;
  for (int rank = 0; rank < count; rank++) {
    trainers.push_back(std::async(std::launch::async, [&, rank] {
      Options options = served.TrainerOptions(Transport::kAuto, rank, count);
      options.job_id = job;
      f(DistGraph(Initialize(options)), rank);
    }));
  }
  for (auto& trainer : trainers) trainer.get();
}

class LayerwiseTest : public ::testing::Test {
 protected:
  // A trainer of the same job each time, so that it does not wait for the leases of a killed one.
  DistGraph Connect() const {
    return DistGraph(Initialize(served_.TrainerOptions(Transport::kAuto)));
  }
  ServedGraphFixture served_{HomogeneousGraph(900, RandomMultigraph(900, 6000, 1)),
                             Daemons{{0}, {1}}};
};

TEST_F(LayerwiseTest, EqualsTheForwardPassOverAllNeighbours) {
  for (const int trainers : {1, 3}) {
    WithTrainers(served_, trainers, StrCat("job", trainers), [&](const DistGraph& graph, int) {
      const auto layer = MeanLayer(graph);
      int64_t calls = 0, total = 0;
      LayerwiseOptions options{.batch_size = 100, .num_workers = 2};
      options.progress = [&](int64_t done, int64_t of) {
        EXPECT_EQ(done, ++calls);
        total = of;
      };
      const auto found = Layerwise(graph, {layer, layer, layer}, FeaturesOf(graph), options);
      EXPECT_EQ(calls, total);
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(found[0].name(), "inference");
      EXPECT_LT(Difference(found[0], Forward(graph, 3)[0]), 1e-5);
      graph.Barrier();
      std::set<std::string> names;
      for (const TensorInfo& each : DistTensor::List(graph)) names.insert(each.spec.name);
      EXPECT_EQ(names, (std::set<std::string>{"inference", "inference:run"}));
      graph.Barrier();
    });
  }
}

TEST_F(LayerwiseTest, SampledResultsDependOnTheSeedAlone) {
  std::vector<Tensor> results;
  const auto run = [&](const DistGraph& graph, int64_t batch_size, uint64_t seed) {
    const auto layer = MeanLayer(graph);
    return All(Layerwise(graph, {layer, layer}, FeaturesOf(graph),
                         {.fanouts = LayerFanouts({2, 3}),
                          .batch_size = batch_size,
                          .seed = seed,
                          .num_workers = 0})[0]);
  };
  WithTrainers(served_, 2, "two", [&](const DistGraph& graph, int rank) {
    const Tensor found = run(graph, 50, 7);
    if (rank == 0) results.push_back(found);
    graph.Barrier();
  });
  const DistGraph graph = Connect();
  results.push_back(run(graph, 900, 7));
  results.push_back(run(graph, 900, 8));
  EXPECT_TRUE(SameBits(results[0], results[1]));
  EXPECT_FALSE(SameBits(results[1], results[2]));
}

TEST(LayerwiseTyped, ReadsAllTypesAndEdgeFeatures) {
  const ServedGraphFixture served(TypedGraph(200, 300, 3), Daemons{{0}, {1}});
  WithTrainers(served, 2, "typed", [&](const DistGraph& graph, int) {
    const auto layer = MeanLayer(graph, true);
    LayerwiseOptions options{.name = "typed", .batch_size = 64, .num_workers = 1};
    for (const int32_t e : kWeighted) options.edge_features.push_back({e, "weight"});
    const auto found = Layerwise(graph, {layer, layer}, FeaturesOf(graph), options);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name(), "typed/author");
    EXPECT_EQ(found[1].name(), "typed/paper");
    const Values wanted = Forward(graph, 2, true);
    for (size_t t = 0; t < 2; t++) EXPECT_LT(Difference(found[t], wanted[t]), 1e-5);
    graph.Barrier();
  });
}

TEST(LayerwiseTyped, ATypeWithoutResultsHasNoTensor) {
  const ServedGraphFixture served(TypedGraph(200, 300, 3), Daemons{{0}, {1}});
  const DistGraph graph = DistGraph(Initialize(served.TrainerOptions(Transport::kAuto)));
  const auto last = [&](const LayerBatch& batch) {
    std::vector<Tensor> out = Mean(graph.schema(), batch, false);
    out.resize(1);  // authors
    return out;
  };
  const auto found =
      Layerwise(graph, {MeanLayer(graph), last}, FeaturesOf(graph), {.batch_size = 30});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name(), "inference/author");
  EXPECT_LT(Difference(found[0], Forward(graph, 2)[0]), 1e-5);
}

// Widens rows to 64 columns, or keeps them so wide.
LayerFunction WideLayer() {
  constexpr size_t kWide = 64;
  return [](const LayerBatch& batch) {
    const auto count = static_cast<size_t>(batch.block.num_dst[0]);
    const auto rows = batch.rows[0].as<float>();
    const size_t columns = rows.size() / static_cast<size_t>(batch.rows[0].num_rows());
    std::vector<Tensor> out{Tensor::Empty(DType::kFloat32, {batch.block.num_dst[0], kWide})};
    const BlockEdges& edges = batch.block.edges.at(0);
    for (size_t i = 0; i < count; i++) {
      for (size_t c = 0; c < kWide; c++) {
        float& sum = out[0].as<float>()[i * kWide + c];
        sum = rows[i * columns + c % columns] / 2;
        for (auto k = static_cast<size_t>(edges.indptr[i]);
             k < static_cast<size_t>(edges.indptr[i + 1]); k++) {
          sum += rows[static_cast<size_t>(edges.indices[k]) * columns + (c + 1) % columns] / 8;
        }
      }
    }
    return out;
  };
}

TEST(LayerwiseOnDisk, LayersThatDoNotFitIntoTheMemoryOfTensorsAreOnTheDisk) {
  constexpr uint64_t kMemory = uint64_t{4} << 20;
  const RawGraph raw = HomogeneousGraph(60'000, RandomMultigraph(60'000, 120'000, 1));
  std::vector<Tensor> results;
  for (const bool bounded : {false, true}) {
    std::vector<std::string> arguments;
    if (bounded) arguments = {"--embedding_memory", StrCat(kMemory)};
    const ServedGraphFixture served(raw, Daemons{{0}, {1}}, 2, arguments);
    const DistGraph graph(Initialize(served.TrainerOptions(Transport::kAuto)));
    const auto found = Layerwise(graph, {WideLayer(), WideLayer(), WideLayer()}, FeaturesOf(graph),
                                 {.batch_size = 1000, .num_workers = 1});
    results.push_back(All(found.at(0)));
    if (!bounded) continue;
    uint64_t resident = 0;
    for (const auto& port : graph.access()->ports()) {
      for (const TensorShare& share : port->List()) resident += share.resident_bytes;
    }
    EXPECT_GT(results[1].num_bytes(), 2 * kMemory);  // one of the three layers
    EXPECT_LE(resident, 2 * kMemory);
  }
  EXPECT_TRUE(SameBits(results[0], results[1]));
}

TEST_F(LayerwiseTest, AMaskChoosesTheNodesOfTheLastLayer) {
  const DistGraph graph = Connect();
  TensorSpec spec;
  spec.name = "chosen";
  spec.dtype = DType::kBool;
  const DistTensor mask = DistTensor::Create(graph, spec);
  const std::vector<int64_t> chosen{3, 500, 899};
  Tensor ones = Tensor::Empty(DType::kBool, {3});
  std::fill_n(ones.data(), 3, std::byte{1});
  mask.Write(chosen, ones);
  const auto layer = MeanLayer(graph);
  const auto found =
      Layerwise(graph, {layer, layer}, FeaturesOf(graph), {.batch_size = 64, .nodes = {mask}});
  const std::vector<double> all = Forward(graph, 2)[0];
  std::vector<double> wanted(all.size());
  for (const int64_t id : chosen) {
    for (size_t c = 0; c < kWidth; c++) {
      const size_t at = static_cast<size_t>(id) * kWidth + c;
      wanted[at] = all[at];
    }
  }
  EXPECT_LT(Difference(found[0], wanted), 1e-5);
}

// Computes three layers of 10 batches each; kills its process in the batch of this number.
void RunUntil(const DistGraph& graph, int64_t kill_at, int64_t& computed,
              const char* version = "") {
  const auto layer = [&](const LayerBatch& batch) {
    if (computed++ == kill_at) ::kill(::getpid(), SIGKILL);
    return Mean(graph.schema(), batch, false);
  };
  Layerwise(graph, {layer, layer, layer}, FeaturesOf(graph),
            {.name = "kept", .batch_size = 90, .resume = true, .version = version});
}

TEST_F(LayerwiseTest, GoesOnAfterKill9) {
  // Batch 0 of the first layer, one within each layer, the first of the last, and the last of all.
  for (const int64_t kill_at : {0, 4, 13, 20, 29}) {
    const std::string version = StrCat("version ", kill_at);
    const pid_t child = ::fork();
    if (child == 0) {
      int64_t computed = 0;
      const DistGraph graph = Connect();
      RunUntil(graph, kill_at, computed, version.c_str());
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    const DistGraph graph = Connect();
    int64_t computed = 0;
    RunUntil(graph, -1, computed, version.c_str());
    // The write of the batch before may not have been finished.
    EXPECT_GE(computed, 30 - kill_at);
    EXPECT_LE(computed, 30 - kill_at + 1);
    EXPECT_LT(Difference(DistTensor::Open(graph, "kept"), Forward(graph, 3)[0]), 1e-5);
    computed = 0;
    RunUntil(graph, -1, computed, version.c_str());  // complete
    EXPECT_EQ(computed, 0);
  }
}

// Calls Layerwise twice with `resume`; returns how many batches the second call has computed.
int64_t ComputedAgain(const DistGraph& graph, const std::vector<DistTensor>& masks,
                      bool authors_only) {
  int64_t computed = 0;
  const LayerFunction layer = [&](const LayerBatch& batch) {
    computed++;
    return Mean(graph.schema(), batch, false);
  };
  const LayerFunction last = [&](const LayerBatch& batch) {
    std::vector<Tensor> out = layer(batch);
    if (authors_only) out.resize(1);
    return out;
  };
  const LayerwiseOptions options{.name = "kept", .batch_size = 64, .nodes = masks, .resume = true};
  Layerwise(graph, {layer, last}, FeaturesOf(graph), options);
  computed = 0;
  Layerwise(graph, {layer, last}, FeaturesOf(graph), options);
  return computed;
}

TEST(LayerwiseTyped, ACompleteRunIsNotComputedAgainIfATypeHasNoOutput) {
  const ServedGraphFixture served(TypedGraph(200, 300, 3), Daemons{{0}, {1}});
  const DistGraph graph = DistGraph(Initialize(served.TrainerOptions(Transport::kAuto)));
  EXPECT_EQ(ComputedAgain(graph, {}, true), 0);
}

TEST_F(LayerwiseTest, ACompleteRunIsNotComputedAgainByTrainersWithoutNodes) {
  WithTrainers(served_, 3, "three", [&](const DistGraph& graph, int rank) {
    TensorSpec spec;
    spec.name = "chosen";
    spec.dtype = DType::kBool;
    const DistTensor mask = DistTensor::Create(graph, spec);
    if (rank == 0) {
      Tensor one = Tensor::Empty(DType::kBool, {1});
      one.data()[0] = std::byte{1};
      mask.Write(std::vector<int64_t>{5}, one);
    }
    graph.Barrier();
    EXPECT_EQ(ComputedAgain(graph, {mask}, false), 0);
    graph.Barrier();
  });
}

TEST_F(LayerwiseTest, ATrainerDoesNotGoOnIfTrainer0HasFailed) {
  WithTrainers(served_, 2, "failing", [&](const DistGraph& graph, int rank) {
    TensorSpec spec;
    spec.name = "mine";
    DistTensor::Create(graph, spec);
    graph.Barrier();
    const auto run = [&](const std::string& name) {
      Layerwise(graph, {MeanLayer(graph)}, FeaturesOf(graph), {.name = name});
    };
    if (rank == 0) {
      ExpectError([&] { run("mine"); }, ErrorCode::kExists, "mine");
      // The other trainer passes the barrier in which it waits when this one calls again.
      ExpectError([&] { run("other"); }, ErrorCode::kUnavailable, "has left the job");
    } else {
      ExpectError([&] { run("mine"); }, ErrorCode::kUnavailable, "trainer 0 has not started");
    }
  });
}

TEST_F(LayerwiseTest, OtherArgumentsStartOverOnlyWithAnotherVersion) {
  const DistGraph graph = Connect();
  const auto layer = MeanLayer(graph);
  LayerwiseOptions options{.name = "kept", .resume = true, .version = "1"};
  Layerwise(graph, {layer}, FeaturesOf(graph), options);
  options.batch_size = 10;
  ExpectError([&] { Layerwise(graph, {layer}, FeaturesOf(graph), options); }, ErrorCode::kInvalid,
              "has other arguments: batch_size 1000 (now 10); give the same");
  options.version = "2";
  EXPECT_EQ(Layerwise(graph, {layer}, FeaturesOf(graph), options).size(), 1U);
}

TEST_F(LayerwiseTest, MarksThatNoTrainerHasMadeAreNotBelieved) {
  const DistGraph graph = Connect();
  const auto layer = MeanLayer(graph);
  const LayerwiseOptions options{.name = "marked", .resume = true, .version = "1"};
  const auto run = [&] { return Layerwise(graph, {layer}, FeaturesOf(graph), options); };
  const auto mark = [&](int64_t at_layer, int64_t batches) {
    Tensor row = Tensor::Empty(DType::kInt64, {1, 2});
    row.as<int64_t>()[0] = at_layer;
    row.as<int64_t>()[1] = batches;
    DistTensor::Open(graph, "marked:progress").Write(std::vector<int64_t>{0}, row);
  };
  run();
  mark(0, 2);  // 900 nodes are one batch
  ExpectError([&] { run(); }, ErrorCode::kInvalid,
              "2 batches of layer 0 are noted as done, but this trainer has 1");
  for (const auto& [at_layer, batches] : {std::pair(-1, 0), std::pair(0, -1), std::pair(1, 0)}) {
    mark(at_layer, batches);
    EXPECT_LT(Difference(run().at(0), Forward(graph, 1)[0]), 1e-5) << at_layer << " " << batches;
  }
}

TEST_F(LayerwiseTest, ErrorsSayWhatIsExpected) {
  const DistGraph graph = Connect();
  const auto layer = MeanLayer(graph);
  const auto features = FeaturesOf(graph);
  const auto expect = [&](const std::vector<LayerFunction>& layers, const auto& inputs,
                          const LayerwiseOptions& options, const std::string& text,
                          ErrorCode code = ErrorCode::kInvalid) {
    ExpectError([&] { Layerwise(graph, layers, inputs, options); }, code, text);
  };
  expect({}, features, {}, "there is no layer");
  expect({layer, nullptr}, features, {}, "layer 1 is an empty function");
  expect({layer}, std::vector<DistTensor>{}, {}, "there are no features");
  expect({layer}, std::vector<DistTensor>{features[0], features[0]}, {},
         "two features of nodes of type '_N'");
  expect({layer}, std::vector<DistTensor>{graph.edata("weight")}, {},
         "feature 'weight' does not belong to nodes");
  expect({layer}, features, {.batch_size = 0}, "batch_size 0: expected 1 or more");
  expect({layer}, features, {.num_workers = -2}, "num_workers -2: expected -1..");
  expect({layer}, features, {.name = ""}, "is empty");
  expect({layer}, features, {.name = std::string(250, 'x')}, "is too long");
  expect({layer}, features, {.version = "\xff"}, "is not valid UTF-8");
  expect({layer}, features, {.name = "feat"}, "'feat' would be replaced by the result 'feat'");
  TensorSpec none;
  none.name = "no_node";
  none.dtype = DType::kBool;
  expect({layer}, features, {.nodes = {DistTensor::Create(graph, none)}}, "choose none");
  expect({layer}, features, {.fanouts = LayerFanouts({1, 2})},
         "fanouts for 2 layers, expected one for each of 1");
  expect({layer}, features, {.edge_features = {{0, "none"}}}, "none", ErrorCode::kNotFound);
  const LayerFunction few = [](const LayerBatch&) {
    return std::vector<Tensor>{Tensor::Empty(DType::kFloat32, {2, 3})};
  };
  expect({few}, features, {}, "layer 0 has returned 2 rows for 900 nodes of type '_N'");
  int64_t calls = 0;
  const LayerFunction sometimes = [&](const LayerBatch& batch) {
    return calls++ == 0 ? layer(batch) : std::vector<Tensor>{};
  };
  expect({sometimes}, features, {.batch_size = 500}, "expected rows for all or for none");
  const LayerFunction nothing = [](const LayerBatch&) { return std::vector<Tensor>{}; };
  expect({nothing}, features, {}, "layer 0 has returned no rows");
  const LayerFunction throws = [](const LayerBatch&) -> std::vector<Tensor> {
    throw Error(ErrorCode::kDenied, "by the layer");
  };
  expect({throws}, features, {}, "by the layer", ErrorCode::kDenied);
  TensorSpec spec;
  spec.name = "mine";
  DistTensor::Create(graph, spec);
  expect({layer}, features, {.name = "mine"}, "is not the result of layer-wise inference",
         ErrorCode::kExists);
  const auto all = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Layerwise(graph, {layer}, features, {.batch_size = all}).size(), 1U);
}

}  // namespace
}  // namespace graphd::testing
