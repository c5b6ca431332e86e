// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "format/config/part_config.h"
#include "graph/partition.h"

namespace graphd {

// Writes directory/<graph_name>.json, with DGL's keys (config/part_config.h), for partitions of
// `format`, which must be in part<i>/ beside it. The file is replaced atomically, and is on the
// disk when the function returns. Requires: the partition book consists of ranges. Throws Error if
// a write fails.
void WritePartConfig(const std::string& directory, const GraphMeta& meta, PartFormat format);

}  // namespace graphd
