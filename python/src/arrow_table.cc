// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "base/strings.h"
#include "call.h"
#include "format/arrow/c_stream.h"
#include "format/arrow/feature_values.h"
#include "format/io/number_column.h"
#include "module.h"
#include "tensor.h"

namespace graphd::python {
namespace {

bool IsText(const ArrowType& type) { return type.kind == ArrowKind::kText && !type.dictionary; }

py::object TextAt(const ArrowColumn& column, int64_t row, const std::string& name) {
  if (column.IsNull(row)) return py::none();
  const std::string_view text = column.Text(row);
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (made == nullptr) {
    PyErr_Clear();
    Throw(ErrorCode::kInvalid, "column '", name, "' has text that is not UTF-8 in row ", row,
          " of a batch (from 0); decode it first");
  }
  return py::reinterpret_steal<py::object>(made);
}

// The columns of a table while its batches are read.
class Columns {
 public:
  explicit Columns(const std::vector<ArrowField>& fields) : fields_(fields) {
    for (const ArrowField& field : fields) {
      values_.emplace_back(field.name, FeatureDTypes::kKept);
      texts_.emplace_back();
    }
  }

  // Appends the numbers of a batch. Does not need the GIL.
  void AddNumbers(const ArrowBatch& batch, const std::string& source) {
    for (size_t c = 0; c < fields_.size(); c++) {
      if (IsText(fields_[c].type)) continue;
      const ArrowColumn* column = &batch.columns[c];
      values_[c].Append({&column, 1}, batch.owner, source, rows_);
    }
    rows_ += batch.rows;
  }
  void AddTexts(const ArrowBatch& batch) {
    for (size_t c = 0; c < fields_.size(); c++) {
      if (!IsText(fields_[c].type)) continue;
      const ArrowColumn& column = batch.columns[c];
      for (int64_t row = 0; row < batch.rows; row++) {
        texts_[c].append(TextAt(column, row, fields_[c].name));
      }
    }
  }

  // Returns (name, array, None), (name, codes, texts of a dictionary) or (name, None, texts).
  py::list Finish() && {
    py::list columns;
    for (size_t c = 0; c < fields_.size(); c++) {
      const std::string& name = fields_[c].name;
      if (IsText(fields_[c].type)) {
        columns.append(py::make_tuple(name, py::none(), std::move(texts_[c])));
        continue;
      }
      std::vector<int64_t> shape{rows_};
      const ArrowType& type = fields_[c].type;
      if (type.kind == ArrowKind::kList && !type.dictionary) {
        shape.push_back(std::max(values_[c].list_size(), type.list_size));
      }
      py::object labels = py::none();
      if (const auto& names = values_[c].labels()) labels = LabelsOf(*names);
      Tensor values = std::move(values_[c]).Finish(std::move(shape), false);
      columns.append(py::make_tuple(name, ToNumpy(std::move(values)), std::move(labels)));
    }
    return columns;
  }

 private:
  static py::list LabelsOf(const NameTable& names) {
    py::list texts;
    for (uint64_t i = 0; i < names.size(); i++) {
      const std::string_view name = names.name(i);
      texts.append(py::str(name.data(), name.size()));
    }
    return texts;
  }

  const std::vector<ArrowField>& fields_;
  std::vector<FeatureValues> values_;
  std::vector<py::list> texts_;
  int64_t rows_ = 0;
};

// Reads a capsule of the Arrow PyCapsule interface, "arrow_array_stream".
py::list ReadArrow(const py::capsule& capsule, const std::string& source) {
  auto* given =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (given == nullptr) throw py::error_already_set();
  const std::unique_ptr<ArrowStream> stream = Call([&] { return OpenArrowStream(*given, source); });
  Columns columns(stream->fields());
  ArrowBatch batch;
  while (Call([&] {
    CheckSignals();
    if (!stream->Next(batch)) return false;
    columns.AddNumbers(batch, source);
    return true;
  })) {
    columns.AddTexts(batch);
  }
  return std::move(columns).Finish();
}

}  // namespace

void DefineArrowTable(py::module_& m) {
  m.def("read_arrow", ReadArrow);
  // Returns whether a cell of a text file is a number, or empty.
  m.def("is_number", [](const std::string& text) { return IsNumberCell(text); });
}

}  // namespace graphd::python
