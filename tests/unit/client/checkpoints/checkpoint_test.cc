// SPDX-License-Identifier: Apache-2.0
// Tests checkpoints of two real daemons.
#include "graphd/checkpoint.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <thread>

#include "base/file.h"
#include "base/strings.h"
#include "graphd/sparse_optim.h"
#include "tests/unit/client/tensor_fixture.h"

namespace graphd::testing {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public TensorFixture {
 protected:
  static constexpr int64_t kDim = 12;

  static EmbeddingOptions NodeEmbedding() {
    EmbeddingOptions options;
    options.name = "emb";
    options.dim = kDim;
    return options;
  }
  // Returns the specification of a tensor with rows of its own (kRange).
  static TensorSpec RangeSpec() {
    TensorSpec spec;
    spec.name = "ranged";
    spec.persistent = true;
    spec.policy = TensorPolicy::kRange;
    spec.rows = 777;
    spec.dtype = DType::kInt64;
    return spec;
  }
  static std::string StateDir(const ServedGraphFixture& served) {
    return DirName(DirName(served.part_config())) + "/state";
  }
  // Applies gradients that depend on the original id, so that they are the same for every
  // partitioning.
  static void StepAdam(const DistGraph& graph, DistEmbedding& embedding, uint64_t seed) {
    const Tensor originals = All(graph.ndata("orig_id"));
    std::vector<int64_t> ids;
    std::vector<float> values;
    for (int64_t id = 0; id < kNodes; id++) {
      const int64_t original = originals.as<int64_t>()[static_cast<size_t>(id)];
      CounterRng random(CombineKeys(seed, static_cast<uint64_t>(original)));
      if (random.Below(3) == 0) continue;
      ids.push_back(id);
      for (int64_t k = 0; k < kDim; k++) {
        values.push_back(static_cast<float>(random.Below(2001)) / 1000 - 1);
      }
    }
    embedding.Backward(ids, Rows({static_cast<int64_t>(ids.size()), kDim}, values));
    SparseAdam adam({&embedding}, {.lr = 0.1F});
    adam.Step();
  }
  static std::vector<float> ByOriginal(const DistGraph& graph, const DistTensor& tensor) {
    const Tensor originals = All(graph.ndata("orig_id")), rows = All(tensor);
    std::vector<float> sorted(rows.as<float>().size());
    for (size_t id = 0; id < kNodes; id++) {
      const auto to = static_cast<size_t>(originals.as<int64_t>()[id]);
      std::copy_n(rows.as<float>().begin() + static_cast<std::ptrdiff_t>(id * kDim), kDim,
                  sorted.begin() + static_cast<std::ptrdiff_t>(to * kDim));
    }
    return sorted;
  }
  static ErrorCode Thrown(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::kInternal;
  }
};

TEST_F(Checkpoints, StatesAndFilesAreRestoredAlsoToThreePartitions) {
  std::vector<float> at_save, later;
  std::vector<int64_t> numbers(777);
  std::iota(numbers.begin(), numbers.end(), int64_t{5});
  {
    const DistGraph graph = Connect();
    DistEmbedding embedding(graph, NodeEmbedding());
    const DistTensor ranged = DistTensor::Create(graph, RangeSpec());
    std::vector<int64_t> ids(777);
    std::iota(ids.begin(), ids.end(), int64_t{0});
    Tensor rows = Tensor::Empty(DType::kInt64, {777});
    std::copy(numbers.begin(), numbers.end(), rows.as<int64_t>().begin());
    ranged.Write(ids, rows);
    for (uint64_t seed = 1; seed <= 3; seed++) StepAdam(graph, embedding, seed);
    at_save = ByOriginal(graph, embedding.weight());
    const std::string weights(3 << 20, 'w');
    const Checkpoint made =
        CreateCheckpoint(graph, "epoch-1", {{}, {{"model.pt", weights}, {"empty", ""}}});
    EXPECT_EQ(made.name, "epoch-1");
    EXPECT_EQ(made.num_parts, 2);
    EXPECT_EQ(made.tensors.size(), 2U);
    EXPECT_EQ(made.files.at("model.pt"), weights.size());
    EXPECT_EQ(Thrown([&] { CreateCheckpoint(graph, "epoch-1"); }), ErrorCode::kExists);
    EXPECT_EQ(Thrown([&] { CreateCheckpoint(graph, "../x"); }), ErrorCode::kInvalid);
    EXPECT_EQ(Thrown([&] { CreateCheckpoint(graph, "x", {{"none"}, {}}); }), ErrorCode::kNotFound);
    EXPECT_EQ(ListCheckpoints(graph).size(), 1U);
    EXPECT_EQ(ReadCheckpointFile(graph, "epoch-1", "model.pt"), weights);
    EXPECT_EQ(ReadCheckpointFile(graph, "epoch-1", "empty"), "");
    EXPECT_EQ(Thrown([&] { ReadCheckpointFile(graph, "epoch-1", "other"); }), ErrorCode::kNotFound);

    // After restoring in place, the next step gives the same result as before.
    StepAdam(graph, embedding, 4);
    later = ByOriginal(graph, embedding.weight());
    EXPECT_NE(later, at_save);
    StepAdam(graph, embedding, 5);
    RestoreCheckpoint(graph, "epoch-1");
    EXPECT_EQ(ByOriginal(graph, embedding.weight()), at_save);
    StepAdam(graph, embedding, 4);
    EXPECT_EQ(ByOriginal(graph, embedding.weight()), later);
  }
  // A graph with another number of partitions, whose servers have the checkpoints of the first one.
  ServedGraphFixture three(Ring(), Daemons{{0, 2}, {1}}, 3);
  fs::create_directories(StateDir(three) + "/hubs");
  fs::copy(StateDir(served_) + "/hubs/checkpoints", StateDir(three) + "/hubs/checkpoints",
           fs::copy_options::recursive);
  Options options = three.TrainerOptions(Transport::kAuto);
  options.job_id = "three";
  const DistGraph graph(Initialize(options));
  ASSERT_EQ(FindCheckpoint(graph, "epoch-1").num_parts, 2);
  RestoreCheckpoint(graph, "epoch-1");
  DistEmbedding embedding(graph, NodeEmbedding());
  EXPECT_EQ(ByOriginal(graph, embedding.weight()), at_save);
  StepAdam(graph, embedding, 4);
  EXPECT_EQ(ByOriginal(graph, embedding.weight()), later);
  const Tensor ranged = All(DistTensor::Open(graph, "ranged"));
  EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), ranged.as<int64_t>().begin()));
  DeleteCheckpoint(graph, "epoch-1");
  EXPECT_TRUE(ListCheckpoints(graph).empty());
  EXPECT_EQ(Thrown([&] { DeleteCheckpoint(graph, "epoch-1"); }), ErrorCode::kNotFound);
}

// Tests the output of graphctl checkpoint, and reads exported files with NumPy.
TEST_F(Checkpoints, GraphctlMakesShowsExportsRestoresAndDeletes) {
  const ScratchDirectory scratch;
  const auto graphctl = [&](const std::string& arguments) {
    return std::system(StrCat(GRAPHD_BIN_DIR "/graphctl checkpoint ", arguments,
                              " --server_name hubs --ip_config ", served_.ip_config(), " > ",
                              scratch / "out", " 2> ", scratch / "errors")
                           .c_str());
  };
  const auto exit_code = [&](const std::string& arguments) {
    const int status = graphctl(arguments);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  std::vector<float> at_save;
  {
    const DistGraph graph = Connect();
    DistEmbedding embedding(graph, NodeEmbedding());
    StepAdam(graph, embedding, 1);
    at_save = ByOriginal(graph, embedding.weight());
    embedding.weight().Release();
    WriteFileAtomically(scratch / "model.pt", "weights");
    ASSERT_EQ(exit_code("create one --file " + scratch / "model.pt"), 0)
        << ReadTextFile(scratch / "errors");
    StepAdam(graph, embedding, 2);
    EXPECT_EQ(exit_code("restore one"), 10);  // this job has the lease
    embedding.weight().Release();
    ASSERT_EQ(exit_code("restore one"), 0) << ReadTextFile(scratch / "errors");
    EXPECT_EQ(ByOriginal(graph, embedding.weight()), at_save);
  }
  ASSERT_EQ(exit_code("list --json"), 0);
  EXPECT_THAT(ReadTextFile(scratch / "out"), ::testing::HasSubstr("\"state\": \"adam\""));
  EXPECT_EQ(exit_code("show one"), 0);
  EXPECT_THAT(ReadTextFile(scratch / "out"), ::testing::HasSubstr("float32 [1000, 12]"));
  EXPECT_EQ(exit_code("create one"), 4);
  EXPECT_EQ(exit_code("show two"), 3);
  ASSERT_EQ(exit_code("export one --output " + scratch / "exported"), 0)
      << ReadTextFile(scratch / "errors");
  EXPECT_EQ(ReadTextFile(scratch / "exported/files/model.pt"), "weights");
  const std::string python =
      StrCat("/usr/bin/python3 -c \"import numpy; d='", scratch / "exported", "'; numpy.load(d + ",
             "'/emb.npy').tofile(d + '/raw'); assert numpy.load(d + '/emb.state.npy').shape == ",
             "(1000, 25)\"");
  ASSERT_EQ(std::system(python.c_str()), 0);
  const std::string raw = ReadTextFile(scratch / "exported/raw");
  ASSERT_EQ(raw.size(), at_save.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(raw.data(), at_save.data(), raw.size()), 0);
  EXPECT_EQ(exit_code("delete one"), 0);
  EXPECT_EQ(exit_code("delete one"), 3);
}

// A client adds to a row of either daemon in turn. The cut must contain every addition that was
// acknowledged before a later one that it contains.
TEST_F(Checkpoints, TheCutIsConsistentOverBothDaemons) {
  const DistGraph graph = Connect();
  TensorSpec spec = RangeSpec();
  spec.rows = 2;  // one row for each daemon
  const DistTensor counts = DistTensor::Create(graph, spec);
  std::atomic<bool> stop = false;
  std::thread client([&] {
    Tensor one = Tensor::Empty(DType::kInt64, {1});
    one.as<int64_t>()[0] = 1;
    const int64_t rows[] = {0, 1};
    while (!stop) {
      counts.Add({&rows[0], 1}, one);
      counts.Add({&rows[1], 1}, one);
    }
  });
  for (int i = 0; i < 8; i++) {
    CreateCheckpoint(graph, "c" + std::to_string(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  stop = true;
  client.join();
  int64_t last = 0;
  for (int i = 0; i < 8; i++) {
    RestoreCheckpoint(graph, "c" + std::to_string(i));
    const Tensor now = All(counts);
    const int64_t first = now.as<int64_t>()[0], second = now.as<int64_t>()[1];
    EXPECT_GE(first, second);
    EXPECT_LE(first, second + 1);
    EXPECT_GE(first, last);
    last = first;
  }
  EXPECT_GT(last, 0);
}

TEST_F(Checkpoints, DamagedCheckpointsAreRejectedBeforeAnyChange) {
  const DistGraph graph = Connect();
  const DistTensor ranged = DistTensor::Create(graph, RangeSpec());
  std::vector<int64_t> ids(777);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  ranged.Write(ids, RandomRows(DType::kInt64, {777}, 1));
  CreateCheckpoint(graph, "good", {{}, {{"weights", "abc"}}});
  CreateCheckpoint(graph, "bad", {{}, {{"weights", "abc"}}});
  ranged.Write(ids, RandomRows(DType::kInt64, {777}, 2));
  const Tensor now = All(ranged);
  const auto flip = [](const std::string& path) {
    std::string text = ReadTextFile(path);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 4);
    WriteFileAtomically(path, text);
  };
  const auto refused = [&](const std::function<void()>& f, const std::string& file) {
    try {
      f();
      ADD_FAILURE() << "not refused: " << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
      EXPECT_THAT(error.what(), ::testing::HasSubstr(file));
    }
  };
  int tables = 0;
  for (const auto& entry : fs::recursive_directory_iterator(StateDir(served_))) {
    const std::string path = entry.path();
    if (path.find("/bad/data/pages/") == std::string::npos) continue;
    if (entry.path().extension() != ".sst") continue;
    flip(path);
    // A daemon keeps verified files open and would continue to read the good file.
    for (const size_t daemon : {0, 1}) served_.Restart(daemon);
    tables++;
    refused([&] { RestoreCheckpoint(graph, "bad"); }, entry.path().filename());
    EXPECT_TRUE(SameBits(All(ranged), now));
    flip(path);
  }
  EXPECT_GT(tables, 0);
  EXPECT_EQ(ReadCheckpointFile(graph, "bad", "weights"), "abc");
  for (const auto& entry : fs::recursive_directory_iterator(StateDir(served_))) {
    const std::string path = entry.path();
    if (path.find("/bad/files/weights") != std::string::npos) {
      flip(path);
      refused([&] { ReadCheckpointFile(graph, "bad", "weights"); }, "files/weights");
    }
  }
  EXPECT_EQ(ListCheckpoints(graph).size(), 2U);
  for (const auto& entry : fs::recursive_directory_iterator(StateDir(served_))) {
    const std::string path = entry.path();
    if (path.find("/bad/manifest.json") != std::string::npos) {
      flip(path);
      refused([&] { RestoreCheckpoint(graph, "bad"); }, "manifest.json");
    }
  }
  ASSERT_EQ(ListCheckpoints(graph).size(), 1U);
  EXPECT_EQ(ListCheckpoints(graph)[0].name, "good");
  EXPECT_EQ(Thrown([&] { CreateCheckpoint(graph, "bad"); }), ErrorCode::kExists);
  DeleteCheckpoint(graph, "bad");
  RestoreCheckpoint(graph, "good");
}

TEST_F(Checkpoints, PartlyRestoredRowsAreNeverRead) {
  constexpr int64_t kWide = 4096;
  const DistGraph graph = Connect();
  TensorSpec spec;
  spec.name = "wide";
  spec.persistent = true;
  spec.dtype = DType::kInt64;
  spec.row_shape = {kWide};
  const DistTensor tensor = DistTensor::Create(graph, spec);
  std::vector<int64_t> ids(kNodes);
  std::iota(ids.begin(), ids.end(), int64_t{0});
  const auto write = [&](int64_t value) {
    Tensor rows = Tensor::Empty(DType::kInt64, {kNodes, kWide});
    for (int64_t& each : rows.as<int64_t>()) each = value;
    tensor.Write(ids, rows);
  };
  write(1);
  CreateCheckpoint(graph, "ones");
  write(2);
  CreateCheckpoint(graph, "twos");
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0}, refused{0}, mixed{0};
  std::vector<std::thread> readers;
  for (const Transport transport : {Transport::kAuto, Transport::kTcp}) {
    readers.emplace_back([&, transport] {
      const DistTensor read = DistTensor::Open(
          Connect(transport, transport == Transport::kTcp ? "far" : "near"), "wide");
      // The first and last rows of partition 0, and others.
      const std::vector<int64_t> some = {0, 1, 150, 300, 301, 400};
      while (!stop) {
        try {
          const Tensor rows = read.Read(some);
          for (const int64_t each : rows.as<int64_t>()) {
            if (each != rows.as<int64_t>()[0]) {
              mixed++;
              break;
            }
          }
          reads++;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
          EXPECT_THAT(error.what(), ::testing::HasSubstr("being restored"));
          refused++;
        }
      }
    });
  }
  while (reads < 50 && !HasFailure()) ::usleep(1000);
  for (int round = 0; round < 2; round++) {
    RestoreCheckpoint(graph, "ones");
    RestoreCheckpoint(graph, "twos");
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_GT(refused, 0);
}

// Kills a daemon, or the client, at random times: no incomplete checkpoint is listed.
TEST_F(Checkpoints, IncompleteCheckpointsAreNotListedAfterKill9) {
  CounterRng random(static_cast<uint64_t>(::getpid()));
  {
    const DistGraph graph = Connect();
    DistEmbedding embedding(graph, NodeEmbedding());
    StepAdam(graph, embedding, 1);
  }
  for (int round = 0; round < 12; round++) {
    const std::string name = "r" + std::to_string(round);
    const std::string job = "killed" + std::to_string(round);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        CreateCheckpoint(Connect(Transport::kTcp, job), name, {{}, {{"f", "contents"}}});
      } catch (const Error&) {
      }
      ::_exit(0);
    }
    ASSERT_GT(child, 0);
    ::usleep(static_cast<useconds_t>(random.Below(150000)));
    if (round % 3 == 0) {
      ::kill(child, SIGKILL);
    } else {
      served_.Restart(static_cast<size_t>(round % 2));
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    const DistGraph graph = Connect();
    for (const Checkpoint& each : ListCheckpoints(graph)) {
      ASSERT_EQ(ReadCheckpointFile(graph, each.name, "f"), "contents");
      RestoreCheckpoint(graph, each.name);
    }
    const std::string again = "again" + std::to_string(round);
    CreateCheckpoint(graph, again, {{}, {{"f", "contents"}}});
    EXPECT_EQ(FindCheckpoint(graph, again).num_parts, 2);
    DeleteCheckpoint(graph, again);
  }
}

}  // namespace
}  // namespace graphd::testing
