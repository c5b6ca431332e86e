// SPDX-License-Identifier: Apache-2.0
#include "format/verify.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/strings.h"
#include "format/load.h"
#include "format/native/load_partition.h"
#include "format/native/write_partition.h"

namespace graphd {
namespace {

// The place of an array, for messages.
struct Place {
  std::string path;
  const ArraySpec* spec;
  // Describes the place of an element: "part0/graph.seg: array 'csc/0/indices', element 7 at offset
  // 92".
  std::string At(size_t element) const {
    return StrCat(path, ": array '", spec->name, "', element ", element, " at offset ",
                  spec->offset + element * DTypeSize(spec->dtype()));
  }
};

// The original ids seen so far in all partitions.
class SeenIds {
 public:
  // Allocates `count` bits, so `count` must have been compared with the sizes of the files.
  explicit SeenIds(int64_t count) : seen_(static_cast<size_t>(count)) {}

  std::optional<std::string> Add(std::span<const int64_t> ids, const Place& place) {
    for (size_t i = 0; i < ids.size(); i++) {
      const auto id = static_cast<uint64_t>(ids[i]);
      if (id >= seen_.size()) {
        return StrCat(place.At(i), " is ", ids[i], ", expected an original id in 0..",
                      seen_.size() - 1);
      }
      if (seen_[id]) {
        return StrCat(place.At(i), " is ", ids[i], ", an original id that another one has already");
      }
      seen_[id] = true;
    }
    return std::nullopt;
  }

 private:
  std::vector<bool> seen_;
};

class Verifier {
 public:
  Verifier(const PartConfig& config, const StepProgress& progress)
      : config_(config), progress_(progress), schema_(config.meta->schema) {
    report_.parts.resize(config.parts.size());
  }

  VerifyReport Run() {
    if (config_.format == PartFormat::kDgl) {
      ForEachPart([&](PartId p) { LoadPartition(config_, p, Loading(p)); });
    } else {
      ForEachPart([&](PartId p) { headers_.emplace(p, ReadNativeHeaderOf(config_, p)); });
      for (const auto& [part, header] : headers_) unclaimed_bytes_ += header.total_bytes();
      ForEachPart([&](PartId p) {
        if (headers_.contains(p)) VerifyNative(p);
      });
      CompareFeatures();
    }
    return std::move(report_);
  }

 private:
  template <class F>
  void ForEachPart(F&& check) {
    for (PartId p = 0; p < static_cast<PartId>(config_.parts.size()); p++) {
      try {
        check(p);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kOverloaded) throw;
        Problem(p, error.what());
      }
    }
  }

  void Problem(PartId part, const std::string& text) {
    report_.parts[static_cast<size_t>(part)].problems.push_back(text);
  }

  LoadOptions Loading(PartId part) const {
    LoadOptions options;
    if (progress_) {
      options.progress = [this, part](uint64_t done, uint64_t total) {
        progress_("checking partition " + std::to_string(part), done, total);
      };
    }
    return options;
  }

  void VerifyNative(PartId part) {
    const NativeHeader& header = headers_.at(part);
    const std::string directory = NativeDirectory(config_, part);
    const LoadOptions options = Loading(part);
    uint64_t done = 0;
    std::vector<std::shared_ptr<const Segment>> segments;
    for (const NativeSegmentInfo& info : header.segments) {
      try {
        segments.push_back(LoadNativeSegment(directory, info, options, done, header.total_bytes()));
        CheckPadding(part, directory, info);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kOverloaded) throw;
        Problem(part, error.what());
      }
    }
    if (options.progress) options.progress(header.total_bytes(), header.total_bytes());
    if (segments.size() != header.segments.size()) return;
    std::optional<Partition> partition;
    try {
      partition.emplace(config_.meta, part, std::move(segments));
    } catch (const Error& error) {
      Throw(error.code(), JoinPath(directory, kNativeHeaderFile), ": ", error.what());
    }
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) CheckCsc(*partition, e);
    CheckOriginalIds(*partition);
    NoteFeatures(*partition);
  }

  void CheckPadding(PartId part, const std::string& directory, const NativeSegmentInfo& info) {
    const std::string path = JoinPath(directory, info.file);
    const UniqueFd fd = OpenFile(path, O_RDONLY);
    uint64_t end = 0;
    std::vector<std::byte> gap;
    const auto check_until = [&](uint64_t begin) {
      gap.resize(begin - end);
      ReadExactly(fd.get(), end, gap, path);
      for (size_t i = 0; i < gap.size(); i++) {
        if (gap[i] == std::byte{0}) continue;
        Problem(part, StrCat(path, ": the byte at offset ", end + i,
                             " is between two arrays and is not 0"));
        return;
      }
    };
    for (const ArraySpec& spec : info.layout.arrays()) {
      check_until(spec.offset);
      end = spec.offset + spec.bytes;
    }
    check_until(info.layout.total_bytes());
  }

  // Returns the place of an array. Requires: some segment of the partition has the array.
  Place Locate(PartId part, const std::string& array) const {
    for (const NativeSegmentInfo& info : headers_.at(part).segments) {
      if (const ArraySpec* spec = info.layout.Find(array)) {
        return {JoinPath(NativeDirectory(config_, part), info.file), spec};
      }
    }
    Throw(ErrorCode::kInternal, "array '", array, "' is missing");
  }

  void CheckCsc(const Partition& partition, EdgeTypeId e) {
    const Csc& csc = partition.csc(e);
    const Place offsets = Locate(partition.id(), Partition::IndptrName(e));
    const size_t last = csc.indptr.size() - 1;
    if (csc.indptr[0] != 0) {
      return Problem(partition.id(), StrCat(offsets.At(0), " is ", csc.indptr[0], ", expected 0"));
    }
    for (size_t i = 1; i <= last; i++) {
      if (csc.indptr[i] >= csc.indptr[i - 1]) continue;
      return Problem(partition.id(), StrCat(offsets.At(i), " is ", csc.indptr[i], ", less than ",
                                            csc.indptr[i - 1], " before it"));
    }
    if (csc.indptr[last] != csc.indices.size()) {
      return Problem(partition.id(),
                     StrCat(offsets.At(last), " is ", csc.indptr[last],
                            ", expected the number of edges, ", csc.indices.size()));
    }
    CheckSources(partition, e);
    if (csc.edge_rows) CheckEdgeRows(partition, e);
  }

  void CheckSources(const Partition& partition, EdgeTypeId e) {
    const Csc& csc = partition.csc(e);
    const Place place = Locate(partition.id(), Partition::IndicesName(e));
    const auto limit = static_cast<uint64_t>(config_.meta->book.nodes().count(schema_.src_type(e)));
    csc.indices.Visit([&](auto sources) {
      for (size_t v = 0; v + 1 < csc.indptr.size(); v++) {
        for (uint64_t i = csc.indptr[v]; i < csc.indptr[v + 1]; i++) {
          if (sources[i] >= limit) {
            return Problem(partition.id(), StrCat(place.At(i), " is ", sources[i],
                                                  ", expected a node in 0..", limit - 1));
          }
          if (i > csc.indptr[v] && sources[i] < sources[i - 1]) {
            return Problem(partition.id(),
                           StrCat(place.At(i), " is ", sources[i], ", expected ", sources[i - 1],
                                  " or more: the sources of one node ascend"));
          }
        }
      }
    });
  }

  void CheckEdgeRows(const Partition& partition, EdgeTypeId e) {
    const Place place = Locate(partition.id(), Partition::EdgeRowsName(e));
    const IdSpan& rows = *partition.csc(e).edge_rows;
    std::vector<bool> seen(rows.size());
    for (size_t i = 0; i < rows.size(); i++) {
      if (rows[i] >= rows.size() || seen[rows[i]]) {
        return Problem(partition.id(), StrCat(place.At(i), " is ", rows[i],
                                              ", expected another row in 0..", rows.size() - 1));
      }
      seen[rows[i]] = true;
    }
  }

  void CheckOriginalIds(const Partition& partition) {
    const auto check = [&](auto infos, const std::string& array, int64_t count,
                           std::map<int32_t, SeenIds>& seen, int32_t type) {
      const bool present = std::any_of(infos.begin(), infos.end(), [](const FeatureInfo& info) {
        return info.name == kOrigId && info.dtype == DType::kInt64 && info.row_shape.empty();
      });
      // A stored id takes one byte at least. Skip the check if the partition book claims more ids
      // than the files could hold, so that nothing is allocated for them.
      if (!present) return;
      if (!seen.contains(type)) {
        if (static_cast<uint64_t>(count) > unclaimed_bytes_) return;
        unclaimed_bytes_ -= static_cast<uint64_t>(count);
      }
      const Place place = Locate(partition.id(), array);
      SeenIds& ids = seen.try_emplace(type, count).first->second;
      const Tensor originals = (array.starts_with("node") ? partition.node_feature(type, kOrigId)
                                                          : partition.edge_feature(type, kOrigId))
                                   .ReadAll();
      if (const auto problem = ids.Add(originals.as<int64_t>(), place)) {
        Problem(partition.id(), *problem);
      }
    };
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      check(partition.node_features(t), Partition::NodeFeatureName(t, kOrigId),
            config_.meta->book.nodes().count(t), seen_nodes_, t);
    }
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      check(partition.edge_features(e), Partition::EdgeFeatureName(e, kOrigId),
            config_.meta->book.edges().count(e), seen_edges_, e);
    }
  }

  // Stores one line per feature, to compare partitions.
  void NoteFeatures(const Partition& partition) {
    std::vector<std::string>& lines = features_[partition.id()];
    const auto note = [&](const std::string& type, const std::vector<FeatureInfo>& infos) {
      for (const FeatureInfo& info : infos) {
        std::string line = StrCat(type, " feature '", info.name, "' ", DTypeName(info.dtype));
        for (int64_t extent : info.row_shape) line += StrCat(" x ", extent);
        lines.push_back(std::move(line));
      }
    };
    for (NodeTypeId t = 0; t < schema_.num_ntypes(); t++) {
      note("node type '" + schema_.ntype(t) + "':", partition.node_features(t));
    }
    for (EdgeTypeId e = 0; e < schema_.num_etypes(); e++) {
      note("edge type '" + schema_.etype(e).ToString() + "':", partition.edge_features(e));
    }
    std::sort(lines.begin(), lines.end());
  }

  void CompareFeatures() {
    for (const auto& [part, lines] : features_) {
      const auto& [first_part, first] = *features_.begin();
      std::vector<std::string> differing;
      std::set_symmetric_difference(first.begin(), first.end(), lines.begin(), lines.end(),
                                    std::back_inserter(differing));
      if (differing.empty()) continue;
      report_.problems.push_back(StrCat(config_.path, ": partitions ", first_part, " and ", part,
                                        " differ in features: ", Join(differing, "; ")));
    }
  }

  const PartConfig& config_;
  const StepProgress& progress_;
  const Schema& schema_;
  VerifyReport report_;
  std::map<PartId, NativeHeader> headers_;
  uint64_t unclaimed_bytes_ = 0;  // the bytes of all files, less one for each id that is checked
  std::map<int32_t, SeenIds> seen_nodes_, seen_edges_;  // by type
  std::map<PartId, std::vector<std::string>> features_;
};

}  // namespace

bool VerifyReport::ok() const noexcept {
  return problems.empty() &&
         std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.ok(); });
}

VerifyReport VerifyGraph(const PartConfig& config, const StepProgress& progress) {
  return Verifier(config, progress).Run();
}

}  // namespace graphd
