// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/features.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

namespace graphd {
namespace {

// Bytes per read: large enough to make calls cheap, small enough for progress to move.
constexpr size_t kSlice = size_t{16} << 20;

struct Key {
  int32_t type;
  std::string name;
};

Key ParseKey(const std::string& path, const std::string& key, const Schema& schema,
             FeatureKind kind) {
  const size_t slash = key.find('/');
  const bool is_node = kind == FeatureKind::kNode;
  const int32_t types = is_node ? schema.num_ntypes() : schema.num_etypes();
  if (slash == key.npos && types == 1) return {0, key};
  try {
    if (slash == key.npos) Throw(ErrorCode::kInvalid, "expected <type>/<name>");
    const std::string type = key.substr(0, slash);
    const int32_t id =
        is_node ? int32_t{schema.NodeTypeIdOf(type)} : int32_t{schema.EdgeTypeIdOf(type)};
    return {id, key.substr(slash + 1)};
  } catch (const Error& error) {
    Throw(ErrorCode::kCorrupt, path, ": feature '", key, "': ", error.what());
  }
}

}  // namespace

DglFeatures::DglFeatures(const std::string& path, const GraphMeta& meta, PartId part,
                         FeatureKind kind)
    : file_(path) {
  const bool is_node = kind == FeatureKind::kNode;
  const IdMap& map = meta.book.map(!is_node);
  for (DglNamedArray& named : ReadDglTensorDict(ByteReader(file_.bytes(), path))) {
    const Key key = ParseKey(path, named.name, meta.schema, kind);
    const int64_t rows = map.count_in(part, key.type);
    if (named.array.shape.empty() || named.array.shape[0] != rows) {
      Throw(ErrorCode::kCorrupt, path, ", offset ", named.array.offset, ": feature '", named.name,
            "' has ", named.array.shape.empty() ? 0 : named.array.shape[0], " rows, expected ",
            rows, ", one for each that partition ", part, " owns");
    }
    size_t first = 0;
    for (int32_t t = 0; t < key.type; t++) first += static_cast<size_t>(map.count_in(part, t));
    std::string name = is_node ? Partition::NodeFeatureName(key.type, key.name)
                               : Partition::EdgeFeatureName(key.type, key.name);
    if (layout_.Find(name)) {
      Throw(ErrorCode::kCorrupt, path, ", offset ", named.array.offset, ": feature '", key.name,
            "' occurs twice, the second time under the key '", named.name, "'");
    }
    layout_.Add(name, named.array.dtype, named.array.shape);
    entries_.push_back({std::move(name), std::move(named.array), first});
  }
}

std::shared_ptr<const Segment> DglFeatures::Load(
    const std::string& segment_name, const std::vector<uint64_t>& file_rows,
    const std::function<void(uint64_t)>& progress) const {
  // The rows are read, not copied from the mapping: reading causes half the page faults, and a file
  // that is truncated meanwhile causes an error instead of SIGBUS.
  const UniqueFd fd = OpenFile(file_.path(), O_RDONLY);
  SegmentWriter writer(segment_name, layout_);
  for (const Entry& entry : entries_) {
    const std::span<std::byte> out = writer.array_bytes(entry.segment_name);
    if (out.empty()) continue;
    if (file_rows.empty()) {
      for (size_t done = 0; done < out.size(); done += kSlice) {
        const auto slice = out.subspan(done, std::min(kSlice, out.size() - done));
        ReadExactly(fd.get(), entry.array.offset + done, slice, file_.path());
        progress(slice.size());
      }
      continue;
    }
    const size_t rows = static_cast<size_t>(entry.array.shape[0]), row_bytes = out.size() / rows;
    for (size_t row = 0; row < rows; row++) {
      const uint64_t from = file_rows[entry.first_position + row];
      std::memcpy(out.data() + row * row_bytes, entry.array.data.data() + from * row_bytes,
                  row_bytes);
    }
    progress(out.size());
  }
  return std::move(writer).Seal();
}

}  // namespace graphd
