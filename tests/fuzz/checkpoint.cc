// SPDX-License-Identifier: Apache-2.0
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "client/checkpoints/manifest.h"
#include "store/checkpoint/checksums.h"
#include "store/checkpoint/tables.h"
#include "store/log/store_state.h"
#include "store/rows/file_checksum.h"
#include "store/share_record.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"

// Reads what a checkpoint and a store say about themselves: manifest, tables, sums, state.
// The first byte chooses the reader. Checksums of an input are corrected before it is read.

namespace graphd::fuzz {
namespace {

using nlohmann::json;

// Corrects the checksum of tables.json.
std::string CorrectTables(std::string_view text) {
  json tables = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!tables.is_object() || !tables.contains("tables")) return std::string(text);
  const std::string list = tables["tables"].dump();
  tables["checksum"] = XXH3_64bits(list.data(), list.size());
  return tables.dump();
}

std::string AddSum(const std::string& lines) {
  store::FileChecksum checksum;
  checksum.Add(lines.data(), lines.size());
  return lines + checksum.Digits() + "\n";
}

// Corrects the checksum in the head of a store's state.
std::string CorrectState(std::string text) {
  constexpr size_t kChecksum = 8, kBegin = 16;
  if (text.size() < kBegin) return text;
  const uint64_t checksum = XXH3_64bits(text.data() + kBegin, text.size() - kBegin);
  return text.replace(kChecksum, sizeof checksum, reinterpret_cast<const char*>(&checksum),
                      sizeof checksum);
}

Schema TestSchema() { return {{"u", "v"}, {{"u", "to", "v"}}}; }

TensorSpec TestTensor() {
  TensorSpec spec;
  spec.name = "emb";
  spec.persistent = true;
  spec.rows = 3;
  spec.row_shape = {2};
  return spec;
}

store::TableSpec TestTable() {
  return {.name = "emb", .row_shape = {2}, .rows = 3, .first_id = -1, .initializer = {}};
}

void ReadTables(InputFolder& folder, std::string_view input) {
  folder.Unpack(input);
  folder.Write("tables.json", CorrectTables(ReadTextFile(folder / "tables.json")));
  store::ReadCheckpointTables(folder.path());
}

void ReadSums(InputFolder& folder, std::string_view input) {
  folder.Unpack({});
  folder.Write("sums", AddSum(std::string(input)));
  store::CheckpointChecksums(folder.path()).VerifyAll("");
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"tables.json", "ids-1", "sums"});
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  switch (input[0]) {
    case 'm':
      DecodeManifest(std::string(rest), TestSchema());
      break;
    case 't':
      ReadTables(folder, rest);
      break;
    case 'd':
      store::DecodeSpec(std::string(rest));
      break;
    case 'r':
      store::EncodeRecord(store::DecodeRecord(TestTable(), std::string(rest)));
      break;
    case 's':
      ReadSums(folder, rest);
      break;
    default:
      store::DecodeState(CorrectState(std::string(rest)));
  }
}

std::vector<std::string> Seeds() {
  Manifest manifest;
  manifest.id = "0123";
  manifest.checkpoint.name = "c";
  manifest.checkpoint.num_parts = 2;
  manifest.checkpoint.tensors.push_back({TestTensor(), OptimizerState::kAdagrad});
  manifest.checkpoint.files["net.pt"] = 12;
  const InputFolder folder({});
  store::CheckpointTable table;
  table.id = 1;
  table.spec = TestTable();
  table.ids = std::make_shared<std::vector<int64_t>>(std::vector<int64_t>{4, 5, 9});
  store::WriteCheckpointTables(folder.path(), {table});
  store::StoreState state;
  state.lsn = 7;
  state.clients.resize(2);
  store::ShareRecord record;
  record.spec = TestTensor();
  record.num_parts = 2;
  return {'m' + EncodeManifest(manifest, TestSchema()),
          't' + PackDirectory(folder.path()),
          'd' + store::EncodeSpec(TestTable()),
          'r' + store::EncodeRecord(record),
          "s0123456789abcdef 12 tables.json\n0123456789abcdef 0 files/a b\n",
          'x' + store::EncodeState(state)};
}

}  // namespace graphd::fuzz
