// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "format/io/number_summary.h"
#include "format/io/tensor_builder.h"
#include "graphd/tensor.h"

// A column of numbers, whose type is inferred while it is read.

namespace graphd {

// Returns whether a cell is empty, a decimal number, or "nan", "inf", "true" or "false" in capital
// or small letters.
bool IsNumberCell(std::string_view cell) noexcept;

class NumberColumn {
 public:
  // With `spill`, the values are kept in files there (TensorBuilder).
  explicit NumberColumn(SpillFiles* spill = nullptr)
      : spill_(spill), ints_(DType::kInt64, spill), floats_(DType::kFloat64, spill) {}

  // Appends a cell. Returns false if it is not a number. An empty cell is NaN, true and false are 1
  // and 0.
  bool Append(std::string_view cell);
  // Append a value that is not text. The effect is the same as if the value's shortest decimal
  // representation were appended as a cell. A float or double without a fraction counts as if it
  // were written with a point (1.0). A float never makes the column float64, because float32
  // preserves it.
  void AppendInt(int64_t value);
  void AppendUnsigned(uint64_t value);
  void AppendFloat(float value);
  void AppendDouble(double value);
  void AppendBool(bool value);
  void AppendMissing() {
    summary_.AddMissing();
    PutFloat(std::numeric_limits<double>::quiet_NaN());
  }
  size_t size() const noexcept {
    return summary_.floating ? floats_.num_elements() : ints_.num_elements();
  }

  // Returns the column with the dtype that NumberSummary::dtype determines.
  Tensor Finish(std::vector<int64_t> shape, bool mask) &&;

 private:
  void MakeFloating();
  bool AppendDecimal(std::string_view cell);
  void PutInt(int64_t value);
  void PutFloat(double value);
  SpillFiles* spill_;
  TensorBuilder ints_, floats_;
  NumberSummary summary_;
};

}  // namespace graphd
