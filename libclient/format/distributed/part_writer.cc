// SPDX-License-Identifier: Apache-2.0
#include "format/distributed/part_writer.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/distributed/column_numbers.h"
#include "format/native/encoder.h"
#include "format/native/partition_layout.h"
#include "format/native/partition_writer.h"
#include "format/partition/plan.h"

namespace graphd {
namespace {

constexpr size_t kMostDegrees = size_t{1} << 16;
constexpr int64_t kMostPieceNumbers = int64_t{1} << 20;  // beyond one row

GraphPlan Checked(GraphPlan plan, PartId part) {
  plan.Check();
  if (part < 0 || part >= plan.num_parts()) {
    Throw(ErrorCode::kInvalid, "partition ", static_cast<int32_t>(part), " is outside 0..",
          plan.num_parts() - 1);
  }
  return plan;
}

}  // namespace

PartWriter::PartWriter(GraphPlan plan, PartId part, std::string directory)
    : plan_(Checked(std::move(plan), part)),
      part_(part),
      directory_(std::move(directory)),
      meta_(plan_.Meta()),
      features_(plan_.Features()),
      storage_(plan_.Storage()) {
  own_ids_.resize(plan_.nodes.size());
  node_sums_.resize(plan_.nodes.size());
  edge_sums_.resize(plan_.edges.size());
  node_file_.emplace(TemporarySegmentPath(directory_, kNodeFeatureFile), kNodeFeatureFile,
                     NodeFeatureLayout(features_, *meta_, storage_, part_));
}

PartWriter::~PartWriter() {
  if (finished_) return;
  for (const char* file : {kGraphFile, kNodeFeatureFile, kEdgeFeatureFile}) {
    ::unlink(TemporarySegmentPath(directory_, file).c_str());
  }
}

std::string PartWriter::Called(NodeTypeId ntype) const {
  return StrCat("partition ", part_, ": nodes of type '", plan_.schema.ntype(ntype), "'");
}
std::string PartWriter::Called(EdgeTypeId etype) const {
  return StrCat("partition ", part_, ": edges ", plan_.schema.etype(etype).ToString());
}

void PartWriter::CheckColumns(const ArrowBatch& batch, size_t ids, const PlannedType& type,
                              const std::string& called) const {
  const size_t expected = ids + type.features.size();
  if (batch.columns.size() != expected) {
    Throw(ErrorCode::kInvalid, called, ": got ", batch.columns.size(), " columns, expected ",
          expected);
  }
  for (size_t c = 0; c < ids; c++) {
    const ArrowColumn& column = batch.columns[c];
    bool good = column.type->kind == ArrowKind::kNumber && !column.type->dictionary &&
                column.type->dtype == DType::kInt64;
    for (int64_t row = 0; good && column.has_nulls() && row < column.length; row++) {
      good = !column.IsNull(row);
    }
    if (good) continue;
    Throw(ErrorCode::kInvalid, called, ": column ", c, " (from 0) has ", column.type->words,
          ", expected int64 without nulls");
  }
}

void PartWriter::FailCount(int64_t count, int64_t planned, const std::string& called) const {
  Throw(ErrorCode::kInvalid, called, ": got ", count, count > planned ? " or more" : "",
        ", but counted ", planned,
        "; the DataFrame has other rows each time that it is evaluated: ",
        "write it to files, and read these");
}

template <class F>
void PartWriter::ForEachPiece(const ArrowColumn& column, const PlannedFeature& feature, F&& write) {
  const int64_t rows =
      std::max<int64_t>(1, kMostPieceNumbers / std::max<int64_t>(feature.width, 1));
  for (int64_t begin = 0; begin < column.length; begin += rows) {
    numbers_.clear();
    AppendNumbers(column, begin, std::min(column.length, begin + rows), feature, numbers_);
    write(Encoded(feature.encoding, numbers_, encoded_));
  }
}

void PartWriter::AddNodes(NodeTypeId ntype, const ArrowBatch& batch) {
  const auto t = static_cast<int32_t>(ntype);
  const PlannedType& type = plan_.nodes.at(Index(t));
  const std::string called = Called(ntype);
  CheckColumns(batch, 1, type, called);
  if (!node_file_) Throw(ErrorCode::kInvalid, called, " came after edges");
  std::vector<int64_t>& ids = own_ids_[Index(t)];
  const int64_t planned = type.counts[Index(static_cast<int32_t>(part_))];
  const size_t before = ids.size();
  if (static_cast<int64_t>(before) + batch.rows > planned) {
    FailCount(static_cast<int64_t>(before) + batch.rows, planned, called);
  }
  const int64_t count = type.count();
  for (int64_t row = 0; row < batch.rows; row++) {
    const auto id = batch.columns[0].Load<int64_t>(1, row);
    if (id < 0 || id >= count || (!ids.empty() && id <= ids.back())) {
      Throw(ErrorCode::kInvalid, called, ": node ", id, " follows ", ids.empty() ? -1 : ids.back(),
            "; expected ascending ids below ", count, ", each once");
    }
    ids.push_back(id);
    node_sums_[Index(t)].Add(id);
  }
  for (size_t f = 0; f < type.features.size(); f++) {
    const std::string array = Partition::NodeFeatureName(ntype, type.features[f].name);
    ForEachPiece(batch.columns[f + 1], type.features[f],
                 [&](std::span<const std::byte> stored) { node_file_->Append(array, stored); });
  }
  node_file_->Append(Partition::NodeFeatureName(ntype, kOrigId),
                     Encoded(storage_.node_orig_ids[Index(t)],
                             std::as_bytes(std::span(ids).subspan(before)), encoded_));
}

void PartWriter::EndNodes() {
  if (!node_file_) return;
  for (size_t t = 0; t < own_ids_.size(); t++) {
    const int64_t planned = plan_.nodes[t].counts[Index(static_cast<int32_t>(part_))];
    const auto count = static_cast<int64_t>(own_ids_[t].size());
    if (count != planned) FailCount(count, planned, Called(NodeTypeId(t)));
  }
  node_segment_.push_back(node_file_->Finish());
  node_file_.reset();
  edge_files_.emplace(features_, *meta_, storage_, directory_, part_,
                      std::function<void(uint64_t)>());
}

// Ends the list of the current destination's edges and goes on to the next destination.
void PartWriter::CloseNode() {
  degrees_.push_back(std::exchange(degree_, 0));
  node_++;
  if (degrees_.size() < kMostDegrees) return;
  edge_files_->AppendDegrees(degrees_);
  degrees_.clear();
}

void PartWriter::EndEdgeType() {
  if (etype_ < 0) return;
  const int64_t planned = plan_.edges[Index(etype_)].counts[Index(static_cast<int32_t>(part_))];
  if (edges_ != planned) FailCount(edges_, planned, Called(EdgeTypeId(etype_)));
  const NodeTypeId dst = plan_.schema.dst_type(static_cast<EdgeTypeId>(etype_));
  while (node_ < own_ids_[Index(static_cast<int32_t>(dst))].size()) CloseNode();
  edge_files_->AppendDegrees(degrees_);
  degrees_.clear();
}

void PartWriter::AdvanceToEdges(EdgeTypeId etype) {
  const auto wanted = static_cast<int32_t>(etype);
  if (wanted < etype_) Throw(ErrorCode::kInvalid, Called(etype), " came after a later type");
  EndNodes();
  while (etype_ < wanted) {
    EndEdgeType();
    etype_++;
    edges_ = 0;
    node_ = 0;
    last_ = {};
    if (etype_ < plan_.schema.num_etypes()) {
      edge_files_->BeginType(static_cast<EdgeTypeId>(etype_));
    }
  }
}

void PartWriter::AddEdges(EdgeTypeId etype, const ArrowBatch& batch) {
  const auto e = static_cast<int32_t>(etype);
  const PlannedType& type = plan_.edges.at(Index(e));
  const std::string called = Called(etype);
  CheckColumns(batch, 3, type, called);
  AdvanceToEdges(etype);
  const auto part = Index(static_cast<int32_t>(part_));
  edges_ += batch.rows;
  if (edges_ > type.counts[part]) FailCount(edges_, type.counts[part], called);
  const std::vector<int64_t>& own =
      own_ids_[Index(static_cast<int32_t>(plan_.schema.dst_type(etype)))];
  const auto src_type = plan_.schema.src_type(etype);
  const int64_t num_edges = type.count();
  const int64_t num_sources = meta_->book.nodes().count(src_type);
  const int64_t own_begin = meta_->book.nodes().type_begin(part_, src_type);
  const int64_t own_count = meta_->book.nodes().count_in(part_, src_type);
  sources_.clear();
  edge_ids_.clear();
  for (int64_t row = 0; row < batch.rows; row++) {
    const EdgeOrder next{batch.columns[0].Load<int64_t>(1, row),
                         batch.columns[1].Load<int64_t>(1, row),
                         batch.columns[2].Load<int64_t>(1, row)};
    if (next <= last_ || next.src < 0 || next.src >= num_sources || next.edge < 0 ||
        next.edge >= num_edges) {
      Throw(ErrorCode::kInvalid, called, ": edge ", next.edge, " from ", next.src, " to ", next.dst,
            " follows edge ", last_.edge, " from ", last_.src, " to ", last_.dst,
            "; expected ascending destinations, sources below ", num_sources, " and edges below ",
            num_edges, ", each edge once");
    }
    last_ = next;
    while (node_ < own.size() && own[node_] < next.dst) CloseNode();
    if (node_ == own.size() || own[node_] != next.dst) {
      Throw(ErrorCode::kInvalid, called, ": edge ", next.edge, " ends in node ", next.dst,
            ", which the partition does not own");
    }
    degree_++;
    cut_ += next.src < own_begin || next.src - own_begin >= own_count;
    sources_.push_back(static_cast<uint64_t>(next.src));
    edge_ids_.push_back(static_cast<uint64_t>(next.edge));
    edge_sums_[Index(e)].Add(next.edge);
  }
  edge_files_->AppendDegrees(degrees_);
  degrees_.clear();
  edge_files_->AppendSources(sources_);
  for (size_t f = 0; f < type.features.size(); f++) {
    ForEachPiece(batch.columns[f + 3], type.features[f],
                 [&](std::span<const std::byte> stored) { edge_files_->AppendFeature(f, stored); });
  }
  edge_files_->AppendOrigIds(edge_ids_);
}

uint64_t PartWriter::Finish() {
  EndNodes();
  AdvanceToEdges(static_cast<EdgeTypeId>(plan_.schema.num_etypes()));
  NativeHeader header{plan_.graph_name, part_, edge_files_->Finish()};
  // The segments must be in the order in which WritePartition writes them.
  header.segments.insert(header.segments.begin() + 1, std::move(node_segment_.at(0)));
  PublishPartition(directory_, header);
  finished_ = true;
  return header.total_bytes();
}

}  // namespace graphd
