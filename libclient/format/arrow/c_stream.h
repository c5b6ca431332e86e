// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "format/arrow/c_abi.h"
#include "format/arrow/column.h"

namespace graphd {

// Takes over a stream of the C stream interface, in which each array is a batch of rows, and marks
// `stream` as released. `source` names the table in errors. Throws Error(kInvalid) for a stream of
// anything but rows, Error(kCorrupt) for a schema or a batch that violates the interface, and
// Error(kIo) with the producer's message if it fails. The interface has no sizes of buffers, so
// these are believed.
std::unique_ptr<ArrowStream> OpenArrowStream(ArrowArrayStream& stream, std::string source);

}  // namespace graphd
