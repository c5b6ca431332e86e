// SPDX-License-Identifier: Apache-2.0
// Tests a daemon whose disk is full: a small tmpfs, mounted only for this process and its daemons,
// and filled by another file. Needs root.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNodes = 1000;
constexpr int64_t kDim = 256;         // a row is 1 KiB
constexpr uint64_t kRoom = 16 << 20;  // enough for all rows and their log

RawGraph Ring() {
  EdgeList edges;
  for (uint32_t v = 0; v < kNodes; v++) edges.push_back({v, (v + 1) % uint32_t{kNodes}});
  return HomogeneousGraph(kNodes, edges);
}

// A private mount namespace: mounts of this thread and its children are invisible to others.
struct OwnMounts {
  OwnMounts() {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      ThrowErrno("can't mount as root does on", "/");
    }
  }
};

class FullDisk : public ::testing::TestWithParam<std::string> {
 protected:
  explicit FullDisk(const std::string& write_back_seconds = "0.5")
      : served_(Ring(), {{0}}, 1,
                {"--write_back_seconds", write_back_seconds, "--embedding_memory", GetParam(),
                 "--hang_timeout", "4"}) {}
  void SetUp() override {
    // Mount before the first tensor, when graphd creates the directory.
    MakeDirectories(disk_);
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=640m") != 0) {
      ThrowErrno("can't mount", disk_);
    }
  }
  void TearDown() override {
    served_.Kill(0);
    // Threads that wait for the disk do not hang.
    EXPECT_THAT(served_.daemon(0).Log(), Not(HasSubstr("has hung")));
    ::umount2(disk_.c_str(), MNT_DETACH);
  }

  void Fill() const {
    const UniqueFd file = OpenFile(filler_, O_WRONLY | O_CREAT | O_APPEND);
    const std::string bytes(size_t{1} << 16, 'x');
    for (size_t step = bytes.size(); step > 0;) {
      if (::write(file.get(), bytes.data(), step) <= 0) step /= 2;
    }
  }
  void MakeRoom() const { std::filesystem::remove(filler_); }

  DistGraph Connect(const std::string& job) const {
    Options options = served_.TrainerOptions(Transport::kTcp);
    options.job_id = job;
    options.timeout = std::chrono::seconds(8);
    return DistGraph(Initialize(options));
  }
  static DistTensor Make(const DistGraph& graph) {
    TensorSpec spec;
    spec.name = "sums";
    spec.row_shape = {kDim};
    spec.persistent = true;
    spec.writers = TensorWriters::kMany;
    return DistTensor::Create(graph, spec);
  }
  static void AddOne(const DistTensor& tensor, int64_t begin, int64_t end) {
    std::vector<int64_t> ids;
    for (int64_t id = begin; id < end; id++) ids.push_back(id);
    Tensor ones = Tensor::Empty(DType::kFloat32, {end - begin, kDim});
    for (float& one : ones.as<float>()) one = 1;
    tensor.Add(ids, ones);
  }
  static void ExpectAll(const DistTensor& tensor, int64_t begin, int64_t end, float value) {
    const Tensor rows = tensor.Slice(begin, end);
    for (const float each : rows.as<float>()) ASSERT_EQ(each, value);
  }
  std::string Trouble() const {
    const auto control =
        ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(5));
    return control->Status().store.value().trouble;
  }

  const OwnMounts own_mounts_;
  ServedGraphFixture served_;
  const std::string disk_ = DirName(served_.runtime_dir()) + "/state";
  const std::string filler_ = disk_ + "/filler";
};

// Changed rows are still not written back when the disk is full.
class FullDiskAtTheEnd : public FullDisk {
 protected:
  FullDiskAtTheEnd() : FullDisk("3600") {}
};

TEST_P(FullDisk, PushesReportWhyTheyWaitAndReadsContinue) {
  const DistTensor tensor = Make(Connect("writer")), reader = Make(Connect("reader"));
  AddOne(tensor, 0, 100);
  ExpectAll(reader, 0, 100, 1);
  Fill();
  // During the whole test, another thread reads a feature (so many rows that the daemon uses its
  // thread pool) and the rows of the tensor. If memory is bounded, reading the tensor fails, and
  // the error must name the reason.
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0}, refused{0};
  double slowest = 0;
  const DistGraph graph = Connect("graph");
  const std::vector<int64_t> many(100'000, 1);
  std::thread reading([&] {
    while (!stop) {
      const auto start = Clock::now();
      EXPECT_NO_THROW(graph.ndata("orig_id").Read(many));
      try {
        reader.Slice(0, kNodes);
      } catch (const Error& error) {
        EXPECT_NE(GetParam(), "1GiB");
        EXPECT_NE(std::string(error.what()).find("'sums'"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("no space for " + disk_), std::string::npos)
            << error.what();
        refused++;
      }
      slowest = std::max(slowest, SecondsSince(start));
      reads++;
    }
  });
  std::vector<std::thread> writers;
  std::atomic<int> failed{0};
  for (int w = 0; w < 4; w++) {
    writers.emplace_back([&, w] {
      try {
        const DistTensor own = Make(Connect("writer " + std::to_string(w)));
        for (int i = 0; i < 100; i++) AddOne(own, 100, 200);
      } catch (const Error& error) {
        failed++;
        EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
        const std::string text = error.what();
        EXPECT_NE(text.find("'sums'"), std::string::npos) << text;
        EXPECT_NE(text.find(disk_), std::string::npos) << text;
        EXPECT_NE(text.find("no space"), std::string::npos) << text;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(failed, 4);
  EXPECT_NE(Trouble().find("no space for " + disk_), std::string::npos) << Trouble();
  stop = true;
  reading.join();
  EXPECT_GT(reads, 20);
  EXPECT_EQ(refused > 0, GetParam() != "1GiB");
  EXPECT_LT(slowest, 3);

  MakeRoom();
  AddOne(tensor, 0, 100);
  ExpectAll(reader, 0, 100, 2);
  const auto start = Clock::now();
  while (!Trouble().empty() && SecondsSince(start) < 20) ::usleep(50'000);
  EXPECT_EQ(Trouble(), "");
  served_.daemon(0).Signal(SIGTERM);
  EXPECT_EQ(served_.daemon(0).Wait(), 0) << served_.daemon(0).Log();

  served_.StartAgain(0);
  served_.daemon(0).WaitReady(served_.socket_path(0));
  ExpectAll(reader, 0, 100, 2);
}

// The full disk also affects a new segment of the log and RocksDB's own files.
TEST_P(FullDisk, WriteBackContinuesWhenThereIsSpaceAgain) {
  const DistTensor tensor = Make(Connect("writer"));
  // Returns whether the daemon has trouble, or has none, within this time.
  const auto becomes = [&](bool troubled, double seconds) {
    const auto start = Clock::now();
    while (Trouble().empty() == troubled) {
      if (SecondsSince(start) > seconds) return false;
      ::usleep(50'000);
    }
    return true;
  };
  bool is_troubled = false;
  // A daemon that has written all rows back before the disk is full has no trouble with it, so
  // little is left to fill when the rows are changed.
  Fill();
  int added = 0;
  while (!is_troubled && added < 5) {
    std::filesystem::resize_file(filler_, FileSize(filler_) - kRoom);
    AddOne(tensor, 0, kNodes / 8);
    added++;
    Fill();
    is_troubled = becomes(true, 4);
  }
  EXPECT_TRUE(is_troubled);
  ExpectAll(tensor, 0, kNodes / 8, static_cast<float>(added));
  MakeRoom();
  EXPECT_TRUE(becomes(false, 20)) << Trouble();
  AddOne(tensor, 0, kNodes / 8);
  ExpectAll(tensor, 0, kNodes / 8, static_cast<float>(added + 1));
}

TEST_P(FullDiskAtTheEnd, GraphdStillStopsCleanly) {
  const DistTensor tensor = Make(Connect("writer"));
  AddOne(tensor, 0, 100);
  ExpectAll(tensor, 0, 100, 1);
  Fill();
  const auto start = Clock::now();
  served_.daemon(0).Signal(SIGTERM);
  EXPECT_EQ(served_.daemon(0).Wait(), 0) << served_.daemon(0).Log();
  EXPECT_LT(SecondsSince(start), 20);
  MakeRoom();
  served_.StartAgain(0);
  served_.daemon(0).WaitReady(served_.socket_path(0));
  ExpectAll(tensor, 0, 100, 1);
}

// While nothing can be written back, each way of stopping at once is taken, and loses nothing.
TEST_P(FullDiskAtTheEnd, GraphdStopsAtOnceIfItIsTold) {
  const DistTensor tensor = Make(Connect("writer"));
  for (const bool by_signal : {true, false}) {
    AddOne(tensor, 0, 100);
    Fill();
    GraphdProcess& daemon = served_.daemon(0);
    auto control = ControlClient::ConnectUnix(served_.socket_path(0), std::chrono::seconds(5));
    daemon.Signal(SIGTERM);
    try {
      ServerStatus status = control->Status();
      while (status.state != "draining") status = control->Status();
      EXPECT_LE(status.store.value().written_bytes, status.store.value().changed_bytes);
      by_signal ? daemon.Signal(SIGTERM) : control->Shutdown(true, 0);
    } catch (const Error&) {  // it has ended, because the disk is full
    }
    control.reset();
    EXPECT_EQ(daemon.Wait(), 0) << daemon.Log();
    // On a busy machine, the daemon may have found out before that the disk is full.
    EXPECT_THAT(daemon.Log(), AnyOf(HasSubstr("written back; the next start reads them"),
                                    HasSubstr("writing changed rows back: ")));
    EXPECT_FALSE(FileExists(served_.socket_path(0)));
    MakeRoom();
    served_.StartAgain(0);
    served_.daemon(0).WaitReady(served_.socket_path(0));
    ExpectAll(tensor, 0, 100, by_signal ? 1 : 2);
  }
}

const auto kMemories = ::testing::Values("1GiB", "256KiB");
const auto NameOf = [](const auto& tested) { return "With" + tested.param; };
INSTANTIATE_TEST_SUITE_P(Memory, FullDisk, kMemories, NameOf);
INSTANTIATE_TEST_SUITE_P(Memory, FullDiskAtTheEnd, kMemories, NameOf);

}  // namespace
}  // namespace graphd::testing
