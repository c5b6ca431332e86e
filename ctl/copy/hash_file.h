// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "format/io/checksum.h"

namespace graphd::ctl {

// A function that is called with each piece of a file when it has been read. It may throw to stop
// the reading.
using PieceCallback = std::function<void(uint64_t offset, std::span<const std::byte> piece)>;

// Returns the checksum of the first `size` bytes of an open file, as an object to which the caller
// may add more bytes. Throws Error(kCorrupt) if the file is shorter.
std::unique_ptr<Checksum> HashBytes(int fd, uint64_t size, const std::string& path,
                                    const PieceCallback& on_piece);

}  // namespace graphd::ctl
