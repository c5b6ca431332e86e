// SPDX-License-Identifier: Apache-2.0
#include "format/native/partition_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/check.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

}  // namespace

NativePartitionWriter::NativePartitionWriter(std::string directory, std::string graph_name,
                                             PartId part)
    : directory_(std::move(directory)) {
  header_.graph_name = std::move(graph_name);
  header_.part = part;
  MakeDirectories(directory_);
  buffer_.reserve(kBufferBytes);
}

NativePartitionWriter::~NativePartitionWriter() {
  if (finished_) return;
  for (const NativeSegmentInfo& segment : header_.segments) {
    ::unlink(TemporaryPath(segment.file).c_str());
  }
}

std::string NativePartitionWriter::TemporaryPath(const std::string& file) const {
  return JoinPath(directory_, file + ".tmp");
}

void NativePartitionWriter::BeginSegment(const std::string& file, SegmentLayout layout) {
  GRAPHD_CHECK(!fd_, "a segment is begun after the last one ended");
  header_.segments.push_back({file, std::move(layout), {}});
  fd_ = OpenFile(TemporaryPath(file), O_WRONLY | O_CREAT | O_TRUNC);
  position_ = filled_ = 0;
  array_ = 0;
  checksum_.Reset();
}

void NativePartitionWriter::Append(const std::string& array, std::span<const std::byte> bytes) {
  const auto& arrays = header_.segments.back().layout.arrays();
  while (array_ < arrays.size() && arrays[array_].name != array) CloseArray();
  GRAPHD_CHECK(array_ < arrays.size(), "arrays are appended in the layout's order");
  GRAPHD_CHECK(bytes.size() <= arrays[array_].bytes - filled_, "an array gets what it holds");
  if (filled_ == 0 && position_ < arrays[array_].offset) {
    const std::vector<std::byte> zeros(arrays[array_].offset - position_);
    Put(zeros);
  }
  checksum_.Update(bytes);
  Put(bytes);
  filled_ += bytes.size();
}

void NativePartitionWriter::CloseArray() {
  NativeSegmentInfo& segment = header_.segments.back();
  GRAPHD_CHECK(filled_ == segment.layout.arrays()[array_].bytes,
               "an array is filled before the next");
  segment.checksums.push_back(checksum_.Digest());
  checksum_.Reset();
  filled_ = 0;
  array_++;
}

void NativePartitionWriter::Put(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferBytes) Flush();
  if (bytes.size() >= kBufferBytes) {
    WriteExactly(fd_.get(), bytes, TemporaryPath(header_.segments.back().file));
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void NativePartitionWriter::Flush() {
  WriteExactly(fd_.get(), buffer_, TemporaryPath(header_.segments.back().file));
  buffer_.clear();
}

void NativePartitionWriter::EndSegment() {
  const NativeSegmentInfo& segment = header_.segments.back();
  while (array_ < segment.layout.arrays().size()) CloseArray();
  const std::vector<std::byte> zeros(segment.layout.total_bytes() - position_);
  Put(zeros);
  Flush();
  // Starts writing to the disk early; Finish() waits for it.
  ::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  fd_.reset();
}

void NativePartitionWriter::Finish() {
  GRAPHD_CHECK(!fd_, "a partition is finished after its last segment");
  for (const NativeSegmentInfo& segment : header_.segments) {
    const std::string temporary = TemporaryPath(segment.file);
    Sync(OpenFile(temporary, O_RDONLY).get(), temporary);
  }
  // Remove the old header first: a header must never describe files that it was not written for.
  const std::string header_path = JoinPath(directory_, kNativeHeaderFile);
  if (::unlink(header_path.c_str()) != 0 && errno != ENOENT)
    ThrowErrno("can't replace", header_path);
  for (const NativeSegmentInfo& segment : header_.segments) {
    const std::string path = JoinPath(directory_, segment.file);
    if (::rename(TemporaryPath(segment.file).c_str(), path.c_str()) != 0) {
      ThrowErrno("can't rename to", path);
    }
  }
  WriteFileAtomically(header_path, NativeHeaderText(header_));
  SyncDirectory(directory_);
  finished_ = true;
}

}  // namespace graphd
