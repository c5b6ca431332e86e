// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "format/config/load_options.h"
#include "format/config/part_config.h"
#include "format/native/header.h"

// Reads partitions in graphd's native format (header.h has the layout). Files are read straight
// into the memory that trainers will map, by several threads (SegmentReader). LoadPartition calls
// these functions for native part configs.

namespace graphd {

// Returns part<i>/ of a native part config: the directory of its part_graph.
std::string NativeDirectory(const PartConfig& config, PartId part);

// Reads the partition's header. Throws Error(kCorrupt) unless it belongs to this partition of this
// graph.
NativeHeader ReadNativeHeaderOf(const PartConfig& config, PartId part);

// Returns the bytes of the segments that LoadNativePartition will create. Reads only partition.json
// and file sizes. Throws as ReadNativeHeader does.
uint64_t EstimateNativeBytes(const PartConfig& config, PartId part);

// Reads one segment's file into a sealed segment. Adds the bytes read to `done`, and passes `done`
// and `total` to options.progress. Padding between arrays is not read. Throws Error(kCorrupt)
// naming file, array and offset if the file is too short or, with options.verify_checksums, if a
// checksum differs.
std::shared_ptr<const Segment> LoadNativeSegment(const std::string& directory,
                                                 const NativeSegmentInfo& info,
                                                 const LoadOptions& options, uint64_t& done,
                                                 uint64_t total);

// Loads all segments, checks that the partition belongs to this graph and validates it.
std::shared_ptr<const Partition> LoadNativePartition(const PartConfig& config, PartId part,
                                                     const LoadOptions& options = {});

}  // namespace graphd
