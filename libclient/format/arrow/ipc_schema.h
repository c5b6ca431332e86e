// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "format/arrow/flatbuffer.h"
#include "format/arrow/type.h"

namespace graphd {

// Returns the columns of a schema message. Throws Error(kCorrupt), or Error(kInvalid) for
// big-endian data and types of which a reader would not know the buffers.
std::vector<ArrowField> ReadIpcSchema(const FlatTable& schema);

}  // namespace graphd
