// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "store/log/mapped_segment.h"
#include "store/rows/push.h"

// The push log: what was acknowledged and is not yet in RocksDB. A directory of segments, each a
// header and then records in the order of their sequence numbers:
//
//   segment "log-<first lsn, 20 digits>": magic, first lsn, salt, checksum of these
//   record: RecordHeader, rows (int64 each), payload, zeros up to a multiple of 8
//
// A record counts if its number is the next one and its checksum, which the segment's salt seeds,
// is right. So a segment whose file served before (overwriting cached pages is several times faster
// than taking new ones) ends where its own records end. As many files are kept for that as the log
// needed of late, so a log that is in use takes new pages only while it grows. Not thread-safe.

namespace graphd::store {

class PushLog {
 public:
  struct Options {
    uint64_t segment_bytes = uint64_t{64} << 20;  // a segment may exceed it by one batch
    bool sync = false;                            // Append waits for the disk
    // The directory is in a tmpfs: segments are written as memory, and end with it or are whole, so
    // payloads have no checksum.
    bool in_memory = false;
  };
  // What Recover found behind the last good record.
  struct Tail {
    std::string path;         // empty: nothing, the log ends as it should
    uint64_t offset = 0;      // bytes into `path`
    uint64_t lost_after = 0;  // != 0: acknowledged records up to this one lie at or behind it
  };

  // Makes the directory if there is none. Throws Error(kIo).
  PushLog(std::string directory, Options options);

  // Reads what is there, before the first Append: every record in order. The views that `visit`
  // gets end with the call. A record torn by a crash ends the log (it was not acknowledged). If
  // records follow that damage, they are not visited and `lost_after` says so: SetAside, when what
  // was visited is safe elsewhere. Appending goes on behind the last number seen.
  Tail Recover(const std::function<void(const Push&)>& visit);
  // The number of the last record, 0 if there was none; AdvanceTo makes the next one `lsn` + 1
  // (RocksDB may be ahead of a log that was truncated).
  uint64_t last_lsn() const noexcept { return last_lsn_; }
  void AdvanceTo(uint64_t lsn);
  // Renames every segment to "damaged-...", for whoever wants to look into them.
  void SetAside();
  // Removes every segment: what they hold is safe elsewhere.
  void Clear();

  // Calls run(0) ... run(count - 1), on whichever threads, and returns when all have returned.
  using Share = std::function<void(size_t count, const std::function<void(size_t)>& run)>;

  // Writes the records, whose numbers go on from last_lsn(). In memory, payloads are copied in
  // pieces that `share` gets. Payloads are read once, and may be changed meanwhile by whoever
  // shares their memory: what is read then is written. On Error nothing counts as written, and the
  // same call may be tried again; a full disk is Error(kOverloaded).
  void Append(std::span<const Push* const> pushes, const Share& share = RunAll);
  // In memory, after Recover: has memory for so many segments now and keeps it, so that what takes
  // all other memory does not stop the log. Throws Error(kOverloaded).
  void KeepSegments(size_t count);
  // Records up to `lsn` are no longer needed: their segments are kept for reuse, or removed. Kept
  // is, together with those in use, as much as was in use until now, or an eighth less than at the
  // call before.
  void TruncateThrough(uint64_t lsn);

  // Whether a segment would go.
  bool CanTruncate(uint64_t lsn) const noexcept {
    return segments_.size() > 1 && segments_[1].first_lsn <= lsn + 1;
  }

  uint64_t bytes() const noexcept;  // of the segments in use

 private:
  // Where the log is in memory, a file that was written to stays mapped: mapping it anew costs as
  // much as copying a record of megabytes.
  struct Segment {
    uint64_t first_lsn = 0;
    uint64_t bytes = 0;
    uint64_t file_bytes = 0;  // more if the file served before
    std::unique_ptr<MappedSegment> memory = nullptr;
  };
  struct Spare {
    std::string path;
    uint64_t bytes = 0;
    std::unique_ptr<MappedSegment> memory = nullptr;
  };
  static void RunAll(size_t count, const std::function<void(size_t)>& run) {
    for (size_t i = 0; i < count; i++) run(i);
  }
  std::string PathOf(uint64_t first_lsn) const;
  std::vector<std::string> SegmentNames() const;
  void StartSegment();
  MappedSegment* memory() const noexcept {
    return segments_.empty() ? nullptr : segments_.back().memory.get();
  }
  bool is_open() const noexcept { return file_ || memory() != nullptr; }
  uint64_t WriteToFile(std::span<const Push* const> pushes);
  uint64_t WriteToMemory(std::span<const Push* const> pushes, const Share& share);

  std::string directory_;
  Options options_;
  std::deque<Segment> segments_;  // the last one is written to, if is_open()
  std::vector<Spare> spares_;
  uint64_t keep_ = 0;            // bytes of segments and spares, at most
  size_t keep_always_ = 0;       // so many of both, at least
  std::vector<std::byte> copy_;  // of what is being written to a file
  UniqueFd file_;
  uint64_t salt_ = 0;
  uint64_t last_lsn_ = 0;
};

}  // namespace graphd::store
