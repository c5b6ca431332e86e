// SPDX-License-Identifier: Apache-2.0
// Prints the bits of the vectors that this process uses, and a checksum of the results of each kind
// of code that has a version for each width. same_results_test.py compares the lines of processes.
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/processor.h"
#include "base/rng.h"
#include "base/row_access.h"
#include "base/strings.h"
#include "format/io/checksum.h"
#include "graphd/dist_embedding.h"
#include "graphd/dist_graph.h"
#include "graphd/initialize.h"
#include "graphd/sampling.h"
#include "graphd/sparse_optim.h"
#include "sampling/gather.h"
#include "store/rows/apply_rule.h"
#include "store/rows/initializer.h"

namespace graphd::testing {
namespace {

// Prints the checksum of what it was given when it is destroyed.
class Result {
 public:
  explicit Result(std::string name) : name_(std::move(name)) {}
  ~Result() { std::printf("%s %016" PRIx64 "\n", name_.c_str(), checksum_.Digest()); }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  template <class T>
  void Add(const std::vector<T>& values) {
    checksum_.Update(std::as_bytes(std::span(values)));
  }
  void Add(const Tensor& tensor) { checksum_.Update({tensor.data(), tensor.num_bytes()}); }

 private:
  const std::string name_;
  Checksum checksum_;
};

// The numbers of elements of rows: around the widths of vectors, and odd ones.
constexpr int64_t kWidths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 129};

std::vector<std::byte> RandomBytes(size_t count, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.Next());
  return bytes;
}

std::vector<float> RandomFloats(size_t count, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<float> floats(count);
  for (float& value : floats) value = static_cast<float>(rng.Next() >> 40) * 0x1p-23F - 1;
  return floats;
}

void InitialValues() {
  for (const InitKind kind : {InitKind::kUniform, InitKind::kNormal}) {
    const Initializer initializer{kind, -0.7, 1.3, 11};
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      Result result(
          StrCat("initial ", kind == InitKind::kNormal ? "normal " : "uniform ", DTypeName(dtype)));
      for (const int64_t width : kWidths) {
        std::vector<std::byte> row(static_cast<size_t>(width) * DTypeSize(dtype));
        for (int64_t id = 0; id < 200; id++) {
          store::FillRow(initializer, dtype, id, row);
          result.Add(row);
        }
      }
    }
  }
}

void Steps() {
  const std::pair<UpdateKind, OptimizerState> kinds[] = {
      {UpdateKind::kSgd, OptimizerState::kNone},
      {UpdateKind::kAdagrad, OptimizerState::kAdagrad},
      {UpdateKind::kRowAdagrad, OptimizerState::kRowAdagrad},
      {UpdateKind::kAdam, OptimizerState::kAdam}};
  for (const auto& [kind, state_kind] : kinds) {
    const UpdateRule rule{kind, 1, 0.03F, 1e-8F, 0.9F, 0.99F, 0.01F};
    Result result(StrCat("steps of rule ", static_cast<int>(kind)));
    for (const int64_t width : kWidths) {
      const auto elements = static_cast<size_t>(width);
      std::vector<float> row = RandomFloats(elements, 1),
                         state(store::StateFloats(state_kind, elements));
      for (uint64_t step = 0; step < 50; step++) {
        store::Step(rule, elements, RandomFloats(elements, 2 + step).data(), row.data(),
                    state.data());
        result.Add(row);
        result.Add(state);
      }
    }
  }
}

void ConvertedRows() {
  const Encoding encodings[] = {
      {DType::kUInt8, DType::kInt64, 1},       {DType::kInt16, DType::kInt64, 1},
      {DType::kUInt32, DType::kInt64, 1},      {DType::kInt8, DType::kInt32, 1},
      {DType::kUInt16, DType::kInt32, 1},      {DType::kUInt8, DType::kInt16, 1},
      {DType::kFloat16, DType::kFloat32, 1},   {DType::kBFloat16, DType::kFloat32, 1},
      {DType::kInt8, DType::kFloat32, 0.0071F}};
  constexpr int64_t kRows = 300;
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < kRows; i++) {
    from.push_back(i * 7 % kRows);
    to.push_back(i * 11 % kRows);
  }
  for (const Encoding& encoding : encodings) {
    Result result(StrCat(DTypeName(encoding.stored), " read as ", DTypeName(encoding.dtype)));
    for (const int64_t width : kWidths) {
      Tensor stored = Tensor::Empty(encoding.stored, {kRows, width});
      const std::vector<std::byte> bytes = RandomBytes(stored.num_bytes(), 5);
      std::copy(bytes.begin(), bytes.end(), stored.data());
      const FeatureTable table(stored, encoding);
      result.Add(table.ReadAll());
      std::vector<std::byte> rows(kRows * table.row_bytes());
      GatherRows(table, from, to, rows.data());
      result.Add(rows);
      ScatterRows(encoding, stored.data(), table.row_bytes(), to, rows.data());
      result.Add(rows);
    }
  }
}

void CopiedRows() {
  Result result("copied rows");
  const std::vector<std::byte> from = RandomBytes(1100, 6);
  std::vector<std::byte> to(from.size());
  for (size_t bytes = kLeastRowCopy; bytes <= from.size(); bytes++) {
    CopyRow(from.data(), to.data(), bytes);
    result.Add(to);
  }
}

// Samples and reads the graph of GRAPHD_PART_CONFIG, and trains an embedding, as a trainer does.
void Trained() {
  const DistGraph graph(Initialize());
  Result result("a trainer's batches");
  DistEmbedding embedding(graph, {.name = "vectors",
                                  .dim = 24,
                                  .initializer = Initializer::Normal(0, 1, 3),
                                  .persistent = false});
  SparseAdam optimizer({&embedding}, {.lr = 0.1F});
  const DistTensor wide = graph.ndata("wide");
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < 500; i++) seeds.push_back(i * 97 % graph.num_nodes());
  for (uint64_t batch = 0; batch < 5; batch++) {
    for (const char* prob : {"", "weight"}) {
      const Neighbors sampled =
          SampleNeighbors(graph, seeds, {.fanout = 10, .seed = batch, .prob = prob});
      result.Add(sampled.neighbors);
      result.Add(wide.Read(sampled.neighbors));
    }
    result.Add(embedding.Forward(seeds));
    embedding.Backward(seeds, embedding.Forward(seeds));
    optimizer.Step();
  }
}

}  // namespace
}  // namespace graphd::testing

int main() {
  using namespace graphd::testing;
  std::printf("bits %d\n", graphd::kVectorBits);
  try {
    InitialValues();
    Steps();
    ConvertedRows();
    CopiedRows();
    Trained();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vector_results: %s\n", error.what());
    return 1;
  }
  return 0;
}
