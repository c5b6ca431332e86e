// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "format/arrow/column.h"

namespace graphd {

// Reads the next bytes into a part of `out` and returns their number; 0 at the end.
using ByteSource = std::function<size_t(std::span<std::byte> out)>;

// Reads one stream of Arrow's IPC format, uncompressed, up to its end mark; bytes behind it are
// left in the source. `name` names the table in errors. Memory holds one batch, and the
// dictionaries. It grows only as bytes arrive, whatever sizes the stream claims. Throws
// Error(kCorrupt) for anything that is not such a stream, Error(kInvalid) for compressed batches
// and big-endian data.
std::unique_ptr<ArrowStream> OpenIpcStream(ByteSource source, std::string name);

}  // namespace graphd
