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

// Writing partitions in our native format, as a stream: the caller knows each segment's layout
// first and then appends the arrays' bytes in that order, in pieces of any size. Nothing is kept in
// memory but one buffer. Files are written under temporary names; Finish() syncs them, gives them
// their names and writes partition.json last, so a partition that has a header is whole.

namespace graphd {

class NativePartitionWriter {
 public:
  // Makes `directory` if needed.
  NativePartitionWriter(std::string directory, std::string graph_name, PartId part);
  // Removes the temporary files of a partition that was not finished.
  ~NativePartitionWriter();
  NativePartitionWriter(const NativePartitionWriter&) = delete;
  NativePartitionWriter& operator=(const NativePartitionWriter&) = delete;

  void BeginSegment(const std::string& file, SegmentLayout layout);
  // Appends to `array`, which must be the one that is being filled or the next; together the
  // pieces must have exactly its size.
  void Append(const std::string& array, std::span<const std::byte> bytes);
  template <class T>
  void Append(const std::string& array, std::span<const T> values) {
    Append(array, std::as_bytes(values));
  }
  // Requires: every array of the layout is full.
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
  // The segment that is being written.
  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  uint64_t position_ = 0;  // of the next byte, the buffer included
  size_t array_ = 0;       // the one that is being filled
  uint64_t filled_ = 0;    // bytes of it
  Checksum checksum_;
};

}  // namespace graphd
