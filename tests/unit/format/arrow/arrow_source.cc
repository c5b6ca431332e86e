// SPDX-License-Identifier: Apache-2.0
#include "arrow_source.h"

#include <cerrno>
#include <utility>

namespace graphd::testing {
namespace {

struct SchemaParts {
  ArrowSpec spec;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
  ArrowSchema dictionary;
};
struct ArrayParts {
  ArrowSpec spec;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  ArrowArray dictionary;
};
struct StreamParts {
  std::vector<ArrowSpec> batches;
  std::string error;
  size_t next = 0;
};

template <class T, class Parts>
void Release(T* released) {
  auto* parts = static_cast<Parts*>(released->private_data);
  for (T& child : parts->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (released->dictionary != nullptr) released->dictionary->release(released->dictionary);
  delete parts;
  released->release = nullptr;
  live_arrow_structs--;
}

void MakeSchema(const ArrowSpec& spec, ArrowSchema* out) {
  auto* parts = new SchemaParts{spec, {}, {}, {}};
  live_arrow_structs++;
  parts->children.resize(spec.children.size());
  for (size_t i = 0; i < spec.children.size(); i++) {
    MakeSchema(spec.children[i], &parts->children[i]);
    parts->pointers.push_back(&parts->children[i]);
  }
  if (spec.dictionary) MakeSchema(*spec.dictionary, &parts->dictionary);
  *out = {parts->spec.format.c_str(),
          parts->spec.name.c_str(),
          nullptr,
          2,
          static_cast<int64_t>(parts->pointers.size()),
          parts->pointers.data(),
          spec.dictionary ? &parts->dictionary : nullptr,
          Release<ArrowSchema, SchemaParts>,
          parts};
}

void MakeArray(const ArrowSpec& spec, ArrowArray* out) {
  auto* parts = new ArrayParts{spec, {}, {}, {}, {}};
  live_arrow_structs++;
  for (const auto& buffer : parts->spec.buffers) {
    parts->buffers.push_back(buffer ? buffer->data() : nullptr);
  }
  parts->children.resize(spec.children.size());
  for (size_t i = 0; i < spec.children.size(); i++) {
    MakeArray(spec.children[i], &parts->children[i]);
    parts->pointers.push_back(&parts->children[i]);
  }
  if (spec.dictionary) MakeArray(*spec.dictionary, &parts->dictionary);
  *out = {spec.length,
          spec.null_count,
          spec.offset,
          static_cast<int64_t>(parts->buffers.size()),
          static_cast<int64_t>(parts->pointers.size()),
          parts->buffers.data(),
          parts->pointers.data(),
          spec.dictionary ? &parts->dictionary : nullptr,
          Release<ArrowArray, ArrayParts>,
          parts};
}

StreamParts& PartsOf(ArrowArrayStream* stream) {
  return *static_cast<StreamParts*>(stream->private_data);
}

}  // namespace

ArrowSpec Texts(std::string name, const std::vector<std::string>& texts) {
  std::string offsets = BytesOf<int32_t>({0}), bytes;
  for (const std::string& text : texts) {
    bytes += text;
    offsets += BytesOf({static_cast<int32_t>(bytes.size())});
  }
  return {"u", std::move(name), static_cast<int64_t>(texts.size()), {std::nullopt, offsets, bytes}};
}

ArrowSpec Rows(std::vector<ArrowSpec> columns) {
  const int64_t rows = columns.empty() ? 0 : columns[0].length;
  return {"+s", "", rows, {std::nullopt}, std::move(columns), nullptr, 0, 0};
}

ArrowArrayStream StreamOf(std::vector<ArrowSpec> batches, std::string error) {
  live_arrow_structs++;
  return {[](ArrowArrayStream* stream, ArrowSchema* out) {
            MakeSchema(PartsOf(stream).batches.at(0), out);
            return 0;
          },
          [](ArrowArrayStream* stream, ArrowArray* out) {
            StreamParts& parts = PartsOf(stream);
            if (parts.next < parts.batches.size()) {
              MakeArray(parts.batches[parts.next++], out);
              return 0;
            }
            out->release = nullptr;
            return parts.error.empty() ? 0 : EIO;
          },
          [](ArrowArrayStream* stream) { return PartsOf(stream).error.c_str(); },
          [](ArrowArrayStream* stream) {
            delete &PartsOf(stream);
            stream->release = nullptr;
            live_arrow_structs--;
          },
          new StreamParts{std::move(batches), std::move(error)}};
}

}  // namespace graphd::testing
