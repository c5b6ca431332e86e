// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "format/arrow/c_abi.h"
#include "format/arrow/column.h"

namespace graphd {

// Takes over a stream of Arrow's C stream interface, in which each array is a batch of rows, and
// marks `stream` as released. `source` names the table in errors. The interface does not tell the
// sizes of most buffers, so each of these is assumed to be as large as its column requires. Throws
// Error(kInvalid) for a stream of anything but rows, Error(kCorrupt) for a schema or a batch that
// violates the interface, and Error(kIo) with the producer's message if the producer fails.
std::unique_ptr<ArrowStream> OpenArrowStream(ArrowArrayStream& stream, std::string source);

}  // namespace graphd
