// SPDX-License-Identifier: Apache-2.0
#include "format/arrow/ipc_stream.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "format/arrow/flatbuffer.h"
#include "format/arrow/ipc_schema.h"
#include "format/io/tensor_builder.h"

// Fields have the numbers here that they have in Arrow's Message.fbs.

namespace graphd {
namespace {

constexpr uint64_t kMaxMetadata = 16 << 20;
constexpr uint64_t kMaxBody = uint64_t{1} << 40;
// The maximum number of rows of a batch, and of nulls in a column without buffers, because neither
// takes bytes in a stream. The lengths of other columns are limited by their bytes.
constexpr int64_t kMaxBatchRows = 1 << 24;
constexpr size_t kPiece = 256 << 10;

enum : uint8_t { kSchema = 1, kDictionaryBatch = 2, kRecordBatch = 3 };

class IpcStream final : public ArrowStream {
 public:
  IpcStream(ByteSource source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), piece_(kPiece) {
    const std::optional<Message> first = ReadMessage();
    if (!first || first->kind != kSchema) Fail("it does not begin with a schema");
    fields_ = ReadIpcSchema(first->Header());
  }

  const std::vector<ArrowField>& fields() const override { return fields_; }

  bool Next(ArrowBatch& batch) override {
    while (!ended_) {
      const std::optional<Message> message = ReadMessage();
      if (!message) break;
      if (message->kind == kRecordBatch) {
        ReadBatch(*message, batch);
        return true;
      }
      if (message->kind == kDictionaryBatch) {
        ReadDictionary(*message);
      } else {
        Fail("a message of kind ", int{message->kind}, " among its batches");
      }
    }
    ended_ = true;
    return false;
  }

 private:
  struct Message {
    Tensor metadata, body;
    uint8_t kind;
    FlatTable Root() const { return FlatBytes({metadata.data(), metadata.num_bytes()}).Root(); }
    FlatTable Header() const { return Root().Table(2); }
  };

  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    Throw(ErrorCode::kCorrupt, name_, ": damaged Arrow stream: ", args...);
  }

  // Reads `size` bytes, or fewer if the source ends before. Memory grows only as bytes arrive.
  Tensor ReadBytes(uint64_t size) {
    TensorBuilder bytes(DType::kUInt8);
    while (bytes.num_elements() < size) {
      const size_t wanted = std::min<uint64_t>(kPiece, size - bytes.num_elements());
      const size_t got = source_(std::span(piece_).first(wanted));
      if (got == 0) break;
      bytes.Append(std::span<const std::byte>(piece_).first(got));
    }
    const auto read = static_cast<int64_t>(bytes.num_elements());
    return std::move(bytes).Finish({read});
  }
  Tensor ReadExactly(uint64_t size) {
    Tensor bytes = ReadBytes(size);
    if (bytes.num_bytes() != size) {
      Fail("it ends after ", bytes.num_bytes(), " of ", size, " bytes of a message");
    }
    return bytes;
  }
  int32_t ReadInt() {
    const Tensor bytes = ReadExactly(4);
    return FlatBytes({bytes.data(), 4}).Load<int32_t>(0);
  }

  std::optional<Message> ReadMessage() {
    int32_t size = ReadInt();
    if (size == -1) size = ReadInt();  // streams before Arrow 0.15 lack the mark
    if (size == 0) return std::nullopt;
    if (size < 8 || static_cast<uint64_t>(size) > kMaxMetadata) {
      Fail("a message of ", size, " bytes, expected at most ", kMaxMetadata);
    }
    Message message{ReadExactly(static_cast<uint64_t>(size)), {}, 0};
    const FlatTable root = message.Root();
    message.kind = root.Value<uint8_t>(1, 0);
    if (!root.Has(2)) Fail("a message without a header");
    const auto body = root.Value<int64_t>(3, 0);
    if (body < 0 || static_cast<uint64_t>(body) > kMaxBody) Fail("a body of ", body, " bytes");
    message.body = ReadExactly(static_cast<uint64_t>(body));
    return message;
  }

  // The positions in a batch's lists of columns and buffers while its columns are made.
  struct Cursor {
    FlatVector nodes, buffers, texts;
    const Tensor& body;
    uint64_t node = 0, buffer = 0, text = 0;
  };

  Cursor Begin(const FlatTable& batch, const Tensor& body) const {
    if (batch.Has(3)) {
      Throw(ErrorCode::kInvalid, name_, ": the Arrow batches are compressed; write them without");
    }
    return {batch.Vector(1, 16), batch.Vector(2, 16), batch.Vector(4, 8), body};
  }

  ArrowBuffer NextBuffer(Cursor& at) const {
    if (at.buffer >= at.buffers.size())
      Fail("a batch has ", at.buffers.size(), " buffers, too few");
    const auto offset = at.buffers.Load<int64_t>(at.buffer, 0);
    const auto size = at.buffers.Load<int64_t>(at.buffer, 8);
    const auto limit = static_cast<int64_t>(at.body.num_bytes());
    if (offset < 0 || size < 0 || offset > limit || size > limit - offset) {
      Fail("buffer ", at.buffer, " has ", size, " bytes at ", offset, " of ", limit);
    }
    at.buffer++;
    if (size == 0) return {nullptr, 0};
    return {at.body.data() + offset, static_cast<uint64_t>(size)};
  }

  ArrowColumn NextColumn(Cursor& at, const ArrowType& type) const {
    if (at.node >= at.nodes.size()) Fail("a batch has ", at.nodes.size(), " columns, too few");
    ArrowColumn column;
    column.type = &type;
    column.length = at.nodes.Load<int64_t>(at.node, 0);
    column.null_count = at.nodes.Load<int64_t>(at.node, 8);
    at.node++;
    if (type.kind == ArrowKind::kNull && column.length > kMaxBatchRows) {
      Fail("a column of ", column.length, " nulls, expected at most ", kMaxBatchRows);
    }
    for (int b = 0; b < type.buffers; b++) column.buffers.push_back(NextBuffer(at));
    if (type.kind == ArrowKind::kText && type.layout == ArrowLayout::kViews) {
      if (at.text >= at.texts.size()) Fail("a batch lacks its numbers of text buffers");
      const auto count = at.texts.Load<int64_t>(at.text++);
      if (count < 0 || static_cast<uint64_t>(count) > at.buffers.size()) {
        Fail("a column has ", count, " text buffers");
      }
      for (int64_t b = 0; b < count; b++) column.texts.push_back(NextBuffer(at));
    }
    for (const ArrowType& child : type.children) column.children.push_back(NextColumn(at, child));
    if (type.dictionary) {
      const auto found = dictionaries_.find(type.dictionary_id);
      if (found == dictionaries_.end()) Fail("dictionary ", type.dictionary_id, " is missing");
      if (found->second->column.type != type.dictionary.get()) {
        Fail("dictionary ", type.dictionary_id, " belongs to two columns");
      }
      column.dictionary = {found->second, &found->second->column};
    }
    return column;
  }

  void ReadBatch(const Message& message, ArrowBatch& batch) {
    const FlatTable header = message.Header();
    Cursor at = Begin(header, message.body);
    ArrowBatch read;
    read.rows = header.Value<int64_t>(0, 0);
    read.owner = message.body.owner();
    if (read.rows < 0 || read.rows > kMaxBatchRows) {
      Fail("a batch of ", read.rows, " rows, expected at most ", kMaxBatchRows);
    }
    for (const ArrowField& field : fields_) {
      ArrowColumn column = NextColumn(at, field.type);
      if (column.length != read.rows) {
        Fail("column '", field.name, "' has ", column.length, " rows, its batch ", read.rows);
      }
      CheckColumn(column, field.name);
      read.columns.push_back(std::move(column));
    }
    batch = std::move(read);
  }

  struct Dictionary {
    ArrowColumn column;
    std::shared_ptr<void> owner;
  };

  void ReadDictionary(const Message& message) {
    const FlatTable header = message.Header();
    const auto id = header.Value<int64_t>(0, 0);
    if (header.Value<uint8_t>(2, 0) != 0) Fail("a dictionary that adds to an earlier one");
    if (!header.Has(1)) Fail("dictionary ", id, " has no values");
    const ArrowType* type = nullptr;
    for (const ArrowField& field : fields_) type = type ? type : Find(field.type, id);
    if (type == nullptr) Fail("no column has the dictionary ", id);
    Cursor at = Begin(header.Table(1), message.body);
    auto dictionary = std::make_shared<Dictionary>();
    dictionary->owner = message.body.owner();
    dictionary->column = NextColumn(at, *type);
    CheckColumn(dictionary->column, StrCat("dictionary ", id));
    dictionaries_[id] = std::move(dictionary);
  }

  // Returns the type of the values of the dictionary with this id if a column of type `type`, or
  // one of its children, uses that; else null.
  static const ArrowType* Find(const ArrowType& type, int64_t id) {
    if (type.dictionary) {
      return type.dictionary_id == id ? type.dictionary.get() : Find(*type.dictionary, id);
    }
    for (const ArrowType& child : type.children) {
      if (const ArrowType* found = Find(child, id)) return found;
    }
    return nullptr;
  }

  ByteSource source_;
  const std::string name_;
  std::vector<std::byte> piece_;
  std::vector<ArrowField> fields_;
  std::map<int64_t, std::shared_ptr<const Dictionary>> dictionaries_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ArrowStream> OpenIpcStream(ByteSource source, std::string name) {
  return std::make_unique<IpcStream>(std::move(source), std::move(name));
}

}  // namespace graphd
