// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/hash_file.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "ctl/copy/protocol.h"

namespace graphd::ctl {

std::unique_ptr<Checksum> HashBytes(int fd, uint64_t size, const std::string& path,
                                    const PieceCallback& on_piece) {
  auto checksum = std::make_unique<Checksum>();
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> buffer(std::min<uint64_t>(size, kHashPiece));
  for (uint64_t offset = 0; offset < size;) {
    const auto piece = std::span(buffer).first(std::min<uint64_t>(size - offset, buffer.size()));
    ReadExactly(fd, offset, piece, path);
    checksum->Update(piece);
    on_piece(offset, piece);
    offset += piece.size();
  }
  return checksum;
}

}  // namespace graphd::ctl
