// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "ctl/plan/copy_plan.h"

// What there is to copy on this machine, and whether it is good.

namespace graphd::ctl {

// Finds every file of a partitioned graph, of either format, the ip_config and what is in
// `script_folder` (empty: none). Files of a partition: those that the part config names,
// GraphBolt's too; the segments of partition.json; DGL's orig_nids.dgl and orig_eids.dgl where they
// are. Files of names of nodes beside the part config, if graphd can read it. Symbolic links in the
// script folder stand for what they lead to. Throws Error(kNotFound) naming all that is missing,
// Error(kCorrupt) for files that are not as long as they say, Error(kInvalid) for a script folder
// that can't be copied (a socket in it, a loop of links).
CopySources FindSources(const std::string& part_config, const std::string& ip_config,
                        const std::string& script_folder);

// The checksum of a file of the plan. Arrays in it whose checksum is known are compared:
// Error(kCorrupt) names file, array and offset. Adds the bytes to `done` as they are read; throws
// Error(kUnavailable) when `cancelled`.
uint64_t ChecksumSource(const CopyFile& file, std::atomic<uint64_t>& done,
                        const std::atomic<bool>& cancelled);

}  // namespace graphd::ctl
