// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/c_stream.h"

#include <cstring>
#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

// The owner of a struct of the C interface. It releases the struct when it is destroyed.
template <class T>
struct Owned {
  Owned() { std::memset(&value, 0, sizeof value); }
  explicit Owned(T& taken) : value(taken) { taken.release = nullptr; }
  ~Owned() {
    if (value.release != nullptr) value.release(&value);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T value;
};

class CStream final : public ArrowStream {
 public:
  CStream(ArrowArrayStream& stream, std::string source)
      : stream_(stream), source_(std::move(source)) {
    if (stream_.value.release == nullptr) Fail(ErrorCode::kInvalid, "the stream was read already");
    Owned<ArrowSchema> schema;
    Ask(stream_.value.get_schema(&stream_.value, &schema.value));
    ReadFields(schema.value);
  }

  const std::vector<ArrowField>& fields() const override { return fields_; }

  bool Next(ArrowBatch& batch) override {
    auto array = std::make_shared<Owned<ArrowArray>>();
    Ask(stream_.value.get_next(&stream_.value, &array->value));
    if (array->value.release == nullptr) return false;
    const ArrowArray& rows = array->value;
    if (rows.length < 0 || rows.offset < 0 || rows.length > kMaxRows || rows.offset > kMaxRows ||
        rows.n_children != static_cast<int64_t>(fields_.size()) ||
        (rows.n_children > 0 && rows.children == nullptr)) {
      Fail(ErrorCode::kCorrupt, "a batch of ", rows.length, " rows from row ", rows.offset,
           " with ", rows.n_children, " columns; expected ", fields_.size(), " columns");
    }
    if (rows.null_count > 0) Fail(ErrorCode::kCorrupt, rows.null_count, " rows are null");
    ArrowBatch read{rows.length, {}, array};
    for (size_t c = 0; c < fields_.size(); c++) {
      ArrowColumn column = ColumnOf(rows.children[c], fields_[c].type, fields_[c].name, 0);
      CheckCounts(column, fields_[c].name);
      if (column.length < rows.offset + rows.length) {
        Fail(ErrorCode::kCorrupt, "column '", fields_[c].name, "' has ", column.length,
             " rows, expected ", rows.offset + rows.length);
      }
      column = column.Slice(rows.offset, rows.length);
      CheckColumn(column, fields_[c].name);
      read.columns.push_back(std::move(column));
    }
    batch = std::move(read);
    return true;
  }

 private:
  static constexpr int64_t kMaxRows = int64_t{1} << 40;
  static constexpr int64_t kMaxColumns = 1 << 20;

  template <class... Args>
  [[noreturn]] void Fail(ErrorCode code, const Args&... args) const {
    Throw(code, source_, ": ", args...);
  }
  void Ask(int error) {
    if (error == 0) return;
    auto* ask = stream_.value.get_last_error;
    const char* text = ask == nullptr ? nullptr : ask(&stream_.value);
    Fail(ErrorCode::kIo,
         "the table can't be read: ", text == nullptr ? std::strerror(error) : text);
  }

  void ReadFields(const ArrowSchema& schema) {
    const std::string_view format = schema.format == nullptr ? "" : schema.format;
    if (format != "+s") {
      Fail(ErrorCode::kInvalid, "a stream of Arrow type '", format.substr(0, 40),
           "', which is not a table; give a table with named columns");
    }
    CheckChildren(schema, "the table");
    for (int64_t c = 0; c < schema.n_children; c++) {
      const ArrowSchema* child = schema.children[c];
      if (child == nullptr) Fail(ErrorCode::kCorrupt, "column ", c, " has no schema");
      fields_.push_back({child->name == nullptr ? "" : child->name, TypeOf(*child, 0)});
    }
  }
  void CheckChildren(const ArrowSchema& schema, const std::string& of) const {
    if (schema.n_children >= 0 && schema.n_children <= kMaxColumns &&
        (schema.n_children == 0 || schema.children != nullptr)) {
      return;
    }
    Fail(ErrorCode::kCorrupt, of, " has ", schema.n_children, " columns");
  }

  ArrowType TypeOf(const ArrowSchema& schema, int depth) const {
    const std::string name = schema.name == nullptr ? "" : schema.name;
    if (schema.format == nullptr) Fail(ErrorCode::kCorrupt, "column '", name, "' has no type");
    if (depth > kMaxArrowDepth) Fail(ErrorCode::kInvalid, "column '", name, "' is nested too deep");
    ArrowType type = ArrowTypeOfFormat(schema.format);
    if (type.kind == ArrowKind::kList) {
      CheckChildren(schema, "column '" + name + "'");
      if (schema.n_children != 1 || schema.children[0] == nullptr) {
        Fail(ErrorCode::kCorrupt, "column '", name, "' has ", schema.n_children,
             " types of items, expected 1");
      }
      type.children.push_back(TypeOf(*schema.children[0], depth + 1));
    }
    if (schema.dictionary != nullptr) {
      const bool whole = type.kind == ArrowKind::kNumber && type.dtype != DType::kFloat16 &&
                         type.dtype != DType::kFloat32 && type.dtype != DType::kFloat64;
      if (!whole || schema.dictionary->dictionary != nullptr) {
        Fail(ErrorCode::kCorrupt, "column '", name, "': a dictionary with indices of type ",
             type.words, ", expected whole numbers and values without a dictionary");
      }
      type.dictionary = std::make_shared<ArrowType>(TypeOf(*schema.dictionary, depth + 1));
    }
    return type;
  }

  ArrowColumn ColumnOf(const ArrowArray* array, const ArrowType& type, const std::string& name,
                       int depth) const {
    if (array == nullptr) Fail(ErrorCode::kCorrupt, "column '", name, "' has no data");
    ArrowColumn column;
    column.type = &type;
    column.length = array->length;
    column.offset = array->offset;
    column.null_count = array->null_count;
    if (type.kind == ArrowKind::kOther) return column;
    const bool views = type.kind == ArrowKind::kText && type.layout == ArrowLayout::kViews;
    if (array->n_buffers < type.buffers + (views ? 1 : 0) || array->n_buffers > kMaxColumns ||
        (!views && array->n_buffers != type.buffers) ||
        (array->n_buffers > 0 && array->buffers == nullptr)) {
      Fail(ErrorCode::kCorrupt, "column '", name, "' has ", array->n_buffers, " buffers, expected ",
           type.buffers, views ? " and more for " : " for ", type.words);
    }
    for (int64_t b = 0; b < type.buffers; b++) {
      column.buffers.push_back({static_cast<const std::byte*>(array->buffers[b])});
    }
    if (views) AddTexts(*array, name, column);
    if (type.kind == ArrowKind::kList) {
      if (array->n_children != 1 || array->children == nullptr) {
        Fail(ErrorCode::kCorrupt, "column '", name, "' has ", array->n_children,
             " columns of items, expected 1");
      }
      column.children.push_back(ColumnOf(array->children[0], type.children[0], name, depth + 1));
    }
    if (type.dictionary) {
      column.dictionary = std::make_shared<ArrowColumn>(
          ColumnOf(array->dictionary, *type.dictionary, name, depth + 1));
    }
    return column;
  }

  // Adds the variadic buffers of texts; the last buffer has their sizes.
  void AddTexts(const ArrowArray& array, const std::string& name, ArrowColumn& column) const {
    const int64_t count = array.n_buffers - 3;
    const auto* sizes = static_cast<const std::byte*>(array.buffers[array.n_buffers - 1]);
    if (count > 0 && sizes == nullptr) {
      Fail(ErrorCode::kCorrupt, "column '", name, "' has no sizes of its buffers");
    }
    for (int64_t b = 0; b < count; b++) {
      int64_t size = 0;
      std::memcpy(&size, sizes + 8 * b, sizeof size);
      if (size < 0) Fail(ErrorCode::kCorrupt, "column '", name, "': a buffer of ", size, " bytes");
      column.texts.push_back(
          {static_cast<const std::byte*>(array.buffers[b + 2]), static_cast<uint64_t>(size)});
    }
  }

  Owned<ArrowArrayStream> stream_;
  const std::string source_;
  std::vector<ArrowField> fields_;
};

}  // namespace

std::unique_ptr<ArrowStream> OpenArrowStream(ArrowArrayStream& stream, std::string source) {
  return std::make_unique<CStream>(stream, std::move(source));
}

}  // namespace graphd
