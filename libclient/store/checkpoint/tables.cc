// SPDX-License-Identifier: Apache-2.0
#include "store/checkpoint/tables.h"

#include <fcntl.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/strict_json.h"

namespace graphd::store {
namespace {

std::string TablesPath(const std::string& directory) { return directory + "/tables.json"; }

std::string IdsPath(const std::string& directory, uint32_t id) {
  return StrCat(directory, "/ids-", id);
}

uint64_t ChecksumOfIds(const Table::RowIds& ids) {
  return ids == nullptr ? 0 : XXH3_64bits(ids->data(), ids->size() * sizeof(int64_t));
}

Table::RowIds ReadIds(const std::string& path, int64_t rows, uint64_t checksum) {
  const uint64_t size = FileSize(path);
  if (size % sizeof(int64_t) != 0 || size / sizeof(int64_t) != static_cast<uint64_t>(rows)) {
    Throw(ErrorCode::kCorrupt, path, " has ", size, " bytes, expected ", rows, " ids of 8 bytes");
  }
  auto ids = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(rows));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(*ids));
  ReadExactly(OpenFile(path, O_RDONLY).get(), 0, bytes, path);
  if (ChecksumOfIds(ids) != checksum) Throw(ErrorCode::kCorrupt, path, ": its checksum is wrong");
  return ids;
}

uint64_t ChecksumOfTables(const StrictJson& tables) {
  const std::string text = tables.dump();
  return XXH3_64bits(text.data(), text.size());
}

template <class F>
void EachTable(const std::string& directory, const F& f) {
  const std::string path = TablesPath(directory);
  try {
    const StrictJson json = StrictJson::parse(ReadTextFile(path));
    if (json.at("checksum").get<uint64_t>() != ChecksumOfTables(json.at("tables"))) {
      Throw(ErrorCode::kCorrupt, path, ": its checksum is wrong");
    }
    for (const StrictJson& table : json.at("tables")) f(table);
  } catch (const StrictJson::exception& error) {
    Throw(ErrorCode::kCorrupt, path, " is damaged: ", error.what());
  }
}

}  // namespace

std::string CheckpointPagesPath(const std::string& directory) { return directory + "/pages"; }

void WriteCheckpointTables(const std::string& directory,
                           const std::vector<CheckpointTable>& tables) {
  StrictJson list = StrictJson::array();
  for (const CheckpointTable& table : tables) {
    list.push_back({{"id", table.id},
                    {"spec", EncodeSpec(table.spec)},
                    {"ids_checksum", ChecksumOfIds(table.ids)}});
    if (table.spec.first_id != -1) continue;
    const auto* ids = reinterpret_cast<const char*>(table.ids->data());
    WriteFileAtomically(IdsPath(directory, table.id), {ids, table.ids->size() * sizeof(int64_t)});
  }
  const StrictJson json = {{"tables", list}, {"checksum", ChecksumOfTables(list)}};
  WriteFileAtomically(TablesPath(directory), json.dump(1));
  SyncDirectory(directory);
}

std::vector<CheckpointTable> ReadCheckpointTables(const std::string& directory) {
  std::vector<CheckpointTable> tables;
  EachTable(directory, [&](const StrictJson& table) {
    tables.push_back({table.at("id"), DecodeSpec(table.at("spec")), nullptr});
    CheckpointTable& last = tables.back();
    if (last.spec.first_id != -1) return;
    last.ids = ReadIds(IdsPath(directory, last.id), last.spec.rows, table.at("ids_checksum"));
  });
  return tables;
}

std::vector<TableSpec> ReadCheckpointSpecs(const std::string& directory) {
  std::vector<TableSpec> specs;
  EachTable(directory,
            [&](const StrictJson& table) { specs.push_back(DecodeSpec(table.at("spec"))); });
  return specs;
}

}  // namespace graphd::store
