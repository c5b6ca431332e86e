// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"
#include "graph/partition.h"

namespace graphd {

// Writes directory/<graph_name>.json, with DGL's keys (config/part_config.h), for partitions of that
// format, which are expected in part<i>/ beside it. Atomic, and on the disk when it returns.
// Requires: a range book.
void WritePartConfig(const std::string& directory, const GraphMeta& meta, PartFormat format);

}  // namespace graphd
