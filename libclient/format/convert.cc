// SPDX-License-Identifier: Apache-2.0
#include "format/convert.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/config/part_config.h"
#include "format/label_texts.h"
#include "format/load.h"
#include "format/native/encoder.h"
#include "format/native/partition_writer.h"
#include "format/node_names.h"
#include "format/write_part_config.h"

namespace graphd {
namespace {

constexpr size_t kPieceElements = 65536;

// The in-edges of one type in the order of the native format: sources ascend within each node.
struct SortedCsc {
  std::vector<std::pair<uint64_t, uint64_t>> edges;  // (source, local edge row)
  bool rows_in_order = true;
};

SortedCsc SortCsc(const Csc& csc) {
  SortedCsc sorted;
  sorted.edges.reserve(csc.indices.size());
  for (size_t i = 0; i < csc.indices.size(); i++) {
    sorted.edges.emplace_back(csc.indices[i], csc.edge_rows ? (*csc.edge_rows)[i] : i);
  }
  const auto at = [&](uint64_t i) { return sorted.edges.begin() + static_cast<std::ptrdiff_t>(i); };
  for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
    std::sort(at(csc.indptr[v]), at(csc.indptr[v + 1]));
  }
  for (size_t i = 0; i < sorted.edges.size() && sorted.rows_in_order; i++) {
    sorted.rows_in_order = sorted.edges[i].second == i;
  }
  return sorted;
}

template <class F>
void AppendIds(NativePartitionWriter& writer, const ArraySpec& spec, size_t count, F&& id) {
  const auto append = [&](auto zero) {
    std::vector<decltype(zero)> piece;
    for (size_t i = 0; i < count; i++) {
      piece.push_back(static_cast<decltype(zero)>(id(i)));
      if (piece.size() < kPieceElements && i + 1 < count) continue;
      writer.Append(spec.name, std::as_bytes(std::span(piece)));
      piece.clear();
    }
  };
  if (spec.dtype() == DType::kUInt32) return append(uint32_t{});
  append(uint64_t{});
}

uint64_t WriteGraph(const Partition& partition, NativePartitionWriter& writer) {
  const GraphMeta& meta = partition.meta();
  SegmentLayout layout;
  std::vector<SortedCsc> sorted;
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const Csc& csc = partition.csc(e);
    sorted.push_back(SortCsc(csc));
    const int64_t edges = partition.num_inner_edges(e);
    const DType ids = Partition::IdDType(meta.book.nodes().count(meta.schema.src_type(e)));
    layout.Add(Partition::IndptrName(e), DType::kUInt64, {static_cast<int64_t>(csc.indptr.size())});
    layout.Add(Partition::IndicesName(e), ids, {edges});
    if (!sorted.back().rows_in_order) {
      layout.Add(Partition::EdgeRowsName(e), Partition::IdDType(edges), {edges});
    }
  }
  writer.BeginSegment("graph.seg", layout);
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const auto& edges = sorted[Index(e)].edges;
    writer.Append(Partition::IndptrName(e), std::as_bytes(partition.csc(e).indptr));
    AppendIds(writer, *layout.Find(Partition::IndicesName(e)), edges.size(),
              [&](size_t i) { return edges[i].first; });
    if (const ArraySpec* rows = layout.Find(Partition::EdgeRowsName(e))) {
      AppendIds(writer, *rows, edges.size(), [&](size_t i) { return edges[i].second; });
    }
  }
  writer.EndSegment();
  return layout.total_bytes();
}

// Writes the arrays of the partition whose names begin with `prefix`, integers in the narrowest
// dtype that holds them.
uint64_t WriteFeatures(const Partition& partition, const char* file, const char* prefix,
                       NativePartitionWriter& writer) {
  SegmentLayout layout;
  std::vector<Tensor> arrays;
  for (const auto& segment : partition.segments()) {
    for (const ArraySpec& spec : segment->layout().arrays()) {
      if (!spec.name.starts_with(prefix)) continue;
      arrays.push_back(segment->array(spec.name));
      const bool is_plain = spec.encoding.is_plain();
      layout.Add(spec.name, is_plain ? NarrowestEncoding(arrays.back()) : spec.encoding,
                 spec.shape);
    }
  }
  writer.BeginSegment(file, layout);
  std::vector<std::byte> encoded;
  for (size_t i = 0; i < arrays.size(); i++) {
    const ArraySpec& spec = layout.arrays()[i];
    if (arrays[i].dtype() == spec.dtype()) {
      writer.Append(spec.name, std::span<const std::byte>(arrays[i].data(), spec.bytes));
      continue;
    }
    const size_t width = DTypeSize(arrays[i].dtype());
    const auto count = static_cast<size_t>(arrays[i].num_elements());
    for (size_t begin = 0; begin < count; begin += kPieceElements) {
      const size_t size = std::min(kPieceElements, count - begin);
      encoded.resize(size * DTypeSize(spec.dtype()));
      Encode(spec.encoding, arrays[i].data() + begin * width, size, encoded.data());
      writer.Append(spec.name, std::span<const std::byte>(encoded));
    }
  }
  writer.EndSegment();
  return layout.total_bytes();
}

uint64_t WriteNative(const Partition& partition, const std::string& directory) {
  NativePartitionWriter writer(directory, partition.meta().graph_name, partition.id());
  uint64_t bytes = WriteGraph(partition, writer);
  bytes += WriteFeatures(partition, "node_feat.seg", "node/", writer);
  bytes += WriteFeatures(partition, "edge_feat.seg", "edge/", writer);
  writer.Finish();
  return bytes;
}

int64_t EdgeCut(const Partition& partition) {
  const GraphMeta& meta = partition.meta();
  int64_t cut = 0;
  for (EdgeTypeId e = 0; e < meta.schema.num_etypes(); e++) {
    const NodeTypeId src = meta.schema.src_type(e);
    const auto begin = static_cast<uint64_t>(meta.book.nodes().type_begin(partition.id(), src));
    const uint64_t count = Index(partition.num_inner_nodes(src));
    partition.csc(e).indices.Visit([&](auto sources) {
      cut += std::count_if(sources.begin(), sources.end(),
                           [&](auto source) { return source - begin >= count; });
    });
  }
  return cut;
}

}  // namespace

PartitionSummary ConvertPartitions(const PartConfig& config, const std::string& output, bool force,
                                   const StepProgress& progress) {
  const GraphMeta& meta = *config.meta;
  if (!meta.book.nodes().is_range() || !meta.book.edges().is_range()) {
    Throw(ErrorCode::kInvalid, config.path,
          " has an owner for each id (DGL's reshuffle=False), the ",
          "native format only ranges; use graphctl partition --input ", config.path,
          ", which renumbers nodes and edges");
  }
  PartitionOptions options;
  options.graph_name = meta.graph_name;
  options.num_parts = meta.book.num_partitions();
  options.output = output;
  options.force = force;
  std::error_code ignored;
  if (std::filesystem::equivalent(output, DirName(config.path), ignored)) {
    Throw(ErrorCode::kInvalid, "--output ", output, " is the directory of ", config.path,
          "; give another, as the input is read until the end");
  }
  CheckPartitionOptions(options);
  uint64_t total = 0, done = 0;
  for (PartId p = 0; p < options.num_parts; p++) total += EstimatePartitionBytes(config, p);
  ClearOutput(options);
  CopyNodeNames(config, output);
  CopyLabelTexts(config, output);
  PartitionSummary summary;
  summary.meta = config.meta;
  for (PartId p = 0; p < options.num_parts; p++) {
    const std::string step = "converting partitions";
    if (progress) progress(step, std::min(done, total), total);
    const auto partition = LoadPartition(config, p);
    summary.edge_cut += EdgeCut(*partition);
    summary.bytes.push_back(
        WriteNative(*partition, JoinPath(output, PartDirectoryName(static_cast<int32_t>(p)))));
    done += summary.bytes.back();
  }
  WritePartConfig(output, meta, PartFormat::kNative);
  summary.part_config = JoinPath(output, meta.graph_name + ".json");
  if (progress) progress("converting partitions", total, total);
  return summary;
}

}  // namespace graphd
