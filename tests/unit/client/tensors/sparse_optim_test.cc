// SPDX-License-Identifier: Apache-2.0
// Tests optimisers of embeddings against the update rules in float64, and with several trainers.
#include <signal.h>

#include <atomic>
#include <cmath>
#include <list>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "client/routing/graph_access.h"
#include "graphd/sparse_optim.h"
#include "store/rows/table_preparer.h"
#include "tests/support/slowness.h"
#include "tests/support/stopped_thread.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

constexpr int64_t kDim = 8;
constexpr size_t kWidth = 8;

enum class Rule { kSgd, kAdagrad, kRowAdagrad, kAdam };

// The update rules of graphd/sparse_optim.h in float64.
class Reference {
 public:
  Reference(Rule rule, const StepOptions& options, const Tensor& first)
      : rule_(rule), options_(options), rows_(static_cast<size_t>(first.num_rows())) {
    for (size_t i = 0; i < rows_.size(); i++) {
      const float* values = first.as<float>().data() + i * kWidth;
      rows_[i].value.assign(values, values + kWidth);
      rows_[i].a.assign(kWidth, 0);
      rows_[i].b.assign(kWidth, 0);
    }
  }

  void Step(const std::vector<int64_t>& ids, const Tensor& gradients) {
    std::map<int64_t, std::pair<std::vector<double>, int>> sums;
    for (size_t i = 0; i < ids.size(); i++) {
      auto& [sum, count] = sums.try_emplace(ids[i], std::vector<double>(kWidth), 0).first->second;
      for (size_t k = 0; k < kWidth; k++) sum[k] += gradients.as<float>()[i * kWidth + k];
      count++;
    }
    for (auto& [id, of_row] : sums) {
      auto& [gradient, count] = of_row;
      Row& row = rows_[static_cast<size_t>(id)];
      for (size_t k = 0; k < kWidth; k++) {
        if (!options_.sum_duplicates) gradient[k] /= count;
        gradient[k] += double{options_.weight_decay} * row.value[k];
      }
      StepRow(row, gradient);
    }
  }

  double value(size_t row, size_t k) const { return rows_[row].value[k]; }

 private:
  struct Row {
    std::vector<double> value, a, b;
    double steps = 0;
  };
  void StepRow(Row& row, const std::vector<double>& g) {
    const double lr = options_.lr, eps = rule_ == Rule::kAdam ? double{1e-8F} : double{1e-10F};
    const double beta1 = double{0.9F}, beta2 = double{0.999F};
    double mean_square = 0;
    for (const double x : g) mean_square += x * x / kWidth;
    row.steps++;
    for (size_t k = 0; k < kWidth; k++) {
      double change = g[k];
      if (rule_ == Rule::kAdagrad || rule_ == Rule::kRowAdagrad) {
        row.a[k] += rule_ == Rule::kAdagrad ? g[k] * g[k] : mean_square;
        change = g[k] / (std::sqrt(row.a[k]) + eps);
      } else if (rule_ == Rule::kAdam) {
        row.a[k] = beta1 * row.a[k] + (1 - beta1) * g[k];
        row.b[k] = beta2 * row.b[k] + (1 - beta2) * g[k] * g[k];
        change = row.a[k] / (1 - std::pow(beta1, row.steps)) /
                 (std::sqrt(row.b[k] / (1 - std::pow(beta2, row.steps))) + eps);
      }
      row.value[k] -= lr * change;
    }
  }

  const Rule rule_;
  const StepOptions options_;
  std::vector<Row> rows_;
};

std::unique_ptr<SparseOptimizer> Make(Rule rule, std::vector<DistEmbedding*> of,
                                      const StepOptions& options) {
  switch (rule) {
    case Rule::kSgd:
      return std::make_unique<SparseSGD>(of, options);
    case Rule::kAdagrad:
      return std::make_unique<SparseAdagrad>(of, options);
    case Rule::kRowAdagrad:
      return std::make_unique<SparseAdagrad>(of, options, 1e-10F, true);
    case Rule::kAdam:
      return std::make_unique<SparseAdam>(of, options);
  }
  return nullptr;
}

constexpr Rule kRules[] = {Rule::kSgd, Rule::kAdagrad, Rule::kRowAdagrad, Rule::kAdam};

Tensor SomeGradients(size_t count, uint64_t seed) {
  Tensor gradients = Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(count), kDim});
  CounterRng random(seed);
  for (float& g : gradients.as<float>()) {
    g = static_cast<float>(random.Below(2001)) / 1000.0F - 1.0F;
  }
  return gradients;
}

class SparseOptim : public TensorFixture {
 protected:
  static EmbeddingOptions Options(const std::string& name) {
    EmbeddingOptions options;
    options.name = name;
    options.dim = kDim;
    options.persistent = false;
    return options;
  }
};

TEST_F(SparseOptim, MatchesTheRulesInFloat64) {
  const DistGraph standalone = Standalone(), mapped = Connect(),
                  tcp = Connect(Transport::kTcp, "tcp");
  int number = 0;
  for (const Rule rule : kRules) {
    for (const bool sum : {false, true}) {
      StepOptions options;
      options.lr = 0.05F;
      options.sum_duplicates = sum;
      options.weight_decay = sum ? 0.01F : 0;
      std::vector<Tensor> results;
      for (const DistGraph* graph : {&standalone, &mapped, &tcp}) {
        DistEmbedding embedding(*graph, Options("e" + std::to_string(number)));
        const auto optimizer = Make(rule, {&embedding}, options);
        Reference reference(rule, options, All(embedding.weight()));
        for (uint64_t step = 0; step < 5; step++) {
          const auto ids = RandomIds(300, 100, step);  // many ids occur twice or more often
          const Tensor gradients = SomeGradients(ids.size(), step);
          embedding.Backward(std::span(ids).first(100),
                             Tensor(gradients.dtype(), {100, kDim},
                                    const_cast<std::byte*>(gradients.data()), gradients.owner()));
          Tensor rest = Tensor::Empty(DType::kFloat32, {200, kDim});
          std::memcpy(rest.data(), gradients.data() + 100 * kWidth * 4, rest.num_bytes());
          embedding.Backward(std::span(ids).subspan(100), rest);
          EXPECT_EQ(embedding.pending_rows(), 300u);
          optimizer->Step();
          EXPECT_EQ(embedding.pending_rows(), 0u);
          optimizer->Step();  // without gradients, no row changes
          reference.Step(ids, gradients);
        }
        results.push_back(All(embedding.weight()));
        const auto values = results.back().as<float>();
        for (size_t i = 0; i < values.size(); i++) {
          const double wanted = reference.value(i / kWidth, i % kWidth);
          ASSERT_NEAR(values[i], wanted, 2e-6 * std::max(1.0, std::abs(wanted)))
              << "rule " << static_cast<int>(rule) << " row " << i / kWidth;
        }
        EXPECT_TRUE(SameBits(results.back(), results.front()));
      }
      number++;
    }
  }
}

TEST_F(SparseOptim, TheLearningRateChangesAndZeroGradDropsGradients) {
  const DistGraph graph = Connect();
  EmbeddingOptions zeros = Options("zeros");
  zeros.initializer = Initializer::Zeros();
  DistEmbedding embedding(graph, zeros);
  SparseSGD optimizer({&embedding}, {.lr = 1});
  const std::vector<int64_t> id = {5};
  const Tensor one = Rows({1, kDim}, std::vector<float>(kWidth, 1));
  embedding.Backward(id, one);
  optimizer.ZeroGrad();
  optimizer.Step();
  EXPECT_EQ(embedding.Forward(id).as<float>()[0], 0);
  embedding.Backward(id, one);
  optimizer.Step();
  optimizer.set_lr(0.25F);
  EXPECT_EQ(optimizer.lr(), 0.25F);
  embedding.Backward(id, one);
  optimizer.Step();
  EXPECT_EQ(embedding.Forward(id).as<float>()[0], -1.25F);
}

TEST_F(SparseOptim, InvalidArgumentsAreReported) {
  const DistGraph graph = Connect();
  DistEmbedding embedding(graph, Options("e"));
  SparseAdam adam({&embedding}, {});
  EXPECT_EQ(DistTensor::List(graph)[0].state, OptimizerState::kAdam);
  ExpectError([&] { SparseAdagrad({&embedding}, {}); }, ErrorCode::kInvalid, "adam");
  ExpectError([&] { SparseSGD({&embedding}, {}); }, ErrorCode::kInvalid, "adam");
  ExpectError([&] { SparseAdam({&embedding, &embedding}, {}); }, ErrorCode::kInvalid, "twice");
  ExpectError([&] { SparseAdam({&embedding}, {.staleness = -1}); }, ErrorCode::kInvalid, "-1");
  ExpectError([&] { SparseAdam({&embedding}, {}, 1.5F); }, ErrorCode::kInvalid, "1.5");
  ExpectError([&] { adam.set_lr(NAN); }, ErrorCode::kInvalid, "nan");
  const std::vector<int64_t> ids = {1, kNodes};
  ExpectError([&] { embedding.Backward(ids, SomeGradients(2, 1)); }, ErrorCode::kInvalid, "1000");
  ExpectError([&] { embedding.Backward(ids, SomeGradients(3, 1)); }, ErrorCode::kInvalid, "[2, 8]");
  EXPECT_EQ(embedding.pending_rows(), 0u);
}

TEST_F(SparseOptim, FindsTheMemoryOfANewEmbeddingPrepared) {
  constexpr int64_t kRows = 600'000, kFloats = 128;
  EmbeddingOptions options = Options("new");
  options.policy = TensorPolicy::kRange;
  options.num_embeddings = kRows;
  options.dim = kFloats;
  const DistGraph graphs[] = {Standalone(), Connect()};
  for (const DistGraph& graph : graphs) {
    DistEmbedding embedding(graph, options);
    const Clock::time_point begin = Clock::now();
    const SparseAdagrad optimizer({&embedding}, {});
    if (Clock::now() - begin >= store::kLongestPreparation) continue;  // the machine is too busy
    uint64_t bytes = 0;
    for (const auto& port : graph.access()->ports()) {
      for (const TensorShare& share : port->List()) {
        EXPECT_EQ(share.preparing_bytes, 0U);
        bytes += share.resident_bytes;
      }
    }
    EXPECT_GE(bytes, uint64_t{2 * kRows * kFloats * sizeof(float)});  // with the optimiser's state
  }
}

TEST_F(SparseOptim, WaitsForAllPartitionsAtOnceAndLongerThanTheTimeoutOfCalls) {
  auto connection = served_.TrainerOptions(Transport::kAuto);
  connection.timeout = std::chrono::seconds(3);
  const DistGraph graph(Initialize(connection));
  const DistEmbedding small(graph, Options("small"));  // the daemons start their threads for it
  std::list<StoppedThread> stopped;
  for (int daemon = 0; daemon < 2; daemon++) {
    stopped.emplace_back(served_.daemon(daemon).pid(), "table memory", StoppedThread::kIdle);
  }
  EmbeddingOptions options = Options("large");
  options.policy = TensorPolicy::kRange;
  options.num_embeddings = 400'000;
  options.dim = 128;
  DistEmbedding large(graph, options);
  const Clock::time_point begin = Clock::now();
  EXPECT_NO_THROW(SparseAdagrad({&large}, {}));
  const auto waited = Clock::now() - begin;
  for (StoppedThread& each : stopped) each.GoOn();  // the daemons could not end otherwise
  EXPECT_GE(waited, store::kLongestPreparation);
  EXPECT_LT(waited, 2 * Slowness() * store::kLongestPreparation);
}

TEST_F(SparseOptim, StaleStepsKeepTheirOrderAndAreAllDone) {
  const DistGraph graph = Connect(Transport::kTcp);
  DistEmbedding at_once(graph, Options("a")), later(graph, Options("b")),
      other(graph, Options("c"));
  SparseAdam first({&at_once}, {});
  SparseAdam second({&later, &other}, {.staleness = 3});
  for (uint64_t step = 0; step < 30; step++) {
    const auto ids = RandomIds(50, 60, step);
    for (DistEmbedding* embedding : {&at_once, &later, &other}) {
      embedding->Backward(ids, SomeGradients(50, step));
    }
    first.Step();
    second.Step();
  }
  second.Wait();
  EXPECT_TRUE(SameBits(All(at_once.weight()), All(later.weight())));
  EXPECT_TRUE(SameBits(All(at_once.weight()), All(other.weight())));
}

// Prepared parts of later steps must not overtake unsent parts of earlier ones.
TEST_F(SparseOptim, StaleStepsDoNotOvertakePiecesOfEarlierSteps) {
  constexpr int64_t kRows = 20'000, kWide = 1024;  // 40 MB for each daemon
  const DistGraph graph = Connect();
  EmbeddingOptions options;
  options.name = "wide";
  options.dim = kWide;
  options.policy = TensorPolicy::kRange;
  options.num_embeddings = kRows;
  options.initializer = Initializer::Zeros();
  DistEmbedding embedding(graph, options);
  SparseSGD optimizer({&embedding}, {.lr = 1, .staleness = 2});
  std::vector<int64_t> ids(kRows);
  std::iota(ids.begin(), ids.end(), 0);
  const Tensor gradients = Rows({kRows, kWide}, std::vector<float>(kRows * kWide, -1));
  for (int step = 0; step < 4; step++) {
    embedding.Backward(ids, gradients);
    optimizer.Step();
  }
  optimizer.Wait();
  const Tensor all = embedding.Forward(ids);
  for (const float value : std::as_const(all).as<float>()) ASSERT_EQ(value, 4);
}

TEST_F(SparseOptim, GradientsOfAFailedStepAreAppliedOnceByTheNext) {
  for (const int staleness : {0, 1}) {
    const std::string name = "s" + std::to_string(staleness);
    graphd::Options impatient = served_.TrainerOptions(Transport::kTcp);
    impatient.job_id = name;
    impatient.timeout = std::chrono::milliseconds(static_cast<int64_t>(3000 * Slowness()));
    const DistGraph graph(Initialize(impatient));
    EmbeddingOptions options = Options("shared" + name);
    options.persistent = true;
    options.initializer = Initializer::Zeros();
    DistEmbedding embedding(graph, options);
    SparseSGD optimizer({&embedding}, {.lr = 1, .staleness = staleness});
    const std::vector<int64_t> ids = {1, kNodes - 1};  // one row of each daemon
    const Tensor ones = Rows({2, kDim}, std::vector<float>(2 * kWidth, -1));
    // One of the two daemons does not answer.
    served_.daemon(1).Signal(SIGSTOP);
    embedding.Backward(ids, ones);
    const auto step = [&] {
      optimizer.Step();
      optimizer.Wait();
    };
    EXPECT_THROW(step(), Error);
    served_.daemon(1).Signal(SIGCONT);
    embedding.Backward(ids, ones);
    step();
    EXPECT_EQ(embedding.Forward(ids).as<float>()[0], 2);
    EXPECT_EQ(embedding.Forward(ids).as<float>()[kWidth], 2);
  }
}

TEST_F(SparseOptim, ASynchronousStepEqualsOneTrainerWithAllGradients) {
  constexpr uint64_t kSteps = 12;
  const auto ids_of = [](uint64_t step, int rank) {
    // A trainer without gradients calls Step, too.
    if (step == 5 && rank == 1) return std::vector<int64_t>();
    return RandomIds(80, 100, 10 * step + static_cast<uint64_t>(rank));
  };
  const auto gradients_of = [&](uint64_t step, int rank) {
    return SomeGradients(ids_of(step, rank).size(), 100 + 10 * step + static_cast<uint64_t>(rank));
  };
  for (const Rule rule : {Rule::kAdagrad, Rule::kAdam}) {
    const std::string job = "sync" + std::to_string(static_cast<int>(rule));
    DistEmbedding alone(Connect(Transport::kAuto, "alone" + job), Options("alone"));
    const auto optimizer = Make(rule, {&alone}, {});
    for (uint64_t step = 0; step < kSteps; step++) {
      for (const int rank : {0, 1}) {
        if (!ids_of(step, rank).empty())
          alone.Backward(ids_of(step, rank), gradients_of(step, rank));
      }
      optimizer->Step();
    }
    std::vector<Tensor> seen(2);
    std::vector<std::thread> trainers;
    for (const int rank : {0, 1}) {
      trainers.emplace_back([&, rank] {
        const DistGraph graph =
            Connect(rank == 0 ? Transport::kAuto : Transport::kTcp, job, rank, 2);
        DistEmbedding embedding(graph, Options("both"));
        const auto mine = Make(rule, {&embedding}, {.mode = StepMode::kSynchronous});
        graph.Barrier();
        for (uint64_t step = 0; step < kSteps; step++) {
          // The trainers take turns in being late.
          if (static_cast<int>(step % 2) == rank) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
          const auto ids = ids_of(step, rank);
          if (!ids.empty()) embedding.Backward(ids, gradients_of(step, rank));
          mine->Step();
        }
        graph.Barrier();
        seen[static_cast<size_t>(rank)] = All(embedding.weight());
      });
    }
    for (std::thread& trainer : trainers) trainer.join();
    EXPECT_TRUE(SameBits(seen[0], All(alone.weight())));
    EXPECT_TRUE(SameBits(seen[0], seen[1]));
  }
}

}  // namespace
}  // namespace graphd::testing
