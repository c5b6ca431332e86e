// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/native/header.h"
#include "format/native/segment_file_writer.h"
#include "graph/partition.h"

// Writes a partition in graphd's native format as a stream: the caller gives each segment's layout
// first and then appends the arrays' bytes, in pieces of any size. Memory holds only a buffer for
// each array that is being filled. Files are written under temporary names; Finish() syncs them,
// renames them and writes partition.json last, so a partition with a header is complete. Not
// thread-safe. Throws Error if a write fails.

namespace graphd {

// Returns the name that a segment's file has until its partition is complete.
std::string TemporarySegmentPath(const std::string& directory, const std::string& file);

// Completes a partition whose segments have been written to their temporary files: syncs and
// renames them and writes partition.json. May be repeated if it was interrupted.
void PublishPartition(const std::string& directory, const NativeHeader& header);

class NativePartitionWriter {
 public:
  // Creates `directory` if needed.
  NativePartitionWriter(std::string directory, std::string graph_name, PartId part);
  // Removes the temporary files unless Finish() was called.
  ~NativePartitionWriter();
  NativePartitionWriter(const NativePartitionWriter&) = delete;
  NativePartitionWriter& operator=(const NativePartitionWriter&) = delete;

  void BeginSegment(const std::string& file, SegmentLayout layout);
  // Appends to `array` (SegmentFileWriter::Append).
  void Append(const std::string& array, std::span<const std::byte> bytes);
  template <class T>
  void Append(const std::string& array, std::span<const T> values) {
    Append(array, std::as_bytes(values));
  }
  // Ends the segment. Requires: every array of the layout is complete.
  void EndSegment();
  void Finish();

 private:
  std::string directory_;
  NativeHeader header_;
  std::vector<std::string> files_;  // the names of all segments begun
  std::optional<SegmentFileWriter> segment_;
  bool finished_ = false;
};

}  // namespace graphd
