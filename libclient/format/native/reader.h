// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "format/config/load_options.h"
#include "format/config/part_config.h"
#include "format/native/header.h"

// Reading partitions in our native format (header.h has the layout). Loading is one pass:
// large reads straight into the memory that trainers will map, each piece hashed while it is still
// in cache. LoadPartition calls this when a part config is native.

namespace graphd {

// part<i>/ of a native part config: the directory of its part_graph.
std::string NativeDirectory(const PartConfig& config, PartId part);

// Its header, checked to be that of this partition of this graph: Error(kCorrupt) otherwise.
NativeHeader ReadNativeHeaderOf(const PartConfig& config, PartId part);

// Bytes of the segments that LoadNativePartition will make. Reads partition.json and file sizes
// only. Throws as ReadNativeHeader does.
uint64_t EstimateNativeBytes(const PartConfig& config, PartId part);

// Reads one segment's file into a sealed segment. `done` counts bytes for options.progress against
// `total`. Padding between arrays is not read. Throws Error(kCorrupt) naming file, array and offset
// if the file is short or a checksum differs (when options.verify_checksums).
std::shared_ptr<const Segment> LoadNativeSegment(const std::string& directory,
                                                 const NativeSegmentInfo& info,
                                                 const LoadOptions& options, uint64_t& done,
                                                 uint64_t total);

// Loads all segments, checks that the partition belongs to this graph and validates it.
std::shared_ptr<const Partition> LoadNativePartition(const PartConfig& config, PartId part,
                                                     const LoadOptions& options = {});

}  // namespace graphd
