// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "format/arrow/flatbuffer.h"
#include "format/arrow/type.h"

namespace graphd {

// Returns the columns of a schema message. Throws Error(kCorrupt), or Error(kInvalid) for
// big-endian data and for unknown types, because a reader would not know which buffers their
// columns have.
std::vector<ArrowField> ReadIpcSchema(const FlatTable& schema);

}  // namespace graphd
