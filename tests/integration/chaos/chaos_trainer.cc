// SPDX-License-Identifier: Apache-2.0
// The trainer of the chaos test: trains an embedding with SparseAdagrad on daemons that are killed,
// stopped and cut off, and compares every row with a model, bit by bit. It may itself be killed: a
// journal says which steps were begun and acknowledged, and the next process builds the model again
// by making the same steps in standalone mode.
//
//   chaos_trainer JOURNAL NAME SEED   trains until SIGTERM, compares all rows, and exits with 0
//
// The environment names the daemons, the graph and the job as for any trainer, and GRAPHD_MODEL is
// the part config of the model's own graph. Lines of the journal: "begin K", "done K" (step K was
// acknowledged), "found K MASK" (K was in flight when the process was killed; MASK has a bit for
// each partition that had applied it).
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/strings.h"
#include "graphd/dist_embedding.h"
#include "graphd/dist_graph.h"
#include "graphd/sparse_optim.h"

namespace graphd {
namespace {

constexpr int64_t kDim = 16;
constexpr uint64_t kMaxRows = 300;
// A call that fails is repeated, because what it needs may be away for a while.
constexpr double kMaxAwaySeconds = 240;
// A process that replaces a killed one makes all steps again, so there must not be too many.
constexpr auto kPause = std::chrono::milliseconds(10);
constexpr int kWrong = 3, kHangs = 4;

std::atomic<bool> g_stop{false};

[[noreturn]] void Fail(int status, const std::string& text) {
  std::printf("FAILED: %s\n", text.c_str());
  std::fflush(stdout);
  std::_Exit(status);
}

// Calls f until it succeeds. Errors that faults of daemons and networks cause are expected.
template <class F>
auto Repeat(const char* what, F&& f) {
  for (const auto start = Clock::now();;) {
    try {
      return f();
    } catch (const Error& error) {
      const ErrorCode code = error.code();
      const std::string text = StrCat(what, ": ", ErrorCodeName(code), ": ", error.what());
      if (code != ErrorCode::kUnavailable && code != ErrorCode::kDeadline &&
          code != ErrorCode::kOverloaded && code != ErrorCode::kDenied) {
        Fail(kWrong, text);
      }
      if (SecondsSince(start) > kMaxAwaySeconds) Fail(kHangs, text);
      std::printf("again: %s\n", text.c_str());
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

// The rows and gradients of a step, which depend on the seed and its number alone.
struct Step {
  std::vector<int64_t> ids;
  std::vector<float> gradients;

  Step(uint64_t seed, int64_t number, int64_t nodes) {
    CounterRng random(seed * 1'000'003 + static_cast<uint64_t>(number));
    ids.resize(1 + random.Below(kMaxRows));
    for (int64_t& id : ids) id = static_cast<int64_t>(random.Below(static_cast<uint64_t>(nodes)));
    // Never 0: a step that is applied changes all of its rows.
    gradients.resize(ids.size() * kDim);
    for (float& g : gradients) g = 0.5F + static_cast<float>(random.Below(1000)) / 1000;
  }
  // Returns the part of the step that the partitions of a mask own.
  Step Of(const IdMap& nodes, uint64_t mask) const {
    Step part = *this;
    part.ids.clear();
    part.gradients.clear();
    for (size_t i = 0; i < ids.size(); i++) {
      if ((mask >> nodes.Owner(0, ids[i]) & 1) == 0) continue;
      part.ids.push_back(ids[i]);
      const auto first = gradients.begin() + static_cast<int64_t>(i) * kDim;
      part.gradients.insert(part.gradients.end(), first, first + kDim);
    }
    return part;
  }
  Tensor ToTensor() const {
    Tensor all = Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(ids.size()), kDim});
    std::memcpy(all.data(), gradients.data(), all.num_bytes());
    return all;
  }
};

// An embedding and its optimiser, on the daemons or in this process.
struct Training {
  Training(const DistGraph& graph, const std::string& name, uint64_t seed)
      : embedding(graph,
                  {.name = name, .dim = kDim, .initializer = Initializer::Uniform(-1, 1, seed)}),
        optimizer({&embedding}, StepOptions{.lr = 0.1F}) {}
  void Make(const Step& step) {
    if (step.ids.empty()) return;
    embedding.Backward(step.ids, step.ToTensor());
    // A step that failed is kept, and made by the next call.
    Repeat("step", [&] { optimizer.Step(); });
  }
  Tensor Rows(const std::vector<int64_t>& ids) const {
    return Repeat("read", [&] { return embedding.Forward(ids); });
  }
  DistEmbedding embedding;
  SparseAdagrad optimizer;
};

class Journal {
 public:
  explicit Journal(const std::string& path)
      : file_(OpenFile(path, O_RDWR | O_CREAT | O_APPEND)), path_(path) {}
  void Write(const std::string& text) const {
    const std::string line = text + "\n";
    WriteExactly(file_.get(), std::as_bytes(std::span(line)), path_);
  }
  // Calls f(word, step, mask) for each whole line.
  void Read(const std::function<void(const std::string&, int64_t, uint64_t)>& f) const {
    std::istringstream lines(ReadTextFile(path_));
    for (std::string line; std::getline(lines, line) && !lines.eof();) {
      std::istringstream words(line);
      std::string word;
      int64_t step = 0;
      uint64_t mask = 0;
      words >> word >> step >> mask;
      f(word, step, mask);
    }
  }

 private:
  UniqueFd file_;
  const std::string path_;
};

class Trainer {
 public:
  Trainer(const std::string& journal, const std::string& name, uint64_t seed)
      : seed_(seed),
        journal_(journal),
        graph_(Repeat("attach", [] { return DistGraph(Initialize()); })),
        alone_(Initialize(Alone())),
        nodes_(graph_.num_nodes()),
        model_(alone_, name, seed) {
    Replay();
    training_ = Repeat("open", [&] { return std::make_unique<Training>(graph_, name, seed_); });
    // Only after the process that was killed has left do its pushes come to an end.
    Repeat("lease", [&] { training_->embedding.weight().Acquire(); });
    if (in_flight_ != 0) FindOut();
  }

  void Run() {
    while (!g_stop) {
      const int64_t number = ++last_;
      const Step step(seed_, number, nodes_);
      journal_.Write(StrCat("begin ", number));
      training_->Make(step);
      journal_.Write(StrCat("done ", number));
      model_.Make(step);
      Compare(step.ids, number);
      std::printf("step %lld\n", static_cast<long long>(number));
      std::fflush(stdout);
      std::this_thread::sleep_for(kPause);
    }
    std::vector<int64_t> all(static_cast<size_t>(nodes_));
    for (int64_t id = 0; id < nodes_; id++) all[static_cast<size_t>(id)] = id;
    Compare(all, last_);
    std::printf("verified %lld steps, %lld rows, %lld in flight at a kill\n",
                static_cast<long long>(last_), static_cast<long long>(nodes_),
                static_cast<long long>(found_));
  }

 private:
  static Options Alone() {
    Options options;
    options.part_config = std::getenv("GRAPHD_MODEL");
    return options;
  }
  const IdMap& owners() const { return alone_.partition_book().nodes(); }

  // Builds the model from the journal.
  void Replay() {
    journal_.Read([&](const std::string& word, int64_t number, uint64_t mask) {
      if (word == "begin") in_flight_ = last_ = number;
      if (word == "done") model_.Make(Step(seed_, number, nodes_));
      if (word == "found") {
        model_.Make(Step(seed_, number, nodes_).Of(owners(), mask));
        found_++;
      }
      if (word != "begin") in_flight_ = 0;
    });
    std::printf("replayed %lld steps\n", static_cast<long long>(last_));
    std::fflush(stdout);
  }

  // Finds out which partitions have applied the step that was in flight when the last process was
  // killed. Each has applied all of its rows, or none.
  void FindOut() {
    const Step step(seed_, in_flight_, nodes_);
    uint64_t mask = 0;
    for (PartId part = 0; part < owners().num_parts(); part++) {
      const Step own = step.Of(owners(), uint64_t{1} << part);
      if (own.ids.empty()) continue;
      const Tensor now = training_->Rows(own.ids), before = model_.Rows(own.ids);
      if (std::memcmp(now.data(), before.data(), now.num_bytes()) != 0) mask |= uint64_t{1} << part;
    }
    model_.Make(step.Of(owners(), mask));
    Compare(step.ids, in_flight_);
    journal_.Write(StrCat("found ", in_flight_, " ", mask));
    found_++;
  }

  void Compare(const std::vector<int64_t>& ids, int64_t number) const {
    const Tensor now = training_->Rows(ids), wanted = model_.Rows(ids);
    if (std::memcmp(now.data(), wanted.data(), now.num_bytes()) == 0) return;
    size_t rows = 0;
    std::string first;
    for (size_t i = 0; i < ids.size(); i++) {
      const size_t at = i * kDim;
      if (std::memcmp(&now.as<float>()[at], &wanted.as<float>()[at], kDim * 4) == 0) continue;
      if (rows++ > 0) continue;
      first = StrCat("row ", ids[i], " of partition ", owners().Owner(0, ids[i]), " is ",
                     now.as<float>()[at], ", not ", wanted.as<float>()[at]);
    }
    Fail(kWrong,
         StrCat("after step ", number, " ", rows, " of ", ids.size(), " rows differ: ", first));
  }

  const uint64_t seed_;
  const Journal journal_;
  const DistGraph graph_, alone_;
  const int64_t nodes_;
  Training model_;
  std::unique_ptr<Training> training_;
  int64_t last_ = 0, in_flight_ = 0, found_ = 0;
};

}  // namespace
}  // namespace graphd

int main(int argc, char** argv) {
  using namespace graphd;
  if (argc != 4) return 2;
  ::signal(SIGTERM, [](int) { g_stop = true; });
  try {
    Trainer(argv[1], argv[2], static_cast<uint64_t>(std::atoi(argv[3]))).Run();
    return 0;
  } catch (const std::exception& error) {
    Fail(kWrong, error.what());
  }
}
