// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "graphd/error.h"
#include "store/checkpoint/reader.h"
#include "store/store.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/random_push.h"

// A small table, random pushes to it, and functions that read the result.

namespace graphd::store::testing {

constexpr int64_t kRows = 1000;
constexpr size_t kElements = 6;
inline const UpdateRule kAdagrad{.kind = UpdateKind::kAdagrad, .lr = 0.1F};

inline TableSpec Spec(const std::string& name = "emb",
                      OptimizerState state = OptimizerState::kAdagrad) {
  TableSpec spec;
  spec.name = name;
  spec.row_shape = {kElements};
  spec.rows = kRows;
  spec.first_id = 5000;
  spec.state = state;
  spec.initializer = {InitKind::kUniform, -1, 1, 3};
  return spec;
}

inline StoreOptions Options(const graphd::testing::ScratchDirectory& scratch) {
  StoreOptions options;
  options.directory = scratch / "store";
  options.write_back_seconds = 1e6;
  return options;
}

inline std::vector<float> AllRows(Table& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.spec().rows));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  std::vector<float> values(rows.size() * table.spec().row_elements());
  table.Read(rows, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

// Returns all rows' values and all rows' states, read from a checkpoint.
inline std::pair<std::vector<float>, std::vector<float>> WithStates(Store& store,
                                                                    const std::string& name) {
  const graphd::testing::ScratchDirectory scratch;
  store.WriteCheckpoint(scratch / "checkpoint", {name}, *store.HoldPushes());
  const CheckpointReader reader(scratch / "checkpoint");
  const TableSpec& spec = reader.FindTable(name);
  const auto rows = static_cast<size_t>(spec.rows);
  std::vector<float> values(rows * spec.row_elements());
  std::vector<float> states(rows * StateFloats(spec.state, spec.row_elements()));
  reader.ReadRows(name, 0, spec.rows, std::as_writable_bytes(std::span(values)), states);
  return {values, states};
}

// Returns the names of all files in a directory with their sizes and times. Throws
// std::filesystem::filesystem_error if one is removed meanwhile.
inline auto FilesIn(const std::string& directory) {
  namespace fs = std::filesystem;
  std::set<std::tuple<std::string, uintmax_t, fs::file_time_type>> files;
  for (const auto& each : fs::recursive_directory_iterator(directory)) {
    if (!each.is_regular_file()) continue;
    files.emplace(each.path().string(), each.file_size(), each.last_write_time());
  }
  return files;
}

// Copies the store's files as kill -9 would leave them. The store is idle, but RocksDB may still be
// merging files and removing those that it no longer needs. A copy is therefore made again unless
// the files were the same before and after.
inline void CopyStore(const StoreOptions& from, const std::string& to) {
  namespace fs = std::filesystem;
  for (const auto end = Clock::now() + std::chrono::minutes(1); Clock::now() < end;) {
    try {
      const auto before = FilesIn(from.directory);
      fs::copy(from.directory, to, fs::copy_options::recursive);
      fs::remove(fs::path(to) / "pages" / "LOCK");
      if (FilesIn(from.directory) == before) return;
    } catch (const fs::filesystem_error&) {  // a file was removed meanwhile
    }
    fs::remove_all(to);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "the files of " << from.directory << " change all the time";
}

inline void ApplyRandom(Store& store, const std::shared_ptr<Table>& table, uint64_t first,
                        uint64_t last, const UpdateRule& rule = kAdagrad) {
  for (uint64_t i = first; i <= last; i++) {
    store.Apply(table, RandomPush(1, i, rule, 300, 0, kRows, kElements).push());
  }
}

inline std::string Failure(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

}  // namespace graphd::store::testing
