// SPDX-License-Identifier: Apache-2.0
#include "format/native/partition_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/check.h"

namespace graphd {

std::string TemporarySegmentPath(const std::string& directory, const std::string& file) {
  return JoinPath(directory, file + ".tmp");
}

void PublishPartition(const std::string& directory, const NativeHeader& header) {
  std::vector<std::string> files;
  for (const NativeSegmentInfo& segment : header.segments) {
    const std::string temporary = TemporarySegmentPath(directory, segment.file);
    // An earlier call that was interrupted may have renamed the first files.
    if (!FileExists(temporary) && FileExists(JoinPath(directory, segment.file))) continue;
    Sync(OpenFile(temporary, O_RDONLY).get(), temporary);
    files.push_back(segment.file);
  }
  // Remove the old header first: a header must never describe files that it was not written for.
  const std::string header_path = JoinPath(directory, kNativeHeaderFile);
  if (::unlink(header_path.c_str()) != 0 && errno != ENOENT)
    ThrowErrno("can't replace", header_path);
  for (const std::string& file : files) {
    const std::string path = JoinPath(directory, file);
    if (::rename(TemporarySegmentPath(directory, file).c_str(), path.c_str()) != 0) {
      ThrowErrno("can't rename to", path);
    }
  }
  WriteFileAtomically(header_path, NativeHeaderText(header));
  SyncDirectory(directory);
}

NativePartitionWriter::NativePartitionWriter(std::string directory, std::string graph_name,
                                             PartId part)
    : directory_(std::move(directory)) {
  header_.graph_name = std::move(graph_name);
  header_.part = part;
  MakeDirectories(directory_);
}

NativePartitionWriter::~NativePartitionWriter() {
  if (finished_) return;
  for (const std::string& file : files_) {
    ::unlink(TemporarySegmentPath(directory_, file).c_str());
  }
}

void NativePartitionWriter::BeginSegment(const std::string& file, SegmentLayout layout) {
  GRAPHD_CHECK(!segment_, "a segment is begun after the last one ended");
  files_.push_back(file);
  segment_.emplace(TemporarySegmentPath(directory_, file), file, std::move(layout));
}

void NativePartitionWriter::Append(const std::string& array, std::span<const std::byte> bytes) {
  segment_->Append(array, bytes);
}

void NativePartitionWriter::EndSegment() {
  header_.segments.push_back(segment_->Finish());
  segment_.reset();
}

void NativePartitionWriter::Finish() {
  GRAPHD_CHECK(!segment_, "a partition is finished after its last segment");
  PublishPartition(directory_, header_);
  finished_ = true;
}

}  // namespace graphd
