// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/feature_values.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/index.h"
#include "base/strings.h"
#include "graph/decode.h"

namespace graphd {

// The rows that are being appended, for messages.
struct FeatureValues::Batch {
  std::span<const ArrowColumn* const> columns;
  const std::string& feature;
  const std::string& source;
  int64_t first_row;

  template <class... Args>
  [[noreturn]] void Fail(ErrorCode code, const Args&... args) const {
    Throw(code, source, ": column '", feature.substr(0, 80), "' ", args...);
  }
};

namespace {

const ArrowType& ItemType(const ArrowType& type) {
  return type.kind == ArrowKind::kList && !type.dictionary ? type.children[0] : type;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

// If a column has more than this many different texts and most rows have different ones, the texts
// are probably not labels.
constexpr uint64_t kManyTexts = 65536;

// The most memory for the texts of a column. There is a limit because whether most texts are
// different is known only at the end of the column. It also bounds the labels to numbers that
// float32, the dtype of a column with empty cells, holds exactly.
constexpr uint64_t kMostTextMemory = uint64_t{256} << 20;
constexpr uint64_t kMemoryPerText = 20;  // besides its bytes (NameTable)

constexpr uint16_t kHalfNaN = 0x7e00;

// Returns the dtype that a column has in memory, if it is a plain one.
std::optional<DType> PlainDType(const ArrowType& type) {
  if (type.dictionary) return std::nullopt;
  if (type.kind == ArrowKind::kNumber) return type.dtype;
  if (type.kind == ArrowKind::kBool) return DType::kBool;
  return std::nullopt;
}

}  // namespace

// Chooses by the types of the first rows whether `typed_` or `numbers_` holds the numbers.
void FeatureValues::Start(const Batch& batch) {
  started_ = true;
  bool plain = true;
  DType common = DType::kInt64;
  for (size_t c = 0; c < batch.columns.size(); c++) {
    const std::optional<DType> dtype = PlainDType(ItemType(*batch.columns[c]->type));
    DType own = dtype.value_or(DType::kInt64);
    if (!kept_ && own == DType::kFloat16) own = DType::kFloat32;
    plain = plain && dtype.has_value() && (c == 0 || own == common);
    common = own;
  }
  // With kAsText, the dtype must be the one that the same numbers would get as text, which is known
  // at once for float32 only.
  if (plain && (kept_ || common == DType::kFloat32)) {
    typed_.emplace(common, spill_);
  } else {
    numbers_.emplace(spill_);
  }
}

void FeatureValues::Append(std::span<const ArrowColumn* const> columns,
                           const std::shared_ptr<void>& owner, const std::string& source,
                           int64_t first_row) {
  const Batch batch{columns, name_, source, first_row};
  if (!started_) Start(batch);
  Flush();
  if (columns.size() == 1) {
    const ArrowColumn& column = *columns[0];
    if (column.type->kind == ArrowKind::kList) return AppendLists(batch, column, owner);
    if (!Keep(column, owner)) AppendColumn(batch, column);
    return;
  }
  if (AppendAlike(columns)) return;
  for (int64_t row = 0; row < columns[0]->length; row++) {
    for (const ArrowColumn* column : columns) AppendColumn(batch, column->Slice(row, 1));
  }
}

// Appends several columns if they all have the same dtype, which is much faster than appending
// value by value. Otherwise returns false.
bool FeatureValues::AppendAlike(std::span<const ArrowColumn* const> columns) {
  const std::optional<DType> dtype = PlainDType(*columns[0]->type);
  if (!dtype || *dtype == DType::kBool || *dtype == DType::kFloat16) return false;
  for (const ArrowColumn* column : columns) {
    if (PlainDType(*column->type) != dtype) return false;
  }
  if (typed_ && typed_->dtype() != *dtype) UseNumbers();
  VisitDType(*dtype, [&](auto zero) {
    for (int64_t row = 0; row < columns[0]->length; row++) {
      for (const ArrowColumn* column : columns) {
        if (column->IsNull(row)) {
          AppendMissing();
        } else {
          Put(column->Load<decltype(zero)>(1, row));
        }
      }
    }
  });
  return true;
}

// Takes over the first rows without a copy, if a copy would have the same bytes. Returns whether it
// did.
bool FeatureValues::Keep(const ArrowColumn& column, const std::shared_ptr<void>& owner) {
  const size_t before = typed_ ? typed_->num_elements() : numbers_->size();
  const ArrowType& type = *column.type;
  const DType wanted = typed_ ? typed_->dtype() : DType::kInt64;
  if (before > 0 || column.length == 0 || PlainDType(type) != wanted || wanted == DType::kBool) {
    return false;
  }
  for (int64_t row = 0; column.has_nulls() && row < column.length; row++) {
    if (column.IsNull(row)) return false;
  }
  const auto* data = column.buffers[1].data + Index(column.offset) * DTypeSize(wanted);
  if (reinterpret_cast<uintptr_t>(data) % DTypeSize(wanted) != 0) return false;
  for (int64_t row = 0; !kept_ && wanted == DType::kFloat32 && row < column.length; row++) {
    if (std::isnan(column.Load<float>(1, row))) return false;  // text has only one NaN
  }
  pending_ = Pending{type, column, owner};
  pending_->column.type = nullptr;  // it may not outlive the stream
  return true;
}

void FeatureValues::Flush() {
  if (!pending_) return;
  const Pending kept = *std::exchange(pending_, std::nullopt);
  ArrowColumn column = kept.column;
  column.type = &kept.type;
  const std::string no_source;
  AppendRange({{}, name_, no_source, 0}, column);
}

// Makes `numbers_` hold all values, those so far and those to come. It chooses their dtype at the
// end, when all are known.
void FeatureValues::UseNumbers() {
  Flush();
  started_ = true;
  if (numbers_) return;
  numbers_.emplace(spill_);
  if (!typed_) return;
  const TensorBuilder typed = std::move(*typed_);
  typed_.reset();
  if (typed.dtype() == DType::kBool) {
    typed.ForEach<bool>([&](bool value) { numbers_->AppendBool(value); });
  } else if (typed.dtype() == DType::kFloat16) {
    // A view of the same bits: halves have no C++ type.
    typed.ForEach<uint16_t>([&](uint16_t bits) { numbers_->AppendFloat(FromFloat16()(bits)); });
  } else {
    VisitDType(typed.dtype(), [&](auto zero) {
      using T = decltype(zero);
      typed.ForEach<T>([&](T value) { Put(value); });
    });
  }
}

void FeatureValues::AppendColumn(const Batch& batch, const ArrowColumn& column) {
  const ArrowType& type = *column.type;
  const ArrowKind kind = (type.dictionary ? *type.dictionary : type).kind;
  if (labels_ && kind != ArrowKind::kText && kind != ArrowKind::kNull && column.length > 0) {
    batch.Fail(ErrorCode::kInvalid, "has ", type.words, ", but text in the files before");
  }
  if (type.dictionary) {
    if (type.dictionary->kind == ArrowKind::kText) return AppendLabels(batch, column);
    return AppendDecoded(batch, column);
  }
  switch (type.kind) {
    case ArrowKind::kNull:
    case ArrowKind::kBool:
    case ArrowKind::kNumber:
      return AppendRange(batch, column);
    case ArrowKind::kText:
      return AppendText(batch, column);
    case ArrowKind::kTime:
      batch.Fail(ErrorCode::kInvalid, "is ", type.words, ", not a number; cast it to int64 (",
                 "pyarrow: column.cast('int64'); date32 first to int32), or leave the column out");
    case ArrowKind::kDecimal:
      batch.Fail(ErrorCode::kInvalid, "is decimal; cast it to float64 or int64 (pyarrow: ",
                 "column.cast('float64')), or leave the column out");
    default:
      batch.Fail(ErrorCode::kInvalid, "is ", type.words, ", not a number or a list of numbers; ",
                 "leave the column out (--feat_cols; in Python, drop it)");
  }
}

void FeatureValues::AppendLists(const Batch& batch, const ArrowColumn& column,
                                const std::shared_ptr<void>& owner) {
  const ArrowColumn& items = column.children[0];
  if (items.type->kind == ArrowKind::kList || items.type->kind == ArrowKind::kText) {
    batch.Fail(ErrorCode::kInvalid, "has lists of ", items.type->words, "s, expected lists of ",
               "numbers; convert it, or leave the column out (--feat_cols; in Python, drop it)");
  }
  const bool fixed = column.type->layout == ArrowLayout::kFixed;
  if (fixed && !list_size_) list_size_ = column.type->list_size;
  if (column.length == 0) return;
  const int64_t first = column.Items(0).first;
  int64_t done = first;
  const auto append = [&](int64_t end) {
    if (end > done) AppendColumn(batch, items.Slice(done, end - done));
    done = end;
  };
  bool whole = true;    // no row is null
  int64_t missing = 0;  // rows that are null before the first list tells the size
  for (int64_t row = 0; row < column.length; row++) {
    const auto [begin, end] = column.Items(row);
    if (column.IsNull(row)) {
      append(begin);
      done = end;
      whole = false;
      if (!list_size_) {
        missing++;
      } else {
        for (int64_t i = 0; i < *list_size_; i++) AppendMissing();
      }
      continue;
    }
    if (!list_size_) list_size_ = end - begin;
    if (*list_size_ > kMaxListSize) {
      batch.Fail(ErrorCode::kInvalid, "has ", *list_size_, " numbers in row ",
                 batch.first_row + row, " (from 0); a feature may have ", kMaxListSize);
    }
    if (*list_size_ == 0) {
      batch.Fail(ErrorCode::kInvalid, "has an empty list in row ", batch.first_row + row,
                 " (from 0); lists must have numbers to be a feature");
    }
    if (end - begin != *list_size_) {
      batch.Fail(ErrorCode::kCorrupt, "has ", end - begin, " numbers in row ",
                 batch.first_row + row, " (from 0), expected ", *list_size_,
                 " as in the rows before; lists must have the same length to be a feature");
    }
    for (; missing > 0; missing--) {
      for (int64_t i = 0; i < *list_size_; i++) AppendMissing();
    }
  }
  if (missing > 0) {
    batch.Fail(ErrorCode::kInvalid,
               "begins with a batch of nulls, so that the length of its lists ",
               "is unknown; sort the table, or fill the nulls");
  }
  const int64_t last = column.Items(column.length - 1).second;
  if (!whole || !Keep(items.Slice(first, last - first), owner)) append(last);
}

template <class T>
void FeatureValues::Put(T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (!kept_ && std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  }
  if (typed_) {
    typed_->Append(value);
  } else if constexpr (std::is_same_v<T, float>) {
    numbers_->AppendFloat(value);
  } else if constexpr (std::is_same_v<T, double>) {
    numbers_->AppendDouble(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    numbers_->AppendUnsigned(value);
  } else {
    numbers_->AppendInt(value);
  }
}

template <class T>
void FeatureValues::AppendNumbers(const ArrowColumn& column, bool half) {
  for (int64_t row = 0; row < column.length; row++) {
    if (column.IsNull(row)) {
      AppendMissing();
    } else if (half && !(typed_ && typed_->dtype() == DType::kFloat16)) {
      Put(FromFloat16()(column.Load<uint16_t>(1, row)));
    } else {
      Put(column.Load<T>(1, row));
    }
  }
}

// Appends a column of nulls, bools or numbers.
void FeatureValues::AppendRange(const Batch&, const ArrowColumn& column) {
  const ArrowType& type = *column.type;
  const std::optional<DType> dtype = PlainDType(type);
  const bool half_as_float =
      typed_ && typed_->dtype() == DType::kFloat32 && dtype && *dtype == DType::kFloat16;
  if (dtype && typed_ && dtype != typed_->dtype() && !half_as_float) UseNumbers();
  if (type.kind == ArrowKind::kNull) {
    for (int64_t row = 0; row < column.length; row++) AppendMissing();
  } else if (type.kind == ArrowKind::kBool) {
    for (int64_t row = 0; row < column.length; row++) {
      if (column.IsNull(row)) {
        AppendMissing();
      } else if (typed_) {
        typed_->Append(column.Bit(1, row));
      } else {
        numbers_->AppendBool(column.Bit(1, row));
      }
    }
  } else if (typed_ && kept_ && !column.has_nulls()) {
    const size_t size = DTypeSize(type.dtype);
    if (column.length == 0) return;
    typed_->Append(std::span(column.buffers[1].data + Index(column.offset) * size,
                             Index(column.length) * size));
  } else {
    VisitDType(type.dtype, [&](auto zero) {
      AppendNumbers<decltype(zero)>(column, type.dtype == DType::kFloat16);
    });
  }
}

// Appends the label of a cell, or NaN if the cell is empty.
bool FeatureValues::AppendText(std::string_view cell) {
  if (cell.empty()) return numbers_->Append(cell);
  const bool first = numbers_->size() == missing_;
  if (!labels_ && (!accepts_texts_ || !first)) return false;
  if (cell.find_first_of("\r\n") != cell.npos) return false;
  if (!labels_) {
    labels_ = std::make_shared<NameTable>();
    from_texts_ = true;
  }
  const size_t before = labels_->size();
  numbers_->AppendInt(static_cast<int64_t>(labels_->Add(cell)));
  if (labels_->size() > before) text_memory_ += cell.size() + kMemoryPerText;
  return text_memory_ <= kMostTextMemory;
}

std::string FeatureValues::Problem(std::string_view cell) const {
  if (text_memory_ > kMostTextMemory) {
    return StrCat("is the ", labels_->size(), "th different text in ", numbers_->size(),
                  " rows, and they take more than ", HumanBytes(kMostTextMemory),
                  ", so they are probably not labels");
  }
  if (is_mask()) return "is not a number; a mask has true and false, or 1 and 0";
  if (cell.find_first_of("\r\n") != cell.npos) return "has a line break, so it can't be a label";
  return "is not a number";
}

std::string FeatureValues::Doubt() const {
  if (!from_texts_) return "";
  const uint64_t texts = labels_->size(), rows = numbers_->size();
  uint64_t are_numbers = 0;
  for (uint64_t i = 0; i < texts; i++) are_numbers += IsNumberCell(labels_->name(i));
  if (are_numbers > texts / 2) {
    return StrCat("is not a number, but ", are_numbers, " of the ", texts,
                  " different texts in the column are; leave cells without a number empty");
  }
  if (texts <= kManyTexts || texts <= rows / 2) return "";
  return StrCat("is the first of ", texts, " different texts in ", rows,
                " rows, so they are probably not labels");
}

void FeatureValues::AppendMissing() {
  missing_++;
  // The dtypes of integers and bools have no NaN.
  if (typed_ && !IsFloat(typed_->dtype())) UseNumbers();
  if (!typed_) {
    numbers_->AppendMissing();
  } else if (typed_->dtype() == DType::kFloat32) {
    typed_->Append(std::numeric_limits<float>::quiet_NaN());
  } else if (typed_->dtype() == DType::kFloat64) {
    typed_->Append(std::numeric_limits<double>::quiet_NaN());
  } else {
    typed_->Append(kHalfNaN);
  }
}

void FeatureValues::AppendText(const Batch& batch, const ArrowColumn& column) {
  constexpr const char* kRemedy =
      "; leave the column out, or make it a dictionary to get a label for each text (pandas: "
      "astype('category'), pyarrow: column.dictionary_encode())";
  if (kept_) batch.Fail(ErrorCode::kInvalid, "has text, not numbers", kRemedy);
  UseNumbers();
  for (int64_t row = 0; row < column.length; row++) {
    const std::string_view cell = column.IsNull(row) ? std::string_view() : column.Text(row);
    const bool accepted = Append(cell);
    if (needs_place()) {
      SetPlace(StrCat(batch.source, ": row ", batch.first_row + row, " (from 0)"));
    }
    if (accepted) continue;
    batch.Fail(ErrorCode::kCorrupt, "has '", Printable(std::string(cell.substr(0, 40))),
               "' in row ", batch.first_row + row, " (from 0), which ", Problem(cell), kRemedy);
  }
}

void FeatureValues::AppendLabels(const Batch& batch, const ArrowColumn& column) {
  UseNumbers();
  if (!labels_ && numbers_->size() > missing_) {
    batch.Fail(ErrorCode::kInvalid, "has text, but numbers in the files before; ",
               "make it the same in all files, or leave the column out (--feat_cols)");
  }
  if (is_mask()) {
    batch.Fail(ErrorCode::kInvalid, "is a dictionary of text, but a mask has true and false, or 1 ",
               "and 0; convert it to bool, or rename it");
  }
  if (!labels_) labels_ = std::make_shared<NameTable>();
  const ArrowColumn& values = *column.dictionary;
  std::vector<int64_t> label(Index(values.length), -1);
  for (int64_t i = 0; i < values.length; i++) {
    if (values.IsNull(i)) continue;
    const std::string_view text = values.Text(i);
    if (text.find_first_of("\r\n") != text.npos) {
      batch.Fail(ErrorCode::kCorrupt, "has a label with a line break, '",
                 Printable(std::string(text.substr(0, 40))),
                 "'; replace the line break, or leave the column out (--feat_cols)");
    }
    label[Index(i)] = static_cast<int64_t>(labels_->Add(text));
  }
  VisitDType(column.type->dtype, [&](auto zero) {
    for (int64_t row = 0; row < column.length; row++) {
      const bool null = column.IsNull(row);
      const int64_t value =
          null ? -1 : label[static_cast<size_t>(column.Load<decltype(zero)>(1, row))];
      if (value < 0) {
        AppendMissing();
      } else {
        numbers_->AppendInt(value);
      }
    }
  });
}

// Appends the values that the indices of a dictionary stand for.
void FeatureValues::AppendDecoded(const Batch& batch, const ArrowColumn& column) {
  const ArrowColumn& values = *column.dictionary;
  const std::optional<DType> dtype = PlainDType(*values.type);
  if (dtype && *dtype != DType::kBool && *dtype != DType::kFloat16) {
    UseNumbers();
    VisitDType(column.type->dtype, [&](auto index) {
      VisitDType(*dtype, [&](auto value) {
        for (int64_t row = 0; row < column.length; row++) {
          const auto at =
              column.IsNull(row) ? -1 : static_cast<int64_t>(column.Load<decltype(index)>(1, row));
          if (at < 0 || values.IsNull(at)) {
            AppendMissing();
          } else {
            Put(values.Load<decltype(value)>(1, at));
          }
        }
      });
    });
    return;
  }
  VisitDType(column.type->dtype, [&](auto zero) {
    for (int64_t row = 0; row < column.length; row++) {
      if (column.IsNull(row)) {
        AppendMissing();
      } else {
        const auto index = static_cast<int64_t>(column.Load<decltype(zero)>(1, row));
        AppendColumn(batch, column.dictionary->Slice(index, 1));
      }
    }
  });
}

Tensor FeatureValues::Finish(std::vector<int64_t> shape, bool mask) && {
  if (pending_ && (typed_ || !mask)) {
    const Pending kept = *std::exchange(pending_, std::nullopt);
    const DType dtype = kept.type.dtype;
    const std::byte* data =
        kept.column.buffers[1].data + Index(kept.column.offset) * DTypeSize(dtype);
    Tensor view(dtype, std::move(shape), const_cast<std::byte*>(data), kept.owner);
    if (view.num_elements() != kept.column.length) {
      Throw(ErrorCode::kInternal, "feature '", name_, "' has ", kept.column.length, " numbers");
    }
    return view;
  }
  Flush();
  if (typed_) return std::move(*typed_).Finish(std::move(shape));
  if (!numbers_) numbers_.emplace(spill_);
  return std::move(*numbers_).Finish(std::move(shape), mask);
}

}  // namespace graphd
