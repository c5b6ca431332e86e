// SPDX-License-Identifier: Apache-2.0
#include "format/native/segment_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace graphd {

SegmentFileWriter::SegmentFileWriter(std::string path, std::string file, SegmentLayout layout,
                                     size_t buffer_bytes)
    : path_(std::move(path)),
      info_{std::move(file), std::move(layout), {}},
      buffer_bytes_(buffer_bytes),
      fd_(OpenFile(path_, O_WRONLY | O_CREAT | O_TRUNC)) {
  // The bytes between arrays are zero because nothing is written there.
  if (::ftruncate(fd_.get(), static_cast<off_t>(info_.layout.total_bytes())) != 0) {
    ThrowErrno("can't set the size of", path_);
  }
  const size_t arrays = info_.layout.arrays().size();
  info_.checksums.resize(arrays);
  open_.resize(arrays);
  closed_.resize(arrays, false);
}

size_t SegmentFileWriter::Find(const std::string& array) {
  const auto& arrays = info_.layout.arrays();
  for (size_t i = 0; i < arrays.size(); i++) {
    const size_t at = (last_ + i) % arrays.size();
    if (arrays[at].name == array) return last_ = at;
  }
  GRAPHD_CHECK(false, "an array that is written is in the layout");
  return 0;
}

void SegmentFileWriter::Append(const std::string& array, std::span<const std::byte> bytes) {
  const size_t at = Find(array);
  const ArraySpec& spec = info_.layout.arrays()[at];
  if (bytes.empty()) return;
  if (!open_[at] && !closed_[at]) open_[at] = std::make_unique<OpenArray>();
  GRAPHD_CHECK(open_[at] && bytes.size() <= spec.bytes - open_[at]->filled,
               "an array gets what it holds");
  OpenArray& open = *open_[at];
  open.checksum.Update(bytes);
  if (open.buffer.size() + bytes.size() > buffer_bytes_) Flush(at);
  if (bytes.size() >= buffer_bytes_) {
    WriteAt(spec.offset + open.filled, bytes);
  } else {
    open.buffer.insert(open.buffer.end(), bytes.begin(), bytes.end());
  }
  open.filled += bytes.size();
  if (open.filled == spec.bytes) Close(at);
}

void SegmentFileWriter::Flush(size_t array) {
  OpenArray& open = *open_[array];
  WriteAt(info_.layout.arrays()[array].offset + open.filled - open.buffer.size(), open.buffer);
  open.buffer.clear();
}

void SegmentFileWriter::WriteAt(uint64_t offset, std::span<const std::byte> bytes) {
  WriteExactlyAt(fd_.get(), offset, bytes, path_);
}

void SegmentFileWriter::Close(size_t array) {
  Flush(array);
  info_.checksums[array] = open_[array]->checksum.Digest();
  closed_[array] = true;
  open_[array].reset();
}

NativeSegmentInfo SegmentFileWriter::Finish() {
  for (size_t i = 0; i < open_.size(); i++) {
    if (closed_[i]) continue;
    GRAPHD_CHECK(!open_[i] && info_.layout.arrays()[i].bytes == 0, "every array is filled");
    info_.checksums[i] = Checksum().Digest();
  }
  // Asks the kernel to start writing to the disk now, before the file is synced.
  ::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  fd_.reset();
  return std::move(info_);
}

}  // namespace graphd
