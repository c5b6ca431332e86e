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

// The push log: pushes that were acknowledged and are not yet in RocksDB. It is a directory of
// segments, each of which has a header and then records in the order of their sequence numbers:
//
//   segment "log-<first lsn, 20 digits>": magic, first lsn, salt, checksum of these
//   record: RecordHeader, rows (int64 each), payload, zeros up to a multiple of 8
//
// A record is valid if its sequence number is the next one and its checksum, which is seeded with
// the segment's salt, is right. A segment in a reused file therefore ends where its own records
// end, and not where the file ends. Files are reused because overwriting cached pages is several
// times faster than allocating new pages. As many files are kept as the log has needed recently, so
// that a log allocates new pages only while it grows. Not thread-safe.

namespace graphd::store {

class PushLog {
 public:
  struct Options {
    uint64_t segment_bytes = uint64_t{64} << 20;  // a segment may exceed it by one batch
    bool sync = false;                            // Append waits for the disk
    // The directory is in a tmpfs: segments are written as mapped memory, and payloads need no
    // checksum.
    bool in_memory = false;
  };
  // The damage that Recover found after the last good record.
  struct Tail {
    std::string path;         // empty if the log ends as it should
    uint64_t offset = 0;      // offset in `path`
    uint64_t lost_after = 0;  // if not 0, acknowledged records up to this one are lost
  };

  // Creates the directory if it does not exist. Throws Error: kIo, kOverloaded; for a log in
  // memory, kDenied if another user could have written it.
  PushLog(std::string directory, Options options);

  // Calls `visit` for all records in order. Must be called once, before the first Append. The views
  // that `visit` gets are valid during its call. The log ends at a record that a crash has torn,
  // which was not acknowledged. If acknowledged records follow it, or if a segment is missing, the
  // log is damaged: later records are not visited, and `lost_after` is set. In this case, call
  // SetAside when the visited records are stored elsewhere. Append continues after the last record
  // visited. Throws Error: kIo; kDenied for a segment in memory that another user could have
  // written.
  Tail Recover(const std::function<void(const Push&)>& visit);
  // Returns the sequence number of the last record, or 0. AdvanceTo makes the sequence number of
  // the next record at least `lsn` + 1, because RocksDB may be ahead of a log that was truncated.
  uint64_t last_lsn() const noexcept { return last_lsn_; }
  void AdvanceTo(uint64_t lsn);
  // SetAside renames every segment to "damaged-...", for later inspection. KeepAll makes
  // TruncateThrough keep all segments until SetAside is called, even segments whose records are
  // stored elsewhere.
  void SetAside();
  void KeepAll() noexcept { keeps_all_ = true; }
  // Removes all segments. Call it when their records are stored elsewhere.
  void Clear();

  // Calls run(0) ... run(count - 1) on any threads, and returns when all calls have returned.
  using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)>& run)>;

  // Writes records whose sequence numbers continue from last_lsn(). To a log in memory, payloads
  // are copied in pieces by `parallel_for`. Each byte of a payload is read only once, so a process
  // that shares its memory may change it meanwhile. Throws Error: kOverloaded if the disk is full,
  // or if descriptors or memory have run out; kIo, also if the directory or the segment's file is
  // no longer at its path; kCorrupt if the file was truncated. After an error, nothing counts as
  // written, and the same call may be repeated.
  void Append(std::span<const Push* const> pushes, const ParallelFor& parallel_for = RunAll);
  // Allocates memory for `count` segments and keeps it, so that the log can be written even when
  // the tmpfs is full. Also maps the first of these segments, so that the first push does not wait
  // for that. Only for a log in memory; call it after Recover. Throws Error(kOverloaded).
  void KeepSegments(size_t count);
  // Removes the segments that have only records up to `lsn`, or keeps their files for reuse. Files
  // are kept only while the size of all files, kept and in use, is below a limit. The limit is the
  // size that was in use before this call plus one segment, or seven eighths of the last limit if
  // that is more.
  void TruncateThrough(uint64_t lsn);

  const std::string& directory() const noexcept { return directory_; }
  // Returns whether there are no segments.
  bool empty() const noexcept { return segments_.empty(); }
  // Returns whether TruncateThrough would remove a segment.
  bool CanTruncate(uint64_t lsn) const noexcept {
    return !keeps_all_ && segments_.size() > 1 && segments_[1].first_lsn <= lsn + 1;
  }

  // Throws Error unless the directory and the last segment are in their places, and no record in
  // memory was lost.
  void CheckIntact() const;

  uint64_t bytes() const noexcept;  // size of the segments in use

 private:
  // In memory, a file that was written stays mapped: mapping it again costs as much as copying a
  // record of megabytes.
  struct Segment {
    uint64_t first_lsn = 0;
    uint64_t bytes = 0;
    uint64_t file_bytes = 0;  // more than `bytes` if the file was reused
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
  uint64_t WriteToMemory(std::span<const Push* const> pushes, const ParallelFor& parallel_for);

  std::string directory_;
  Options options_;
  UniqueFd directory_fd_;
  std::deque<Segment> segments_;  // if is_open(), records are written to the last one
  std::vector<Spare> spares_;
  uint64_t max_bytes_ = 0;  // upper bound of the files of segments and spares
  bool keeps_all_ = false;
  size_t min_segments_ = 0;        // lower bound of the number of segments and spares
  std::vector<std::byte> buffer_;  // buffer for writing to a file
  UniqueFd file_;
  uint64_t salt_ = 0;
  uint64_t last_lsn_ = 0;
};

}  // namespace graphd::store
