// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "ctl/plan/copy_plan.h"

// Finds the files to copy on this machine and checks them.

namespace graphd::ctl {

// Finds every file of a partitioned graph in either format, the ip_config and all files in
// `script_folder` (empty: none). A partition's files are: those that the part config names,
// including GraphBolt's; the segments of partition.json; and DGL's orig_nids.dgl and orig_eids.dgl
// if they exist. Files of node names and of texts of labels beside the part config are included if
// graphd can read it. Symbolic links in the script folder are followed. Throws Error(kNotFound)
// listing all missing files, Error(kCorrupt) for files whose length differs from the recorded one,
// and Error(kInvalid) for a script folder that can't be copied (it contains a socket or a loop of
// links).
CopySources FindSources(const std::string& part_config, const std::string& ip_config,
                        const std::string& script_folder);

// Returns the checksum of a file of the plan. Compares the arrays in the file whose checksums are
// known. If one differs, throws Error(kCorrupt), which names file, array and offset. Adds the
// number of bytes to `done` as they are read. Throws Error(kUnavailable) once `cancelled` is set.
uint64_t ChecksumSource(const CopyFile& file, std::atomic<uint64_t>& done,
                        const std::atomic<bool>& cancelled);

}  // namespace graphd::ctl
