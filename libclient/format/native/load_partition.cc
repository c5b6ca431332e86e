// SPDX-License-Identifier: Apache-2.0
#include "format/native/load_partition.h"

#include <fcntl.h>

#include <algorithm>

#include "base/file.h"
#include "base/strings.h"
#include "format/io/checksum.h"

namespace graphd {
namespace {

// Bytes per read: large enough that system calls cost little, small enough to be hashed from the L2
// cache.
constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint64_t kProgressBytes = uint64_t{4} << 20;

// Returns a name for a memfd, which may have at most 249 bytes.
std::string MemoryName(const std::string& directory, const std::string& file) {
  std::string name = JoinPath(directory, file);
  if (name.size() > 200) name = name.substr(name.size() - 200);
  return name;
}

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
  const std::string path = JoinPath(directory, info.file);
  const UniqueFd fd = OpenFile(path, O_RDONLY);
  SegmentWriter writer(MemoryName(directory, info.file), info.layout);
  Checksum checksum;
  uint64_t reported = done;
  for (size_t i = 0; i < info.layout.arrays().size(); i++) {
    const ArraySpec& spec = info.layout.arrays()[i];
    const std::span<std::byte> array = writer.bytes().subspan(spec.offset, spec.bytes);
    checksum.Reset();
    for (size_t at = 0; at < array.size(); at += kReadBytes) {
      const std::span<std::byte> piece = array.subspan(at, std::min(kReadBytes, array.size() - at));
      ReadExactly(fd.get(), spec.offset + at, piece, path);
      if (options.verify_checksums) checksum.Update(piece);
      done += piece.size();
      if (options.progress && done - reported >= kProgressBytes) {
        options.progress(done, total);
        reported = done;
      }
    }
    if (options.verify_checksums && checksum.Digest() != info.checksums[i]) {
      Throw(ErrorCode::kCorrupt, path, ": array '", spec.name, "' at offset ", spec.offset, " (",
            spec.bytes, " bytes): its checksum differs from the one in ", kNativeHeaderFile,
            "; copy or partition it again");
    }
  }
  return std::move(writer).Seal();
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
