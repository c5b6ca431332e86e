// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "format/arrow/flatbuffer.h"
#include "format/arrow/type.h"

namespace graphd {

// Returns the columns of a schema message. Throws Error(kCorrupt) for a damaged message, and
// Error(kInvalid) for big-endian data and for unknown types: a reader would not know which buffers
// a column of an unknown type has.
std::vector<ArrowField> ReadIpcSchema(const FlatTable& schema);

}  // namespace graphd
