// SPDX-License-Identifier: Apache-2.0
#include "store/rows/file_checksum.h"

#include <fcntl.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <vector>

#include "base/file.h"

namespace graphd::store {

std::string FileChecksum::Digits() const {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, uint64_t{XXH3_64bits_digest(state_.get())});
  return text;
}

std::string ChecksumOfFile(const std::string& path, uint64_t size) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  const UniqueFd file = OpenFile(path, O_RDONLY | O_NOFOLLOW);
  std::vector<std::byte> buffer(std::min(size, kPiece));
  FileChecksum checksum;
  for (uint64_t at = 0; at < size; at += buffer.size()) {
    const auto piece = std::span(buffer).first(std::min<uint64_t>(buffer.size(), size - at));
    ReadExactly(file.get(), at, piece, path);
    checksum.Add(piece.data(), piece.size());
  }
  return checksum.Digits();
}

}  // namespace graphd::store
