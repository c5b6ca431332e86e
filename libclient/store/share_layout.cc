// SPDX-License-Identifier: Apache-2.0
#include "store/share_layout.h"

#include <xxhash.h>

#include <algorithm>
#include <span>

#include "base/memory_limit.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

std::string DTypeAndShape(const TensorSpec& spec) {
  std::vector<std::string> extents;
  for (const int64_t extent : spec.shape()) extents.push_back(std::to_string(extent));
  return StrCat(DTypeName(spec.dtype), " [", Join(extents, ", "), "]");
}

const char* WritersText(TensorWriters writers) {
  return writers == TensorWriters::kMany ? "many" : "exclusive";
}

// Returns whether each partition owns the same rows in `a` as in `b`.
bool OwnSameRows(const TensorRows& a, const TensorRows& b) {
  if (a.map == b.map) return a.type == b.type;
  const IdMap &first = *a.map, &second = *b.map;
  if (first.num_parts() != second.num_parts() || first.is_range() != second.is_range() ||
      a.total() != b.total()) {
    return false;
  }
  if (!first.is_range()) {
    return first.ranges() == second.ranges() && a.type == b.type &&
           std::equal(first.owners().begin(), first.owners().end(), second.owners().begin(),
                      second.owners().end());
  }
  for (PartId part = 0; part < first.num_parts(); part++) {
    if (first.type_begin(part, a.type) != second.type_begin(part, b.type)) return false;
  }
  return true;
}

// Returns a checksum of the array of owners that a mapped partition book has, which is never 0, or
// 0 for a book of ranges.
uint64_t OwnersChecksum(const IdMap& map) {
  const std::span<const int32_t> owners = map.owners();
  if (owners.empty()) return 0;
  return std::max<uint64_t>(XXH3_64bits(owners.data(), owners.size_bytes()), 1);
}

// Returns the type-wise id of the partition's first row if the ids of its rows are consecutive, or
// -1 if they are not.
int64_t FirstId(const TensorRows& rows, PartId part) {
  return rows.map->is_range() ? rows.map->type_begin(part, rows.type) : -1;
}

}  // namespace

// Returns the nodes or edges that have the tensor's rows, in words. Returns an empty text for a
// tensor whose rows are not those of a type, because it has no type that could differ.
std::string ShareLayout::RowsOfText(const TensorSpec& spec) const {
  return spec.policy == TensorPolicy::kRange ? "" : PolicyText(meta_->schema, spec);
}

std::string ShareLayout::WhyUnsuited(const ShareRecord& record, const TensorRows& rows) const {
  TensorSpec spec = record.spec;
  std::string why = "its rows are not as many, or are distributed otherwise";
  try {
    CheckTensorSpec(*meta_, spec);
    if (!record.rows_of.empty() && record.rows_of != RowsOfText(spec)) {
      why = StrCat("it is of ", record.rows_of, ", which is ", RowsOfText(spec), " there");
    } else if (OwnSameRows(Rows(spec), rows)) {
      return "";
    }
  } catch (const Error& error) {
    why = error.what();
  }
  return StrCat("tensor '", record.spec.name,
                "' does not suit the version of the graph that this job uses (", why,
                "); use it in a job that began with the version that it was made with, drop it, or "
                "choose another name");
}

bool ShareLayout::Serves(PartId part) const noexcept {
  return std::find(parts_.begin(), parts_.end(), part) != parts_.end();
}

TensorRows ShareLayout::RowsOfStored(const ShareRecord& record, const TableSpec& table) const {
  if (!Serves(record.part) || record.num_parts != meta_->book.num_partitions()) {
    Throw(ErrorCode::kInvalid, "it is of partition ", record.part, " of ", record.num_parts);
  }
  TensorSpec spec = record.spec;
  CheckTensorSpec(*meta_, spec);
  TensorRows rows = Rows(spec);
  if (rows.count_in(record.part) != table.rows) {
    Throw(ErrorCode::kInvalid, "it has ", table.rows, " rows of partition ", record.part,
          ", which has ", rows.count_in(record.part));
  }
  if (!record.rows_of.empty() && record.rows_of != RowsOfText(spec)) {
    Throw(ErrorCode::kInvalid, "it is of ", record.rows_of, ", and its number is that of ",
          RowsOfText(spec), " here");
  }
  const uint64_t owners = OwnersChecksum(*rows.map);
  if (table.first_id != FirstId(rows, record.part) ||
      (record.owners != 0 && record.owners != owners)) {
    Throw(ErrorCode::kInvalid, "partition ", record.part, " owns other ids of ",
          PolicyText(meta_->schema, spec));
  }
  return rows;
}

std::vector<int64_t> ShareLayout::IdsOf(const TableSpec& table) const {
  const ShareRecord record = DecodeRecord(table, table.attributes);
  std::vector<int64_t> ids(static_cast<size_t>(table.rows));
  TensorRows rows;
  try {
    rows = RowsOfStored(record, table);
  } catch (const Error&) {
    return ids;  // the share can't be used; TensorHost::Adopt reports why
  }
  for (size_t i = 0; i < ids.size(); i++) {
    ids[i] = rows.map->FromLocalRow(record.part, rows.type, static_cast<int64_t>(i));
  }
  return ids;
}

ShareRecord ShareLayout::RecordFor(const TensorSpec& spec, PartId part, const std::string& job_id,
                                   bool filled, const TensorRows& rows) const {
  ShareRecord record{spec, part, meta_->book.num_partitions(), job_id, "", filled};
  record.rows_of = RowsOfText(spec);
  record.owners = OwnersChecksum(*rows.map);
  return record;
}

TableSpec ShareLayout::TableFor(const ShareRecord& record, const TensorRows& rows) const {
  TableSpec table;
  table.name = TableName(record.part, record.job_id, record.spec.name);
  table.dtype = record.spec.dtype;
  table.row_shape = record.spec.row_shape;
  table.rows = rows.count_in(record.part);
  table.first_id = FirstId(rows, record.part);
  table.initializer = record.spec.initializer;
  table.attributes = EncodeRecord(record);
  return table;
}

// Rows take memory when they are used or prepared, but the bookkeeping of each page takes memory at
// once.
void ShareLayout::CheckMemoryFor(const TableSpec& table) {
  constexpr uint64_t kPerPage = 32;
  constexpr uint64_t kBlockBytes = 4096;  // each block has a counter of one byte
  const uint64_t rows = static_cast<uint64_t>(table.rows);
  const uint64_t blocks = rows / kBlockBytes * table.row_bytes();
  const uint64_t ids = table.first_id != -1 ? 0 : rows * sizeof(int64_t);
  CheckMemory(ArenaPages(table.rows) * kPerPage + blocks + ids, AvailableMemory(),
              StrCat("a table of ", table.rows, " rows"));
}

void ShareLayout::CheckSame(const TensorSpec& existing, const TensorSpec& wanted) const {
  std::vector<std::string> all;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) all.push_back(StrCat(what, " ", a, ", not ", b));
  };
  compare("has dtype and shape", DTypeAndShape(existing), DTypeAndShape(wanted));
  compare("belongs to", PolicyText(meta_->schema, existing), PolicyText(meta_->schema, wanted));
  compare("is written by", WritersText(existing.writers), WritersText(wanted.writers));
  if (!all.empty()) {
    Throw(ErrorCode::kInvalid, "tensor '", existing.name, "' exists already, and ", Join(all, "; "),
          "; drop it or choose another name");
  }
}

}  // namespace graphd::store
