// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "format/checksum.h"

namespace graphd::ctl {

// Told the number of bytes just read; may throw to stop.
using BytesRead = std::function<void(uint64_t bytes)>;

// Adds the first `size` bytes of an open file to `checksum`. Throws Error(kCorrupt) if it is
// shorter.
void HashBytes(int fd, uint64_t size, const std::string& path, Checksum& checksum,
               const BytesRead& read);

}  // namespace graphd::ctl
