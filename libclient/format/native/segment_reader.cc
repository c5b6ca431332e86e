// SPDX-License-Identifier: Apache-2.0
#include "format/native/segment_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/strings.h"
#include "base/threads/run_threads.h"
#include "format/io/checksum.h"

namespace graphd {
namespace {

// The bytes that a thread reads at a time: whole huge pages, and so many that taking a piece costs
// nothing beside reading it.
constexpr uint64_t kReadBytes = uint64_t{16} << 20;

// Returns a name for a memfd, which may have at most 249 bytes.
std::string MemoryName(const std::string& path) {
  return path.size() > 200 ? path.substr(path.size() - 200) : path;
}

}  // namespace

SegmentReader::SegmentReader(const std::string& directory, const NativeSegmentInfo& info,
                             size_t max_threads)
    : info_(info),
      path_(JoinPath(directory, info.file)),
      fd_(OpenFile(path_, O_RDONLY)),
      writer_(MemoryName(path_), info.layout, SegmentWriter::kReserveLater),
      readers_(std::clamp<size_t>(num_pieces(), 1, std::max<size_t>(max_threads, 1))),
      arrived_(num_pieces()) {
  struct stat found {};
  if (::fstat(fd_.get(), &found) != 0) ThrowErrno("can't stat", path_);
  if (static_cast<uint64_t>(found.st_size) < info.layout.total_bytes()) {
    Throw(ErrorCode::kCorrupt, path_, ": ", found.st_size, " bytes, its arrays need ",
          info.layout.total_bytes(), "; copy or partition it again");
  }
}

size_t SegmentReader::num_pieces() const noexcept {
  return (info_.layout.total_bytes() + kReadBytes - 1) / kReadBytes;
}

std::shared_ptr<const Segment> SegmentReader::Read(
    bool verify_checksums, const std::function<void(uint64_t bytes)>& on_read) && {
  if (num_pieces() <= 1) {
    ReadPieces();
    CheckArrays(verify_checksums, on_read);
  } else {
    RunThreads(readers_ + 1, [&](size_t thread) {
      try {
        if (thread > 0) return ReadPieces();
        CheckArrays(verify_checksums, on_read);
      } catch (...) {
        Stop();
        throw;
      }
    });
  }
  return std::move(writer_).Seal();
}

void SegmentReader::ReadPieces() {
  for (;;) {
    size_t piece = 0;
    {
      const MutexLock lock(mutex_);
      if (stopped_ || next_ == arrived_.size()) return;
      piece = next_++;
    }
    ReadPiece(piece);
    const MutexLock lock(mutex_);
    arrived_[piece] = true;
    changed_.NotifyAll();
  }
}

void SegmentReader::ReadPiece(size_t piece) {
  // The disk reads this piece while its memory is reserved. Each thread also announces the piece
  // that is `readers_` pieces ahead, so that the disk reads that meanwhile.
  if (piece < readers_) Announce(piece);
  Announce(piece + readers_);
  const uint64_t begin = piece * kReadBytes;
  const uint64_t end = std::min(begin + kReadBytes, info_.layout.total_bytes());
  writer_.Reserve(begin, end - begin);
  for (const ArraySpec& array : info_.layout.arrays()) {
    const uint64_t from = std::max(begin, array.offset);
    const uint64_t to = std::min(end, array.offset + array.bytes);
    if (from < to) ReadExactly(fd_.get(), from, writer_.bytes().subspan(from, to - from), path_);
  }
}

void SegmentReader::Announce(size_t piece) const noexcept {
  if (piece >= num_pieces()) return;
  // The kernel reads no more per call than its window, which has 128 KiB by default.
  constexpr uint64_t kWindow = uint64_t{128} << 10;
  for (uint64_t at = 0; at < kReadBytes; at += kWindow) {
    ::posix_fadvise(fd_.get(), static_cast<off_t>(piece * kReadBytes + at),
                    static_cast<off_t>(kWindow), POSIX_FADV_WILLNEED);
  }
}

void SegmentReader::CheckArrays(bool verify_checksums,
                                const std::function<void(uint64_t bytes)>& on_read) {
  Checksum checksum;
  for (size_t i = 0; i < info_.layout.arrays().size(); i++) {
    const ArraySpec& array = info_.layout.arrays()[i];
    checksum.Reset();
    const uint64_t end = array.offset + array.bytes;
    for (uint64_t at = array.offset; at < end;) {
      const size_t piece = at / kReadBytes;
      const uint64_t bytes = std::min(end, (piece + 1) * kReadBytes) - at;
      if (!WaitForPiece(piece)) return;
      if (verify_checksums) checksum.Update(writer_.bytes().subspan(at, bytes));
      on_read(bytes);
      at += bytes;
    }
    if (verify_checksums && checksum.Digest() != info_.checksums[i]) {
      Throw(ErrorCode::kCorrupt, path_, ": array '", array.name, "' at offset ", array.offset, " (",
            array.bytes, " bytes): its checksum differs from the one in ", kNativeHeaderFile,
            "; copy or partition it again");
    }
  }
}

bool SegmentReader::WaitForPiece(size_t piece) {
  const MutexLock lock(mutex_);
  while (!stopped_ && !arrived_[piece]) changed_.Wait(mutex_);
  return !stopped_;
}

void SegmentReader::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace graphd
