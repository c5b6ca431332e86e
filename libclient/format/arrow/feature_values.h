// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/arrow/column.h"
#include "format/io/name_table.h"
#include "format/io/number_column.h"
#include "format/io/tensor_builder.h"
#include "graphd/tensor.h"

namespace graphd {

// The dtype that a feature gets if it is read from typed columns. With kAsText, it is the dtype
// that the same numbers would get if they were text (NumberColumn); with kKept, it is the dtype of
// the columns.
enum class FeatureDTypes { kAsText, kKept };

// The numbers of one feature while its rows are read, from cells of text or from typed columns. A
// column may have numbers, bools, dictionaries of either, lists of numbers, or texts. Texts become
// labels 0, 1, 2 ... in the order of the dictionary or, without a dictionary, of their first
// appearance. Nulls and empty cells become NaN. Not thread-safe.
class FeatureValues {
 public:
  // With `spill`, the numbers are kept in files there (TensorBuilder).
  explicit FeatureValues(std::string name, FeatureDTypes dtypes = FeatureDTypes::kAsText,
                         SpillFiles* spill = nullptr)
      : name_(std::move(name)),
        dtypes_(dtypes),
        kept_(dtypes == FeatureDTypes::kKept),
        spill_(spill) {}

  // Accepts text that is not a number: if the first cell that is not empty is not a number, all
  // cells become labels. Dictionaries of text are always accepted. Has no effect on masks, which
  // are the features whose names end in "_mask": "yes" and "no" would get the labels 0 and 1 in the
  // order of their first appearance, so a mask in which "yes" comes first would be inverted.
  void AcceptTexts() noexcept { accepts_texts_ = !is_mask(); }

  // Appends a cell of text. Returns false if it can't be appended; Problem says why.
  bool Append(std::string_view cell) {
    if (!numbers_ || pending_) UseNumbers();
    missing_ += cell.empty();
    if (labels_) return AppendText(cell);
    return numbers_->Append(cell) || AppendText(cell);
  }
  // Returns the end of the sentence "'<cell>' in column '<name>' ..." for a cell that was refused.
  std::string Problem(std::string_view cell) const;
  // Returns the end of the same sentence for the first text if the texts are probably not labels,
  // because most of them are numbers, or because there are many and most are different. Otherwise
  // returns "". Must be called after the last row. Texts of a dictionary are always labels.
  std::string Doubt() const;
  // Returns whether SetPlace must be called, because the first text has just been appended as a
  // cell.
  bool needs_place() const noexcept { return from_texts_ && place_.empty(); }
  void SetPlace(std::string place) { place_ = std::move(place); }
  // Returns the place of the first text, such as "users.csv:2"; "" if there are no texts.
  const std::string& place() const noexcept { return place_; }

  // Appends the rows of one column, or of several columns without lists that together are one
  // feature. `source` and `first_row`, the row of the table at which the batch begins, are for
  // messages. `owner` keeps the columns' memory alive, because a single batch of the right dtype is
  // not copied. Throws Error(kInvalid) for types that are not numbers, with the remedy, and
  // Error(kCorrupt) for lists of different lengths and text that is not a number.
  void Append(std::span<const ArrowColumn* const> columns, const std::shared_ptr<void>& owner,
              const std::string& source, int64_t first_row);

  // Returns how many numbers each list has, or 0 before the first list.
  int64_t list_size() const noexcept { return list_size_.value_or(0); }
  // Returns the number of nulls and empty cells.
  uint64_t missing() const noexcept { return missing_; }
  // Returns the texts that labels stand for; null if there are none.
  const std::shared_ptr<NameTable>& labels() const noexcept { return labels_; }

  bool is_mask() const noexcept { return name_.ends_with("_mask"); }

  // Returns all numbers. `mask` has the meaning that it has for NumberColumn::Finish, and has an
  // effect for kAsText only.
  Tensor Finish(std::vector<int64_t> shape, bool mask) &&;

 private:
  struct Batch;
  // A range of rows that becomes the tensor without a copy, unless more rows follow.
  struct Pending {
    ArrowType type;
    ArrowColumn column;
    std::shared_ptr<void> owner;
  };

  void Start(const Batch& batch);
  bool Keep(const ArrowColumn& column, const std::shared_ptr<void>& owner);
  void Flush();
  void UseNumbers();
  bool AppendAlike(std::span<const ArrowColumn* const> columns);
  void AppendColumn(const Batch& batch, const ArrowColumn& column);
  void AppendLists(const Batch& batch, const ArrowColumn& column,
                   const std::shared_ptr<void>& owner);
  void AppendRange(const Batch& batch, const ArrowColumn& column);
  bool AppendText(std::string_view cell);
  void AppendText(const Batch& batch, const ArrowColumn& column);
  void AppendLabels(const Batch& batch, const ArrowColumn& column);
  void AppendDecoded(const Batch& batch, const ArrowColumn& column);
  void AppendMissing();
  template <class T>
  void AppendNumbers(const ArrowColumn& column, bool half);
  template <class T>
  void Put(T value);

  const std::string name_;
  const FeatureDTypes dtypes_;
  const bool kept_;
  SpillFiles* const spill_;
  bool started_ = false;
  bool accepts_texts_ = false;
  bool from_texts_ = false;   // the labels have the texts of cells, not of a dictionary
  uint64_t text_memory_ = 0;  // bytes for the texts of cells
  std::string place_;
  uint64_t missing_ = 0;
  std::optional<Pending> pending_;
  // At most one of these has the numbers: the first if their dtype is known, else the second.
  std::optional<TensorBuilder> typed_;
  std::optional<NumberColumn> numbers_;
  std::optional<int64_t> list_size_;
  std::shared_ptr<NameTable> labels_;
};

}  // namespace graphd
