// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/strings.h"
#include "bench/store/push_loop.h"
#include "bench/support/bench_graph.h"
#include "bench/support/limits.h"
#include "graphd/sparse_optim.h"

// Measures the steps of a trainer whose table of embeddings is four times as large as the memory
// that graphd may use for it (--embedding_memory): 2.4 million rows of 128 floats with Adagrad. A
// step reads 4,000 rows, passes their gradients back, and steps: a push has to have all its pages,
// of 64 rows each, in memory at once.
//
// The kernel would keep RocksDB's files in memory. Their cached pages are therefore dropped before
// each step, outside of the measured time, so that rows that are not in graphd's memory come from
// the disk.
//
// "read_MB" and "written_MB" are what the daemon reads and writes per step, merging of files
// included. "disk_rows/s" is the limit of a disk that only reads: 16 threads read blocks of the
// size of a table's page at random places of a file of the table's size, without any cache.
// "of_disk" is the rate of rows relative to this limit, and "disk_in_use" is the rate of all bytes
// relative to it. "disk_of_table" is the size of all files at the end, relative to the table's
// size.

namespace graphd::bench {
namespace {

constexpr size_t kTableBytes = 2 * static_cast<size_t>(kTableRows) * kElements * sizeof(float);
constexpr size_t kStepRows = 4000;
constexpr size_t kPageBytes = 64 * 2 * kElements * sizeof(float);  // 64 rows with their states

// The bytes that a process has moved by system calls.
struct Moved {
  double read = 0, written = 0;
};
Moved BytesMoved(pid_t pid) {
  Moved moved;
  std::ifstream io(StrCat("/proc/", pid, "/io"));
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with("rchar:")) moved.read = std::stod(line.substr(6));
    if (line.starts_with("wchar:")) moved.written = std::stod(line.substr(6));
  }
  return moved;
}

double BytesIn(const std::string& directory) {
  double bytes = 0;
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator each(directory, ignored), end; each != end;
       each.increment(ignored)) {
    if (each->is_regular_file(ignored)) bytes += static_cast<double>(each->file_size(ignored));
  }
  return bytes;
}

void DropCachedFiles(const std::string& directory) {
  std::error_code ignored;
  for (std::filesystem::recursive_directory_iterator each(directory, ignored), end; each != end;
       each.increment(ignored)) {
    const UniqueFd file(::open(each->path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

void BM_BoundedEmbedding(benchmark::State& state) {
  const bool zipf = state.range(0) != 0;
  const ServedGraph graph(1000, 1, 1, {"--embedding_memory", StrCat(kTableBytes / 4)});
  const double disk = RandomDiskBytesPerSecond(graph.directory(), kTableBytes, kPageBytes);
  const DistGraph dist(Initialize(graph.ClientOptions(Transport::kAuto)));
  EmbeddingOptions options;
  options.name = "embedding";
  options.dim = static_cast<int64_t>(kElements);
  options.policy = TensorPolicy::kRange;
  options.num_embeddings = kTableRows;
  DistEmbedding embedding(dist, options);
  SparseAdagrad optimizer({&embedding}, {});
  Tensor gradients = Tensor::Empty(
      DType::kFloat32, {static_cast<int64_t>(kStepRows), static_cast<int64_t>(kElements)});
  std::ranges::copy(std::span(Gradients()).first(kStepRows * kElements),
                    gradients.as<float>().begin());
  const auto step = [&](std::span<const int64_t> ids) {
    benchmark::DoNotOptimize(embedding.Forward(ids).data());
    embedding.Backward(ids, Tensor(gradients));
    optimizer.Step();
  };
  // Changes all rows, so that all pages are written to the disk.
  std::vector<int64_t> ids(kStepRows);
  for (int64_t first = 0; first < kTableRows; first += static_cast<int64_t>(kStepRows)) {
    std::iota(ids.begin(), ids.end(), first);
    step(ids);
  }
  const auto pushes = DrawRows(zipf);
  std::vector<double> times;
  double seconds = 0;
  const Moved before = BytesMoved(graph.pid());
  for (auto _ : state) {
    DropCachedFiles(graph.directory());
    const auto begin = std::chrono::steady_clock::now();
    step(std::span(pushes[times.size() % kPushes]).first(kStepRows));
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    seconds += times.back();
    state.SetIterationTime(times.back());
  }
  const Moved after = BytesMoved(graph.pid());
  const auto steps = static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  state.counters["rows/s"] = steps * kStepRows / seconds;
  state.counters["p50_ms"] = times[times.size() / 2] * 1e3;
  state.counters["p99_ms"] = times[times.size() * 99 / 100] * 1e3;
  state.counters["read_MB"] = (after.read - before.read) / steps / 1e6;
  state.counters["written_MB"] = (after.written - before.written) / steps / 1e6;
  state.counters["disk_rows/s"] = disk / kPageBytes;
  state.counters["of_disk"] = steps * kStepRows / seconds / (disk / kPageBytes);
  const double moved = after.read - before.read + after.written - before.written;
  state.counters["disk_in_use"] = moved / seconds / disk;
  state.counters["disk_of_table"] = BytesIn(graph.directory()) / kTableBytes;
  state.SetLabel(zipf ? "Zipf" : "uniform");
}
BENCHMARK(BM_BoundedEmbedding)
    ->ArgName("zipf")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(30)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
