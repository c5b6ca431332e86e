// SPDX-License-Identifier: Apache-2.0
// Tests daemons that are killed in the middle of changes and restarted.
#include <unistd.h>

#include <atomic>
#include <thread>

#include "graphd/sparse_optim.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

class TensorCrash : public TensorFixture {
 protected:
  static TensorSpec Counters() {
    TensorSpec spec;
    spec.name = "counters";
    spec.persistent = true;
    spec.dtype = DType::kInt64;
    spec.writers = TensorWriters::kMany;
    return spec;
  }
};

TEST_F(TensorCrash, EveryAddIsAppliedExactlyOnceAfterKill9) {
  const Transport transports[] = {Transport::kAuto, Transport::kUnix, Transport::kTcp};
  std::atomic<bool> stop{false};
  std::atomic<int> adds{0};
  std::vector<std::vector<int64_t>> counts(3, std::vector<int64_t>(kNodes));
  std::vector<std::thread> trainers;
  for (size_t t = 0; t < 3; t++) {
    trainers.emplace_back([&, t] {
      try {
        const DistTensor tensor =
            DistTensor::Create(Connect(transports[t], "job" + std::to_string(t)), Counters());
        Tensor ones = Tensor::Empty(DType::kInt64, {20});
        for (int64_t& one : ones.as<int64_t>()) one = 1;
        for (uint64_t round = 0; !stop; round++) {
          const auto ids = RandomIds(20, kNodes, 1000 * t + round);
          tensor.Add(ids, ones);
          for (const int64_t id : ids) counts[t][static_cast<size_t>(id)]++;
          adds++;
        }
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (int kill = 0; kill < 6; kill++) {
    const int before = adds;
    while (adds < before + 30 && !HasFailure()) ::usleep(1000);
    served_.Restart(static_cast<size_t>(kill % 2));
  }
  stop = true;
  for (std::thread& trainer : trainers) trainer.join();
  for (const Transport transport : transports) {
    const Tensor now = All(DistTensor::Open(Connect(transport), "counters"));
    for (size_t v = 0; v < kNodes; v++) {
      ASSERT_EQ(now.as<int64_t>()[v], counts[0][v] + counts[1][v] + counts[2][v]) << v;
    }
  }
}

TEST_F(TensorCrash, MappedRowsComeFromTheNewDaemonAfterARestart) {
  const DistGraph graph = Connect();
  const DistTensor tensor = DistTensor::Create(graph, Counters());
  Tensor row = Tensor::Empty(DType::kInt64, {1});
  for (int64_t round = 1; round <= 3; round++) {
    row.as<int64_t>()[0] = round;
    tensor.Write(std::vector<int64_t>{7}, row);
    EXPECT_EQ(tensor.Slice(7, 8).as<int64_t>()[0], round);
    served_.Restart(0);
    served_.Restart(1);
    EXPECT_EQ(tensor.Slice(7, 8).as<int64_t>()[0], round);
  }
}

TEST_F(TensorCrash, TrainingContinuesUnchangedAfterCrashes) {
  EmbeddingOptions options;
  options.dim = 8;
  const auto gradients = [](uint64_t step) {
    Tensor values = RandomRows(DType::kFloat32, {50, 8}, step);
    for (float& value : values.as<float>()) value -= 50;
    return values;
  };
  std::vector<Tensor> results;
  for (const bool crash : {false, true}) {
    for (const StepMode mode : {StepMode::kIndependent, StepMode::kSynchronous}) {
      const DistGraph graph = Connect(Transport::kAuto, "job" + std::to_string(results.size()));
      options.name = "e" + std::to_string(results.size());
      DistEmbedding embedding(graph, options);
      SparseAdam optimizer({&embedding}, {.mode = mode, .staleness = 2});
      for (uint64_t step = 0; step < 40; step++) {
        if (crash && step % 13 == 12) served_.Restart(step % 2);
        embedding.Backward(RandomIds(50, 100, step), gradients(step));
        optimizer.Step();
      }
      optimizer.Wait();
      results.push_back(All(embedding.weight()));
      EXPECT_TRUE(SameBits(results.back(), results.front()));
    }
  }
}

TEST_F(TensorCrash, SynchronousStepsContinueUnchangedAfterCrashes) {
  EmbeddingOptions options;
  options.name = "both";
  options.dim = 8;
  constexpr uint64_t kSteps = 60;
  std::vector<Tensor> results;
  for (const bool crash : {false, true}) {
    std::atomic<uint64_t> steps{0};
    std::vector<std::thread> trainers;
    Tensor seen;
    options.persistent = false;
    for (const int rank : {0, 1}) {
      trainers.emplace_back([&, rank] {
        try {
          const DistGraph graph = Connect(rank == 0 ? Transport::kAuto : Transport::kTcp,
                                          crash ? "crash" : "calm", rank, 2);
          DistEmbedding embedding(graph, options);
          SparseAdagrad optimizer({&embedding}, {.mode = StepMode::kSynchronous});
          graph.Barrier();
          for (uint64_t step = 0; step < kSteps; step++) {
            const uint64_t seed = 2 * step + static_cast<uint64_t>(rank);
            embedding.Backward(RandomIds(50, 100, seed),
                               RandomRows(DType::kFloat32, {50, 8}, seed));
            optimizer.Step();
            steps++;
          }
          if (rank == 0) seen = All(embedding.weight());
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (uint64_t kill = 0; crash && kill < 4; kill++) {
      while (steps < 20 * kill + 10 && !HasFailure()) ::usleep(1000);
      served_.Restart(kill % 2);
    }
    for (std::thread& trainer : trainers) trainer.join();
    results.push_back(std::move(seen));
  }
  EXPECT_TRUE(SameBits(results[0], results[1]));
}

TEST_F(TensorCrash, ALeaseOutlivesTheDaemonWhileItsJobLives) {
  TensorSpec spec = Counters();
  spec.writers = TensorWriters::kExclusive;
  const DistTensor ours = DistTensor::Create(Connect(Transport::kAuto, "ours"), spec);
  const DistTensor theirs = DistTensor::Create(Connect(Transport::kTcp, "theirs"), spec);
  Tensor row = Tensor::Empty(DType::kInt64, {1});
  row.as<int64_t>()[0] = 1;
  ours.Add(std::vector<int64_t>{7}, row);
  served_.Restart(0);
  served_.Restart(1);
  ours.Add(std::vector<int64_t>{7}, row);
  EXPECT_THROW(theirs.Add(std::vector<int64_t>{7}, row), Error);
  EXPECT_EQ(theirs.Slice(7, 8).as<int64_t>()[0], 2);
}

}  // namespace
}  // namespace graphd::testing
