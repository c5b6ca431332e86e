// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "format/io/checksum.h"

namespace graphd::ctl {

// Given each piece of a file as it is read; may throw to stop.
using PieceCallback = std::function<void(uint64_t offset, std::span<const std::byte> piece)>;

// The checksum of the first `size` bytes of an open file, to be continued. Throws Error(kCorrupt)
// if it is shorter.
std::unique_ptr<Checksum> HashBytes(int fd, uint64_t size, const std::string& path,
                                    const PieceCallback& on_piece);

}  // namespace graphd::ctl
