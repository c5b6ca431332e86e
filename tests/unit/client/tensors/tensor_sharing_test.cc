// SPDX-License-Identifier: Apache-2.0
// Tests several sessions and jobs that use the same tensors.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/clock.h"
#include "client/tensors/table_source.h"
#include "graphd/interrupt.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

class TensorSharing : public TensorFixture {
 protected:
  static TensorSpec Spec(const std::string& name, bool persistent,
                         TensorWriters writers = TensorWriters::kExclusive) {
    TensorSpec spec;
    spec.name = name;
    spec.persistent = persistent;
    spec.dtype = DType::kInt64;
    spec.writers = writers;
    return spec;
  }
  static void AddOne(const DistTensor& tensor, int64_t id) {
    Tensor one = Tensor::Empty(DType::kInt64, {1});
    one.as<int64_t>()[0] = 1;
    tensor.Add(std::vector<int64_t>{id}, one);
  }
  static int64_t At(const DistTensor& tensor, int64_t id) {
    return tensor.Read(std::vector<int64_t>{id}).as<int64_t>()[0];
  }
};

TEST_F(TensorSharing, TensorsOfAJobAreInvisibleToOthers) {
  const DistGraph a = Connect(Transport::kAuto, "a", 0, 2), b = Connect(Transport::kTcp, "b");
  const DistTensor of_a = DistTensor::Create(a, Spec("mine", false));
  AddOne(of_a, 3);
  ExpectError([&] { DistTensor::Open(b, "mine"); }, ErrorCode::kNotFound, "mine");
  EXPECT_TRUE(DistTensor::List(b).empty());
  const DistTensor of_b = DistTensor::Create(b, Spec("mine", false));
  EXPECT_EQ(At(of_b, 3), 0);
  EXPECT_EQ(At(of_a, 3), 1);
  const auto list = DistTensor::List(a);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].job_id, "a");
  EXPECT_EQ(list[0].spec.rows, kNodes);
  // Another trainer of the job sees the tensor.
  EXPECT_EQ(At(DistTensor::Open(Connect(Transport::kUnix, "a", 1, 2), "mine"), 3), 1);
}

TEST_F(TensorSharing, AMappedReaderLearnsThatATensorWasDropped) {
  for (const bool persistent : {true, false}) {
    const DistGraph a = Connect(Transport::kAuto, "a", 0, 2);
    const DistGraph b = Connect(Transport::kAuto, persistent ? "b" : "a", 1, 2);
    const DistTensor of_a = DistTensor::Create(a, Spec("shared", persistent));
    const DistTensor of_b = DistTensor::Create(b, Spec("shared", persistent));
    AddOne(of_a, 1);
    EXPECT_EQ(At(of_b, 1), 1);
    of_a.Release();
    DistTensor::Drop(a, "shared");
    ExpectError(
        [&] {
          const auto start = Clock::now();
          while (SecondsSince(start) < 10) At(of_b, 1);
        },
        ErrorCode::kNotFound, "'shared' is gone");
    ExpectError([&] { At(of_b, 1); }, ErrorCode::kNotFound, "dropped");
  }
}

TEST_F(TensorSharing, AFailedAcquireKeepsTheLeasesOfTheJob) {
  const DistGraph a0 = Connect(Transport::kAuto, "a", 0, 2);
  const DistGraph a1 = Connect(Transport::kTcp, "a", 1, 2);
  const DistGraph b = Connect(Transport::kTcp, "b");
  const DistTensor of_a0 = DistTensor::Create(a0, Spec("shared", true));
  const DistTensor of_a1 = DistTensor::Create(a1, Spec("shared", true));
  const DistTensor of_b = DistTensor::Create(b, Spec("shared", true));
  // Job a has the lease in partition 0, job b in partition 1, as after a late restart of a server.
  const auto lease = [](const DistGraph& graph, const DistTensor& tensor, PartId part) {
    const auto& table = dynamic_cast<TableSource&>(*tensor.source());
    graph.access()->ports()[static_cast<size_t>(part)]->Lease(table.table(part), true);
  };
  lease(a0, of_a0, 0);
  lease(b, of_b, 1);
  ExpectError([&] { of_a1.Acquire(); }, ErrorCode::kDenied, "job b");
  for (const TensorInfo& info : DistTensor::List(b)) EXPECT_EQ(info.holder, "a");
}

TEST_F(TensorSharing, OneJobWritesAnExclusiveTensorAtATime) {
  const DistGraph a = Connect(Transport::kAuto, "a"), b = Connect(Transport::kTcp, "b");
  const DistTensor of_a = DistTensor::Create(a, Spec("shared", true));
  const DistTensor of_b = DistTensor::Create(b, Spec("shared", true));
  AddOne(of_a, 1);
  EXPECT_EQ(DistTensor::List(b)[0].holder, "a");
  ExpectError([&] { AddOne(of_b, 1); }, ErrorCode::kDenied, "job a");
  ExpectError([&] { of_b.Acquire(); }, ErrorCode::kDenied, "job a");
  ExpectError([&] { DistTensor::Drop(b, "shared"); }, ErrorCode::kDenied, "job a");
  EXPECT_EQ(At(of_b, 1), 1);
  of_a.Release();
  AddOne(of_b, 1);
  ExpectError([&] { AddOne(of_a, 1); }, ErrorCode::kDenied, "job b");
  EXPECT_EQ(At(of_a, 1), 2);
}

TEST_F(TensorSharing, ALeaseThatAnotherTrainerGaveBackIsTakenAgain) {
  const DistTensor one =
      DistTensor::Create(Connect(Transport::kAuto, "a", 0, 2), Spec("shared", true));
  const DistTensor two = DistTensor::Open(Connect(Transport::kTcp, "a", 1, 2), "shared");
  AddOne(one, 1);
  AddOne(two, 1);
  two.Release();
  AddOne(one, 1);
  EXPECT_EQ(At(two, 1), 3);
}

TEST_F(TensorSharing, AMismatchingReopenReportsTheDifference) {
  const DistGraph a = Connect(), b = Connect(Transport::kTcp, "b");
  DistTensor::Create(a, Spec("t", true));
  TensorSpec other = Spec("t", true, TensorWriters::kMany);
  ExpectError([&] { DistTensor::Create(b, other); }, ErrorCode::kInvalid, "written by");
  other = Spec("t", true);
  other.dtype = DType::kFloat32;
  other.row_shape = {8};
  ExpectError([&] { DistTensor::Create(b, other); }, ErrorCode::kInvalid, "float32");
  other = Spec("t", true);
  other.policy = TensorPolicy::kEdge;
  ExpectError([&] { DistTensor::Create(b, other); }, ErrorCode::kInvalid, "edge type");
}

TEST_F(TensorSharing, SixHundredConcurrentIncrementsAreSixHundred) {
  const Transport transports[] = {Transport::kAuto, Transport::kUnix, Transport::kTcp};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; t++) {
    threads.emplace_back([&, t] {
      const DistTensor counters =
          DistTensor::Create(Connect(transports[t % 3], "job" + std::to_string(t)),
                             Spec("counters", true, TensorWriters::kMany));
      for (int i = 0; i < 100; i++) {
        // Two rows, one in each partition, and one of them twice.
        Tensor ones = Tensor::Empty(DType::kInt64, {3});
        for (int64_t& one : ones.as<int64_t>()) one = 1;
        counters.Add(std::vector<int64_t>{5, kNodes - 5, 5}, ones);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const DistTensor counters = DistTensor::Open(Connect(), "counters");
  EXPECT_EQ(At(counters, 5), 1200);
  EXPECT_EQ(At(counters, kNodes - 5), 600);
}

TEST_F(TensorSharing, ThreadsOfOneTrainerMayWriteAtOnce) {
  const DistTensor counters = DistTensor::Create(Connect(Transport::kTcp), Spec("c", false));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; i++) AddOne(counters, 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(At(counters, 5), 400);
}

TEST_F(TensorSharing, OneProcessFillsATensorAndTheOthersWait) {
  std::atomic<int64_t> filled{0};
  std::atomic<int> fillers{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      const DistGraph graph = Connect(t == 0 ? Transport::kAuto : Transport::kTcp, "test", t, 3);
      TensorSpec spec = Spec("filled", false);
      spec.row_shape = {3000};  // several slices
      int64_t last = -1;
      const DistTensor tensor = DistTensor::Create(graph, spec, [&](int64_t begin, Tensor& rows) {
        fillers += last < 0;
        EXPECT_GT(begin, last);
        last = begin;
        filled += rows.num_rows();
        const auto values = rows.as<int64_t>();
        for (size_t i = 0; i < values.size(); i++) {
          values[i] = begin + static_cast<int64_t>(i / 3000);
        }
      });
      for (const int64_t id : RandomIds(30, kNodes, static_cast<uint64_t>(t))) {
        wrong += tensor.Slice(id, id + 1).as<int64_t>()[2999] != id;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(filled, kNodes);
  EXPECT_EQ(fillers, 1);
  EXPECT_EQ(wrong, 0);
}

TEST_F(TensorSharing, AFillerThatDiesIsReplaced) {
  {
    const DistGraph graph = Connect();
    EXPECT_THROW(DistTensor::Create(graph, Spec("filled", true),
                                    [](int64_t, Tensor&) { throw std::runtime_error("died"); }),
                 std::runtime_error);
  }
  const DistGraph graph = Connect(Transport::kTcp);
  const DistTensor tensor =
      DistTensor::Create(graph, Spec("filled", true), [](int64_t begin, Tensor& rows) {
        std::iota(rows.as<int64_t>().begin(), rows.as<int64_t>().end(), begin);
      });
  EXPECT_EQ(At(tensor, 0), 0);
  EXPECT_EQ(At(tensor, kNodes - 1), kNodes - 1);
}

TEST_F(TensorSharing, AFillerThatFailsIsReplacedWhileItLives) {
  const DistGraph graph = Connect(Transport::kAuto, "test", 0, 2),
                  other = Connect(Transport::kTcp, "test", 1, 2);
  const auto fails = [](int64_t, Tensor&) { throw std::runtime_error("can't"); };
  struct Stopped {};
  for (int way = 0; way < 2; way++) {
    const TensorSpec spec = Spec("filled " + std::to_string(way), false);
    if (way == 0) {
      EXPECT_THROW(DistTensor::Create(graph, spec, fails), std::runtime_error);
    } else {
      const InterruptCheck check([] { throw Stopped{}; });
      served_.daemon(1).Signal(SIGSTOP);
      std::thread goes_on([&] {
        ::usleep(200'000);
        served_.daemon(1).Signal(SIGCONT);
      });
      EXPECT_THROW(DistTensor::Create(graph, spec, fails), Stopped);
      goes_on.join();
    }
    const auto start = Clock::now();
    for (const DistGraph* next : {&other, &graph}) {
      const DistTensor tensor = DistTensor::Create(*next, spec, [](int64_t begin, Tensor& rows) {
        std::iota(rows.as<int64_t>().begin(), rows.as<int64_t>().end(), begin);
      });
      EXPECT_EQ(At(tensor, kNodes - 1), kNodes - 1);
    }
    EXPECT_LT(SecondsSince(start), 5);
  }
}

TEST_F(TensorSharing, StandaloneTensorsPersistInTheirDirectory) {
  ScratchDirectory scratch;
  Options options = served_.StandaloneOptions();
  options.state_dir = scratch / "state";
  for (int64_t run = 0; run < 3; run++) {
    const DistGraph graph(Initialize(options));
    const DistTensor tensor = DistTensor::Create(graph, Spec("kept", true));
    EXPECT_EQ(At(tensor, 3), run);
    AddOne(tensor, 3);
    AddOne(DistTensor::Create(graph, Spec("not", false)), 3);
    EXPECT_EQ(At(DistTensor::Open(graph, "not"), 3), 1);
    const DistGraph other(Initialize(options));
    ExpectError([&] { DistTensor::List(other); }, ErrorCode::kExists, "state");
  }
}

}  // namespace
}  // namespace graphd::testing
