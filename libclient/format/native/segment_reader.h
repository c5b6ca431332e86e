// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "format/native/header.h"
#include "graph/segment.h"

namespace graphd {

// Reads the file of one segment into memory that trainers can map. Several threads take piece after
// piece of the file: they reserve the memory of a piece and read the file into it. Meanwhile, the
// calling thread hashes the pieces that have arrived, in the order of the file, because the
// checksum of an array depends on that order. Padding between arrays is not read.
//
// A single thread creates the reader and calls Read once. The mutex guards which pieces have been
// taken by threads and which have arrived, and how many bytes were read.
class SegmentReader {
 public:
  // Opens the file, which at most `max_threads` threads will read. Throws as OpenFile does,
  // Error(kCorrupt) if the file is too short, or Error(kOverloaded) if no addresses are left.
  SegmentReader(const std::string& directory, const NativeSegmentInfo& info, size_t max_threads);
  // Returns the sealed segment. Calls `on_read` on the calling thread with the bytes that have been
  // read since its last call; what it throws ends the reading. Throws Error(kOverloaded) if memory
  // is short, and Error(kCorrupt) if the file has become too short or, with `verify_checksums`, if
  // a checksum differs; the error then names file, array and offset.
  std::shared_ptr<const Segment> Read(bool verify_checksums,
                                      const std::function<void(uint64_t bytes)>& on_read) &&;

 private:
  size_t num_pieces() const noexcept;
  // Reads pieces until all are taken or a thread has failed.
  void ReadPieces();
  // Returns false if another thread has failed meanwhile.
  bool ReadPiece(size_t piece);
  // Tells the kernel that a piece will be read soon.
  void Announce(size_t piece) const noexcept;
  void CheckArrays(bool verify_checksums, const std::function<void(uint64_t bytes)>& on_read);
  // Waits until the piece has arrived, and reports what is read meanwhile. Returns false if the
  // piece will not arrive, because a thread has failed.
  bool WaitForPiece(size_t piece, const std::function<void(uint64_t bytes)>& on_read);
  void Stop();

  const NativeSegmentInfo& info_;
  const std::string path_;
  const UniqueFd fd_;
  SegmentWriter writer_;
  const size_t readers_;  // number of threads that read

  Mutex mutex_;
  CondVar changed_;
  size_t next_ GRAPHD_GUARDED_BY(mutex_) = 0;  // piece that no thread has taken
  std::vector<bool> arrived_ GRAPHD_GUARDED_BY(mutex_);
  uint64_t unreported_ GRAPHD_GUARDED_BY(mutex_) = 0;  // bytes read since the last report
  bool stopped_ GRAPHD_GUARDED_BY(mutex_) = false;
};

}  // namespace graphd
