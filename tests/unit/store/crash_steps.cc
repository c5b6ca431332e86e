// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/crash_steps.h"

#include "tests/unit/store/random_push.h"

namespace graphd::store {
namespace {

constexpr int64_t kRowsPerClient = 2000;
constexpr size_t kCrashElements = 8;
const UpdateRule kRule{.kind = UpdateKind::kAdagrad, .lr = 0.1F};

TableSpec RowsSpec() {
  TableSpec spec;
  spec.name = "rows";
  spec.row_shape = {kCrashElements};
  spec.rows = kRowsPerClient * static_cast<int64_t>(kCrashClients);
  spec.state = OptimizerState::kAdagrad;
  spec.initializer = {InitKind::kNormal, 0, 1, 9};
  return spec;
}

TableSpec CountsSpec() {
  TableSpec spec;
  spec.name = "counts";
  spec.dtype = DType::kInt64;
  spec.rows = static_cast<int64_t>(kCrashClients);
  return spec;
}

}  // namespace

StoreOptions CrashOptions(const std::string& directory, uint64_t memory_bytes,
                          const std::string& memory_dir) {
  StoreOptions options;
  options.directory = directory;
  options.memory_bytes = memory_bytes;
  options.memory_dir = memory_dir;
  options.log_segment_bytes = 100000;
  options.write_back_seconds = 0.005;
  return options;
}

void OpenCrashTables(Store& store) {
  store.OpenTable(RowsSpec());
  store.OpenTable(CountsSpec());
}

void CrashStep(Store& store, uint64_t client, uint64_t step) {
  const auto begin = static_cast<int64_t>(client) * kRowsPerClient;
  const RandomPush gradients(client, 2 * step, kRule, 100, begin, begin + kRowsPerClient,
                             kCrashElements);
  store.Apply(store.FindTable("rows"), gradients.push());
  const auto row = static_cast<int64_t>(client);
  const int64_t one = 1;
  Push count;
  count.rule.kind = UpdateKind::kAdd;
  count.client = {client, 0};
  count.sequence = 2 * step + 1;
  count.rows = {&row, 1};
  count.payload = std::as_bytes(std::span(&one, 1));
  store.Apply(store.FindTable("counts"), count);
}

}  // namespace graphd::store
