// SPDX-License-Identifier: Apache-2.0
#include "format/native/load_partition.h"

#include "base/file.h"
#include "base/strings.h"
#include "format/native/segment_reader.h"

namespace graphd {
namespace {

constexpr uint64_t kProgressBytes = uint64_t{4} << 20;

}  // namespace

std::string NativeDirectory(const PartConfig& config, PartId part) {
  if (part < 0 || static_cast<size_t>(part) >= config.parts.size()) {
    Throw(ErrorCode::kInvalid, config.path, " has no partition ", part, "; it has 0..",
          config.parts.size() - 1);
  }
  return DirName(config.parts[static_cast<size_t>(part)].part_graph);
}

NativeHeader ReadNativeHeaderOf(const PartConfig& config, PartId part) {
  const std::string directory = NativeDirectory(config, part);
  NativeHeader header = ReadNativeHeader(directory);
  if (header.graph_name != config.meta->graph_name || header.part != part) {
    Throw(ErrorCode::kCorrupt, JoinPath(directory, kNativeHeaderFile), ": it is partition ",
          header.part, " of graph '", header.graph_name, "', expected partition ", part, " of '",
          config.meta->graph_name, "' as ", config.path, " says");
  }
  return header;
}

uint64_t EstimateNativeBytes(const PartConfig& config, PartId part) {
  return ReadNativeHeaderOf(config, part).total_bytes();
}

std::shared_ptr<const Segment> LoadNativeSegment(const std::string& directory,
                                                 const NativeSegmentInfo& info,
                                                 const LoadOptions& options, uint64_t& done,
                                                 uint64_t total) {
  uint64_t reported = done;
  return SegmentReader(directory, info, options.threads)
      .Read(options.verify_checksums, [&](uint64_t bytes) {
        done += bytes;
        if (options.progress && done - reported >= kProgressBytes) {
          options.progress(done, total);
          reported = done;
        }
      });
}

std::shared_ptr<const Partition> LoadNativePartition(const PartConfig& config, PartId part,
                                                     const LoadOptions& options) {
  const std::string directory = NativeDirectory(config, part);
  const NativeHeader header = ReadNativeHeaderOf(config, part);
  const uint64_t total = header.total_bytes();
  uint64_t done = 0;
  std::vector<std::shared_ptr<const Segment>> segments;
  for (const NativeSegmentInfo& info : header.segments) {
    segments.push_back(LoadNativeSegment(directory, info, options, done, total));
  }
  if (options.progress) options.progress(total, total);
  try {
    auto partition = std::make_shared<const Partition>(config.meta, part, std::move(segments));
    partition->Validate();
    return partition;
  } catch (const Error& error) {
    Throw(error.code(), directory, ": ", error.what(), "; partition the graph again");
  }
}

}  // namespace graphd
