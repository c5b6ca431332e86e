// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/partition_arrays.h"

#include <fcntl.h>

#include <utility>

#include "base/strings.h"
#include "format/load.h"
#include "format/native/load_partition.h"

namespace graphd::ctl {

PartitionArrays::PartitionArrays(const PartConfig& config, PartId part,
                                 const StepProgress& progress)
    : where_(StrCat(config.path, ": partition ", part)) {
  if (config.format == PartFormat::kNative) {
    FeatureArrays(config, part);  // checks the names of features
    OpenNative(config, part);
  } else {
    LoadDgl(config, part, progress);
  }
  CheckShapes(*config.meta, part);
}

void PartitionArrays::OpenNative(const PartConfig& config, PartId part) {
  const std::string directory = NativeDirectory(config, part);
  for (const NativeSegmentInfo& segment : ReadNativeHeaderOf(config, part).segments) {
    const std::string path = JoinPath(directory, segment.file);
    const auto file = std::make_shared<const UniqueFd>(OpenFile(path, O_RDONLY));
    for (const ArraySpec& spec : segment.layout.arrays()) Add(StoredArray(spec, path, file));
  }
}

void PartitionArrays::LoadDgl(const PartConfig& config, PartId part, const StepProgress& progress) {
  LoadOptions options;
  if (progress) {
    options.progress = [&](uint64_t done, uint64_t total) {
      progress(StrCat("loading partition ", part), done, total);
    };
  }
  const auto partition = LoadPartition(config, part, options);
  for (const auto& segment : partition->segments()) {
    for (const ArraySpec& spec : segment->layout().arrays()) {
      Add(StoredArray(spec, where_, segment->array(spec.name)));
    }
  }
}

void PartitionArrays::Add(StoredArray array) {
  bytes_ += array.spec().bytes;
  std::string name = array.spec().name;
  arrays_.emplace(std::move(name), std::move(array));
}

const StoredArray& PartitionArrays::Get(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found != arrays_.end()) return found->second;
  Throw(ErrorCode::kCorrupt, where_, " has no array '", name, "'; copy or partition it again");
}

std::vector<const StoredArray*> PartitionArrays::WithPrefix(std::string_view prefix) const {
  std::vector<const StoredArray*> found;
  for (auto at = arrays_.lower_bound(prefix); at != arrays_.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    found.push_back(&at->second);
  }
  return found;
}

void PartitionArrays::CheckShapes(const GraphMeta& meta, PartId part) const {
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const std::string offsets = Partition::IndptrName(e), sources = Partition::IndicesName(e);
    CheckRows(offsets, meta.book.nodes().count_in(part, meta.schema.dst_type(e)) + 1);
    CheckRows(sources, meta.book.edges().count_in(part, e));
    for (const std::string& name : {offsets, sources}) {
      const ArraySpec& spec = Get(name).spec();
      if (spec.shape.size() == 1 && spec.encoding.is_plain()) continue;
      Throw(ErrorCode::kCorrupt, where_, ": array '", name, "' has ", spec.shape.size(),
            " dimensions", spec.encoding.is_plain() ? "" : " and is encoded",
            ", expected a plain list of numbers; copy or partition it again");
    }
    const DType ids = Get(sources).spec().dtype();
    const bool are_ids = ids == DType::kUInt32 || ids == DType::kUInt64;
    if (Get(offsets).spec().dtype() == DType::kUInt64 && are_ids) continue;
    Throw(ErrorCode::kCorrupt, where_, ": the arrays '", offsets, "' and '", sources, "' are ",
          DTypeName(Get(offsets).spec().dtype()), " and ", DTypeName(ids),
          ", expected uint64 and uint32 or uint64; copy or partition it again");
  }
  for (NodeTypeId t = 0; t < meta.schema.num_ntypes(); t++) {
    for (const StoredArray* array : WithPrefix(Partition::NodeFeatureName(t, ""))) {
      CheckRows(array->spec().name, meta.book.nodes().count_in(part, t));
    }
  }
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    for (const StoredArray* array : WithPrefix(Partition::EdgeFeatureName(e, ""))) {
      CheckRows(array->spec().name, meta.book.edges().count_in(part, e));
    }
  }
}

void PartitionArrays::CheckRows(const std::string& name, int64_t rows) const {
  const std::vector<int64_t>& shape = Get(name).spec().shape;
  const int64_t has = shape.empty() ? 0 : shape[0];
  if (!shape.empty() && has == rows) return;
  Throw(ErrorCode::kCorrupt, where_, ": array '", name, "' has ", has, " rows, expected ", rows,
        " as the part config says; copy or partition it again");
}

}  // namespace graphd::ctl
