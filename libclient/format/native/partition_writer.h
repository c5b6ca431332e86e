// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/io/checksum.h"
#include "format/native/header.h"
#include "graph/partition.h"

// Writes a partition in graphd's native format as a stream: the caller gives each segment's layout
// first and then appends the arrays' bytes in that order, in pieces of any size. Memory holds only
// one buffer. Files are written under temporary names; Finish() syncs them, renames them and writes
// partition.json last, so a partition with a header is complete. Not thread-safe. Throws Error if a
// write fails.

namespace graphd {

class NativePartitionWriter {
 public:
  // Creates `directory` if needed.
  NativePartitionWriter(std::string directory, std::string graph_name, PartId part);
  // Removes the temporary files unless Finish() was called.
  ~NativePartitionWriter();
  NativePartitionWriter(const NativePartitionWriter&) = delete;
  NativePartitionWriter& operator=(const NativePartitionWriter&) = delete;

  void BeginSegment(const std::string& file, SegmentLayout layout);
  // Appends to `array`, which must be the current or the next one; together, its pieces must have
  // exactly its size.
  void Append(const std::string& array, std::span<const std::byte> bytes);
  template <class T>
  void Append(const std::string& array, std::span<const T> values) {
    Append(array, std::as_bytes(values));
  }
  // Ends the segment. Requires: every array of the layout is complete.
  void EndSegment();
  void Finish();

 private:
  void CloseArray();
  void Put(std::span<const std::byte> bytes);
  void Flush();
  std::string TemporaryPath(const std::string& file) const;

  std::string directory_;
  NativeHeader header_;
  bool finished_ = false;
  // The current segment.
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  uint64_t position_ = 0;  // offset of the next byte, the buffer included
  size_t array_ = 0;       // index of the current array
  uint64_t filled_ = 0;    // bytes of the current array
  Checksum checksum_;
};

}  // namespace graphd
