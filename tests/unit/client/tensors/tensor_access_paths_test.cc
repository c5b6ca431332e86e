// SPDX-License-Identifier: Apache-2.0
// Compares tensors in this process, through mapped memory, over the Unix socket and over TCP.
#include <atomic>
#include <map>
#include <thread>

#include "graphd/sparse_optim.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

class TensorAccessPaths : public TensorFixture {
 protected:
  // Returns graphs of four sessions that reach the same or equal tensors.
  std::vector<DistGraph> FourWays() const {
    return {Standalone(), Connect(Transport::kAuto, "mapped"), Connect(Transport::kUnix, "unix"),
            Connect(Transport::kTcp, "tcp")};
  }
};

TensorSpec Spec(const std::string& name, DType dtype, std::vector<int64_t> row_shape,
                TensorPolicy policy = TensorPolicy::kNode) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = dtype;
  spec.row_shape = std::move(row_shape);
  spec.policy = policy;
  return spec;
}

TEST_F(TensorAccessPaths, RowsReadEqualRowsWrittenBitForBit) {
  const auto ways = FourWays();
  const std::pair<DType, std::vector<int64_t>> kinds[] = {
      {DType::kFloat32, {16}}, {DType::kFloat64, {3, 5}}, {DType::kFloat16, {7}},
      {DType::kBool, {}},      {DType::kInt8, {3}},       {DType::kInt64, {2, 2, 2}},
      {DType::kUInt16, {}},    {DType::kBFloat16, {1}}};
  int number = 0;
  for (const auto& [dtype, row_shape] : kinds) {
    std::vector<Tensor> results;
    for (const DistGraph& graph : ways) {
      const DistTensor tensor =
          DistTensor::Create(graph, Spec("t" + std::to_string(number), dtype, row_shape));
      std::vector<int64_t> shape = row_shape;
      shape.insert(shape.begin(), 500);
      const auto ids = RandomIds(500, kNodes, 1);  // the last of duplicates wins
      const Tensor rows = RandomRows(dtype, shape, 2);
      tensor.Write(ids, rows);
      Tensor back = tensor.Read(ids);
      std::map<int64_t, size_t> last;
      for (size_t i = 0; i < ids.size(); i++) last[ids[i]] = i;
      const size_t bytes = rows.row_bytes();
      for (size_t i = 0; i < ids.size(); i++) {
        ASSERT_EQ(memcmp(back.data() + i * bytes, rows.data() + last[ids[i]] * bytes, bytes), 0);
      }
      results.push_back(All(tensor));
      EXPECT_EQ(results.back().shape(), tensor.shape());
      EXPECT_TRUE(SameBits(results.back(), results.front())) << DTypeName(dtype);
    }
    number++;
  }
}

TEST_F(TensorAccessPaths, EveryOccurrenceIsAdded) {
  for (const DistGraph& graph : FourWays()) {
    const DistTensor tensor = DistTensor::Create(graph, Spec("sums", DType::kInt64, {2}));
    const auto ids = RandomIds(3000, 50, 3);
    Tensor ones = Tensor::Empty(DType::kInt64, {3000, 2});
    for (int64_t& one : ones.as<int64_t>()) one = 1;
    tensor.Add(ids, ones);
    std::vector<int64_t> counts(50);
    for (const int64_t id : ids) counts[static_cast<size_t>(id)]++;
    const Tensor sums = tensor.Slice(0, 50);
    for (size_t i = 0; i < 100; i++) ASSERT_EQ(sums.as<int64_t>()[i], counts[i / 2]);
  }
}

TEST_F(TensorAccessPaths, InitialValuesDependOnTheIdAlone) {
  std::vector<Tensor> seen;
  for (const DistGraph& graph : FourWays()) {
    TensorSpec spec = Spec("random", DType::kFloat32, {4}, TensorPolicy::kRange);
    spec.rows = 777;
    spec.initializer = Initializer::Normal(0, 1, 5);
    seen.push_back(All(DistTensor::Create(graph, spec)));
    EXPECT_EQ(seen.back().num_rows(), 777);
    EXPECT_TRUE(SameBits(seen.back(), seen.front()));
  }
  EXPECT_NE(seen[0].as<float>()[0], seen[0].as<float>()[4]);
}

TEST_F(TensorAccessPaths, EdgeTensorsCanBeAttachedToTheGraphAsData) {
  for (const DistGraph& graph : FourWays()) {
    const DistTensor edges =
        DistTensor::Create(graph, Spec("e", DType::kInt32, {}, TensorPolicy::kEdge));
    EXPECT_TRUE(edges.is_edge());
    EXPECT_FALSE(edges.is_feature());
    EXPECT_EQ(edges.num_rows(), graph.num_edges());
    graph.Attach("mine", edges);
    EXPECT_EQ(graph.edata_names(0).back(), "mine");
    graph.edata("mine").Write(std::vector<int64_t>{7}, [] {
      Tensor row = Tensor::Empty(DType::kInt32, {1});
      row.as<int32_t>()[0] = 42;
      return row;
    }());
    EXPECT_EQ(edges.Slice(7, 8).as<int32_t>()[0], 42);
    graph.DetachEdata("mine");
    ExpectError([&] { graph.edata("mine"); }, ErrorCode::kNotFound, "mine");
    TensorSpec free_standing = Spec("free", DType::kInt32, {}, TensorPolicy::kRange);
    free_standing.rows = 3;
    ExpectError([&] { graph.Attach("free", DistTensor::Create(graph, free_standing)); },
                ErrorCode::kInvalid, "rows of its own");
    ExpectError([&] { graph.ndata("label").Write({}, graph.ndata("label").Read({})); },
                ErrorCode::kDenied, "belongs to the graph");
    ExpectError([&] { graph.ndata("label").Acquire(); }, ErrorCode::kDenied,
                "belongs to the graph");
  }
}

TEST_F(TensorAccessPaths, InvalidCallsAreReportedAndChangeNothing) {
  for (const DistGraph& graph : FourWays()) {
    const DistTensor tensor = DistTensor::Create(graph, Spec("rows", DType::kFloat32, {2}));
    const std::vector<int64_t> two = {1, 2};
    ExpectError(
        [&] {
          tensor.Write(two, Rows({3, 2}, std::vector<float>(6)));
        },
        ErrorCode::kInvalid, "[3, 2]");
    ExpectError(
        [&] {
          tensor.Write(two, Tensor::Empty(DType::kFloat64, {2, 2}));
        },
        ErrorCode::kInvalid, "float64");
    ExpectError(
        [&] {
          tensor.Write(std::vector<int64_t>{1, kNodes}, Rows({2, 2}, {1, 1, 1, 1}));
        },
        ErrorCode::kInvalid, "1000");
    ExpectError([&] { tensor.Read(std::vector<int64_t>{-1}); }, ErrorCode::kInvalid, "-1");
    EXPECT_TRUE(SameBits(All(tensor), Rows({kNodes, 2}, std::vector<float>(2 * kNodes))));
    const DistTensor half = DistTensor::Create(graph, Spec("half", DType::kFloat16, {}));
    ExpectError([&] { half.Add(std::vector<int64_t>{1}, Tensor::Empty(DType::kFloat16, {1})); },
                ErrorCode::kInvalid, "float16");
    ExpectError([&] { DistTensor::Create(graph, Spec("rows", DType::kFloat32, {3})); },
                ErrorCode::kInvalid, "float32 [1000, 3]");
    ExpectError([&] { DistTensor::Open(graph, "rwos"); }, ErrorCode::kNotFound, "rows");
    DistTensor::Drop(graph, "half");
    ExpectError([&] { DistTensor::Open(graph, "half"); }, ErrorCode::kNotFound, "half");
    ExpectError([&] { All(half); }, ErrorCode::kNotFound, "'half' is gone");
    EXPECT_EQ(DistTensor::List(graph).size(), 1u);
  }
}

TEST_F(TensorAccessPaths, LargeWritesAreDividedIntoPieces) {
  // Writes 96 MB to each partition, each row several times.
  constexpr int64_t kWide = 4096, kCount = 12000;
  const auto ids = RandomIds(kCount, kNodes, 6);
  Tensor rows = Tensor::Empty(DType::kFloat32, {kCount, kWide});
  std::vector<float> last(kNodes, 0), sum(kNodes, 0);
  for (size_t i = 0; i < ids.size(); i++) {
    const auto value = static_cast<float>(i);
    std::fill_n(rows.as<float>().begin() + static_cast<std::ptrdiff_t>(i * kWide), kWide, value);
    last[static_cast<size_t>(ids[i])] = value;
    sum[static_cast<size_t>(ids[i])] += value;
  }
  const DistGraph graph = Connect(Transport::kTcp);
  const DistTensor set = DistTensor::Create(graph, Spec("set", DType::kFloat32, {kWide}));
  const DistTensor add = DistTensor::Create(graph, Spec("add", DType::kFloat32, {kWide}));
  set.Write(ids, rows);
  add.Add(ids, rows);
  const Tensor is_set = All(set), is_added = All(add);
  for (size_t v = 0; v < kNodes; v++) {
    for (const size_t at : {v * kWide, (v + 1) * kWide - 1}) {
      ASSERT_EQ(is_set.as<float>()[at], last[v]) << v;
      ASSERT_EQ(is_added.as<float>()[at], sum[v]) << v;
    }
  }
}

TEST_F(TensorAccessPaths, DividedStepsKeepDuplicateRowsTogether) {
  // Writes 48 MB to each partition; means over single pieces would differ.
  constexpr int64_t kWide = 4096, kCount = 6000;
  const auto ids = RandomIds(kCount, kNodes, 8);
  Tensor gradients = Tensor::Empty(DType::kFloat32, {kCount, kWide});
  std::vector<double> sum(kNodes), count(kNodes);
  for (size_t i = 0; i < ids.size(); i++) {
    const auto value = static_cast<float>(i % 64);
    std::fill_n(gradients.as<float>().begin() + static_cast<std::ptrdiff_t>(i * kWide), kWide,
                value);
    sum[static_cast<size_t>(ids[i])] += value;
    count[static_cast<size_t>(ids[i])]++;
  }
  DistEmbedding embedding(Connect(Transport::kTcp),
                          {.name = "wide", .dim = kWide, .initializer = Initializer::Zeros()});
  SparseSGD optimizer({&embedding}, {.lr = 1});
  embedding.Backward(ids, gradients);
  optimizer.Step();
  const Tensor now = All(embedding.weight());
  for (size_t v = 0; v < kNodes; v++) {
    const double wanted = count[v] > 0 ? -sum[v] / count[v] : 0;
    ASSERT_NEAR(now.as<float>()[v * kWide + 17], wanted, 1e-4) << v;
  }
}

TEST_F(TensorAccessPaths, RowsAreNeverReadHalfWritten) {
  constexpr int64_t kWide = 64;
  const DistGraph writer = Connect(Transport::kTcp, "test", 0, 2);
  const DistGraph reader = Connect(Transport::kAuto, "test", 1, 2);
  const DistTensor tensor = DistTensor::Create(writer, Spec("whole", DType::kInt64, {kWide}));
  const DistTensor same = DistTensor::Open(reader, "whole");
  const auto ids = RandomIds(200, 128, 7);
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0}, reads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&] {
      while (!stop) {
        const Tensor rows = same.Read(ids);
        const auto values = rows.as<int64_t>();
        for (size_t i = 0; i < values.size(); i++) torn += values[i] != values[i / kWide * kWide];
        reads++;
      }
    });
  }
  for (int64_t round = 1; round <= 200 || reads < 20; round++) {
    Tensor rows = Tensor::Empty(DType::kInt64, {200, kWide});
    for (int64_t& value : rows.as<int64_t>()) value = round;
    tensor.Write(ids, rows);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace graphd::testing
