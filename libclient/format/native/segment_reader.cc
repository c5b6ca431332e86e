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
constexpr uint64_t kPieceSize = uint64_t{16} << 20;
constexpr uint64_t kReadSize = uint64_t{1} << 20;  // bytes of a read, after which they are counted

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
  return (info_.layout.total_bytes() + kPieceSize - 1) / kPieceSize;
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
    if (!ReadPiece(piece)) return;
    const MutexLock lock(mutex_);
    arrived_[piece] = true;
    changed_.NotifyAll();
  }
}

bool SegmentReader::ReadPiece(size_t piece) {
  // The disk reads this piece while its memory is reserved. Each thread also announces the piece
  // that is `readers_` pieces ahead, so that the disk reads that meanwhile.
  if (piece < readers_) Announce(piece);
  Announce(piece + readers_);
  const uint64_t begin = piece * kPieceSize;
  const uint64_t end = std::min(begin + kPieceSize, info_.layout.total_bytes());
  writer_.Reserve(begin, end - begin);
  for (const ArraySpec& array : info_.layout.arrays()) {
    const uint64_t from = std::max(begin, array.offset);
    const uint64_t to = std::min(end, array.offset + array.bytes);
    for (uint64_t at = from; at < to; at += kReadSize) {
      const uint64_t bytes = std::min(kReadSize, to - at);
      ReadExactly(fd_.get(), at, writer_.bytes().subspan(at, bytes), path_);
      const MutexLock lock(mutex_);
      if (stopped_) return false;
      unreported_ += bytes;
      changed_.NotifyAll();
    }
  }
  return true;
}

void SegmentReader::Announce(size_t piece) const noexcept {
  if (piece >= num_pieces()) return;
  // The kernel reads no more per call than its window, which has 128 KiB by default.
  constexpr uint64_t kWindow = uint64_t{128} << 10;
  for (uint64_t at = 0; at < kPieceSize; at += kWindow) {
    ::posix_fadvise(fd_.get(), static_cast<off_t>(piece * kPieceSize + at),
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
      const size_t piece = at / kPieceSize;
      const uint64_t bytes = std::min(end, (piece + 1) * kPieceSize) - at;
      if (!WaitForPiece(piece, on_read)) return;
      if (verify_checksums) checksum.Update(writer_.bytes().subspan(at, bytes));
      at += bytes;
    }
    if (verify_checksums && checksum.Digest() != info_.checksums[i]) {
      Throw(ErrorCode::kCorrupt, path_, ": array '", array.name, "' at offset ", array.offset, " (",
            array.bytes, " bytes): its checksum differs from the one in ", kNativeHeaderFile,
            "; copy or partition it again");
    }
  }
}

bool SegmentReader::WaitForPiece(size_t piece, const std::function<void(uint64_t bytes)>& on_read) {
  const MutexLock lock(mutex_);
  for (;;) {
    if (stopped_) return false;
    if (const uint64_t bytes = std::exchange(unreported_, 0); bytes > 0) {
      const MutexUnlock unlocked(mutex_);
      on_read(bytes);
    } else if (arrived_[piece]) {
      return true;
    } else {
      changed_.Wait(mutex_);
    }
  }
}

void SegmentReader::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace graphd
