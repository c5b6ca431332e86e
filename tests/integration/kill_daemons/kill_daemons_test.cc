// SPDX-License-Identifier: Apache-2.0
// Kills daemons with kill -9 repeatedly at random points: while they apply pushes, write back, take
// checkpoints, and recover. Clients notice only delays: every acknowledged change is applied
// exactly once, and every bit equals that of a reference whose process is never killed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/rng.h"
#include "graphd/checkpoint.h"
#include "graphd/sparse_optim.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

constexpr int64_t kNodes = 1500;
constexpr int64_t kDim = 16;
constexpr int kTrainers = 3;

RawGraph Circle() {
  EdgeList edges;
  for (uint32_t v = 0; v < kNodes; v++) edges.push_back({v, (v + 1) % uint32_t{kNodes}});
  return HomogeneousGraph(kNodes, edges);
}

int Crashes() {
  const char* wanted = std::getenv("GRAPHD_CRASHES");
  return wanted != nullptr ? std::atoi(wanted) : 20;
}

class KilledDaemons : public ::testing::TestWithParam<std::string> {
 protected:
  DistGraph Connect(Transport transport, const std::string& job) const {
    Options options = served_.TrainerOptions(transport);
    options.job_id = job;
    options.timeout = std::chrono::minutes(2);
    return DistGraph(Initialize(options));
  }
  // Returns a different rule for each trainer: Adagrad, Adam, SGD with decay.
  static std::unique_ptr<SparseOptimizer> Optimizer(int trainer, DistEmbedding& embedding) {
    const std::vector<DistEmbedding*> one = {&embedding};
    if (trainer == 0) return std::make_unique<SparseAdagrad>(one, StepOptions{.lr = 0.1F});
    if (trainer == 1) return std::make_unique<SparseAdam>(one, StepOptions{.lr = 0.01F});
    return std::make_unique<SparseSGD>(
        one, StepOptions{.lr = 0.1F, .weight_decay = 0.01F, .sum_duplicates = true});
  }
  static EmbeddingOptions Named(int trainer) {
    return {.name = "embedding " + std::to_string(trainer),
            .dim = kDim,
            .initializer = Initializer::Uniform(-1, 1, static_cast<uint64_t>(trainer))};
  }
  static TensorSpec Counters() {
    TensorSpec spec;
    spec.name = "counters";
    spec.persistent = true;
    spec.dtype = DType::kInt64;
    spec.writers = TensorWriters::kMany;
    return spec;
  }
  void Train(int trainer);
  void MakeCheckpoints();

  static std::vector<std::string> Arguments(const std::string& memory) {
    std::vector<std::string> all = {"--write_back_seconds", "0.05"};
    if (memory != "Persistent") all.insert(all.end(), {"--embedding_memory", memory});
    return all;
  }

  ServedGraphFixture served_{Circle(), {{0}, {1}}, 2, Arguments(GetParam())};
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> steps_{0}, checkpoints_{0};
  std::vector<std::vector<int64_t>> counts_{kTrainers, std::vector<int64_t>(kNodes)};
};

// Performs the same steps on the daemons and in this process.
void KilledDaemons::Train(int trainer) {
  const Transport transports[] = {Transport::kAuto, Transport::kUnix, Transport::kTcp};
  const DistGraph graph = Connect(transports[trainer], "job" + std::to_string(trainer));
  const DistGraph alone(Initialize(served_.StandaloneOptions()));
  const DistTensor counters = DistTensor::Create(graph, Counters());
  DistEmbedding embedding(graph, Named(trainer)), reference(alone, Named(trainer));
  const auto optimizer = Optimizer(trainer, embedding);
  const auto reference_optimizer = Optimizer(trainer, reference);
  CounterRng random(static_cast<uint64_t>(trainer) + 100);
  for (int64_t step = 1; !stop_; step++) {
    std::vector<int64_t> ids(1 + random.Below(300));
    for (int64_t& id : ids) id = static_cast<int64_t>(random.Below(kNodes));
    Tensor gradients = Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(ids.size()), kDim});
    for (float& g : gradients.as<float>()) g = static_cast<float>(random.Below(2001)) / 1000 - 1;
    embedding.Backward(ids, gradients);
    optimizer->Step();
    reference.Backward(ids, gradients);
    reference_optimizer->Step();
    const Tensor now = embedding.Forward(ids), wanted = reference.Forward(ids);
    ASSERT_EQ(std::memcmp(now.data(), wanted.data(), now.num_bytes()), 0) << "step " << step;

    Tensor ones = Tensor::Empty(DType::kInt64, {static_cast<int64_t>(ids.size())});
    for (int64_t& one : ones.as<int64_t>()) one = 1;
    counters.Add(ids, ones);
    for (const int64_t id : ids) counts_[static_cast<size_t>(trainer)][static_cast<size_t>(id)]++;
    steps_++;
  }
  const Tensor now = embedding.weight().Slice(0, kNodes);
  const Tensor wanted = reference.weight().Slice(0, kNodes);
  EXPECT_EQ(std::memcmp(now.data(), wanted.data(), now.num_bytes()), 0) << "trainer " << trainer;
}

// A daemon may be killed at any time; the checkpoint then does not exist, and the next one
// succeeds.
void KilledDaemons::MakeCheckpoints() {
  while (!stop_) {
    try {
      const DistGraph graph = Connect(Transport::kAuto, "checkpoints");
      while (!stop_) {
        const std::string name = "c" + std::to_string(checkpoints_.load());
        CreateCheckpoint(graph, name, {.files = {{"dense", std::string(1000, 'x')}}});
        checkpoints_++;
        if (checkpoints_ > 1) {
          DeleteCheckpoint(graph, "c" + std::to_string(checkpoints_.load() - 2));
        }
      }
    } catch (const Error& error) {
      // A checkpoint that succeeded without its client knowing is not created again.
      if (error.code() == ErrorCode::kExists) checkpoints_++;
    }
  }
}

TEST_P(KilledDaemons, EveryAcknowledgedStepIsAppliedExactlyOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kTrainers; t++) {
    threads.emplace_back([this, t] {
      try {
        Train(t);
      } catch (const Error& error) {
        ADD_FAILURE() << "trainer " << t << ": " << error.what();
      }
    });
  }
  threads.emplace_back([this] { MakeCheckpoints(); });
  CounterRng random(static_cast<uint64_t>(::getpid()));
  const int crashes = Crashes();
  for (int i = 0; i < crashes && !HasFailure(); i++) {
    const auto daemon = static_cast<size_t>(random.Below(2));
    if (random.Below(4) == 0) {
      served_.Kill(daemon);  // starts again, and is killed before or just when it is ready
      served_.StartAgain(daemon);
      ::usleep(static_cast<useconds_t>(random.Below(60'000)));
    } else {
      const int64_t before = steps_;
      while (steps_ < before + 5 && !HasFailure()) ::usleep(1000);
      ::usleep(static_cast<useconds_t>(random.Below(80'000)));
    }
    // Most checkpoints are interrupted by a kill; let some succeed.
    for (const int64_t made = checkpoints_; i % 10 == 9 && checkpoints_ == made && !HasFailure();) {
      ::usleep(1000);
    }
    served_.Restart(daemon);
  }
  stop_ = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_FALSE(HasFailure());
  EXPECT_GE(steps_, crashes);

  const DistGraph graph = Connect(Transport::kAuto, "last");
  const Tensor counted = DistTensor::Open(graph, "counters").Slice(0, kNodes);
  for (size_t v = 0; v < kNodes; v++) {
    ASSERT_EQ(counted.as<int64_t>()[v], counts_[0][v] + counts_[1][v] + counts_[2][v]) << v;
  }
  for (const Checkpoint& whole : ListCheckpoints(graph)) {
    EXPECT_EQ(ReadCheckpointFile(graph, whole.name, "dense"), std::string(1000, 'x'));
  }
  RecordProperty("steps", std::to_string(steps_));
  RecordProperty("checkpoints", std::to_string(checkpoints_));
  std::printf("%d kills, %lld steps, %lld checkpoints\n", crashes,
              static_cast<long long>(steps_.load()), static_cast<long long>(checkpoints_.load()));
}

// Tests memory that outlives the daemon ("Persistent"), and process memory that holds all rows
// ("1GiB") or only a part of them ("256KiB").
INSTANTIATE_TEST_SUITE_P(Memory, KilledDaemons, ::testing::Values("Persistent", "1GiB", "256KiB"),
                         [](const auto& tested) { return "With" + tested.param; });

}  // namespace
}  // namespace graphd::testing
