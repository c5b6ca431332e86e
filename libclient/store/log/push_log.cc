// SPDX-License-Identifier: Apache-2.0
#include "store/log/push_log.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/directory.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd::store {
namespace {

constexpr char kSegmentMagic[8] = {'g', 'r', 'p', 'h', 'd', 'l', 'o', 'g'};
constexpr uint32_t kRecordMagic = 0x68737570;

struct SegmentHeader {
  char magic[8];
  uint64_t first_lsn;
  uint64_t salt;
  uint64_t checksum;
};

struct RecordHeader {
  uint32_t magic;
  uint32_t table;
  uint64_t lsn;
  uint64_t acknowledged;  // all records up to this lsn were safe before this record was written
  uint64_t client_high;
  uint64_t client_low;
  uint64_t sequence;
  uint64_t rows;
  uint64_t payload_bytes;
  uint8_t kind;
  uint8_t mean_of_duplicates;
  uint16_t flags;
  float numbers[5];  // lr, eps, beta1, beta2, weight_decay
  uint64_t checksum;
};
static_assert(sizeof(RecordHeader) == 96);

constexpr uint16_t kNoPayloadChecksum = 1;  // flag: the payload has no checksum
// Size of the write buffer: a part of a second-level cache.
constexpr size_t kBufferBytes = size_t{128} << 10;
// Payload bytes per copy task; large enough to amortise waking a thread.
constexpr size_t kPieceBytes = size_t{256} << 10;

constexpr uint64_t Padding(uint64_t bytes) { return (8 - bytes % 8) % 8; }

uint64_t ChecksumOf(const SegmentHeader& header) {
  return XXH3_64bits(&header, offsetof(SegmentHeader, checksum));
}

// Returns the seed of a record's checksum, which is itself a checksum of the header and the rows.
// The record's checksum is the checksum of the payload with this seed or, with kNoPayloadChecksum,
// the seed.
uint64_t SeedOf(RecordHeader header, uint64_t salt, const void* rows) {
  header.checksum = 0;
  const uint64_t of_header = XXH3_64bits_withSeed(&header, sizeof header, salt);
  return XXH3_64bits_withSeed(rows, header.rows * sizeof(int64_t), of_header);
}

RecordHeader HeaderOf(const Push& push, uint64_t acknowledged, uint16_t flags) {
  const UpdateRule& rule = push.rule;
  return {kRecordMagic,
          push.table,
          push.lsn,
          acknowledged,
          push.client.high,
          push.client.low,
          push.sequence,
          push.rows.size(),
          push.payload.size(),
          static_cast<uint8_t>(rule.kind),
          rule.mean_of_duplicates,
          flags,
          {rule.lr, rule.eps, rule.beta1, rule.beta2, rule.weight_decay},
          0};
}

// A writer to a segment's file, with a buffer. A payload may be in memory that a trainer can
// change, so it is first copied to the buffer, and the bytes in the buffer are both written and
// checksummed. (If a checksum were wrong, the record and all later ones would be lost.) The buffer
// stays in the processor's cache, so the copy takes no more time than writing directly from the
// payload.
class SegmentWriter {
 public:
  // Offsets and the buffer's size are multiples of 8.
  SegmentWriter(int fd, const std::string& path, uint64_t offset, std::span<std::byte> buffer)
      : fd_(fd), path_(path), begin_(offset), buffer_(buffer) {}

  // Returns the offset of the next byte.
  uint64_t offset() const noexcept { return begin_ + used_; }

  void Put(const void* data, size_t bytes, XXH3_state_t* checksum = nullptr) {
    const auto* from = static_cast<const std::byte*>(data);
    while (bytes > 0) {
      if (used_ == buffer_.size()) Flush();
      std::byte* const copy = buffer_.data() + used_;
      const size_t step = std::min(bytes, buffer_.size() - used_);
      std::memcpy(copy, from, step);
      if (checksum != nullptr) XXH3_64bits_update(checksum, copy, step);
      used_ += step;
      from += step;
      bytes -= step;
    }
  }
  // Replaces a number that was put before.
  void Replace(uint64_t offset, uint64_t number) {
    if (offset >= begin_) {
      std::memcpy(buffer_.data() + (offset - begin_), &number, sizeof number);
    } else {
      Write(offset, std::as_bytes(std::span(&number, 1)));
    }
  }
  void Flush() {
    Write(begin_, buffer_.first(used_));
    begin_ += std::exchange(used_, 0);
  }

 private:
  void Write(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && (errno == ENOSPC || errno == EDQUOT)) {
        Throw(ErrorCode::kOverloaded, "no space for ", path_);
      }
      if (put < 0) ThrowErrno("can't write", path_);
      WatchedThread::CountProgress();
      offset += static_cast<uint64_t>(put);
      bytes = bytes.subspan(static_cast<size_t>(put));
    }
  }

  const int fd_;
  const std::string path_;
  uint64_t begin_;
  size_t used_ = 0;
  const std::span<std::byte> buffer_;
};

// The state of a checksum that is computed piece by piece.
struct FreeState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};
using ChecksumState = std::unique_ptr<XXH3_state_t, FreeState>;

// A reader of the file of a segment.
class SegmentReader {
 public:
  explicit SegmentReader(const std::string& path)
      : file_(path), guard_(const_cast<std::byte*>(file_.bytes().data()), file_.bytes().size()) {
    if (file_.bytes().size() < sizeof header_) return;
    std::memcpy(&header_, file_.bytes().data(), sizeof header_);
    good_ = std::memcmp(header_.magic, kSegmentMagic, sizeof kSegmentMagic) == 0 &&
            header_.checksum == ChecksumOf(header_);
  }
  bool begins_at(uint64_t lsn) const { return good_ && header_.first_lsn == lsn; }
  uint64_t size() const { return file_.bytes().size(); }
  // Throws Error(kIo) if the file was truncated while it was read.
  void CheckIntact() const {
    if (guard_.damaged()) Throw(ErrorCode::kIo, file_.path(), " was truncated while it was read");
  }

  // Reads the record at `offset`, and the offset of the next one. Returns false if there is no good
  // record.
  bool Read(uint64_t offset, Push& push, uint64_t& next) const {
    const std::span<const std::byte> bytes = file_.bytes();
    RecordHeader header;
    if (offset > bytes.size() || bytes.size() - offset < sizeof header) return false;
    std::memcpy(&header, bytes.data() + offset, sizeof header);
    const uint64_t left = bytes.size() - offset - sizeof header;
    if (header.magic != kRecordMagic || header.rows > left / sizeof(int64_t) ||
        header.payload_bytes > left - header.rows * sizeof(int64_t)) {
      return false;
    }
    const std::byte* rows = bytes.data() + offset + sizeof header;
    const std::byte* payload = rows + header.rows * sizeof(int64_t);
    const uint64_t seed = SeedOf(header, header_.salt, rows);
    const bool unchecked = (header.flags & kNoPayloadChecksum) != 0;
    if (header.checksum !=
        (unchecked ? seed : XXH3_64bits_withSeed(payload, header.payload_bytes, seed))) {
      return false;
    }
    const float* numbers = header.numbers;
    push = {header.lsn,
            header.table,
            {static_cast<UpdateKind>(header.kind), header.mean_of_duplicates, numbers[0],
             numbers[1], numbers[2], numbers[3], numbers[4]},
            {header.client_high, header.client_low},
            header.sequence,
            {reinterpret_cast<const int64_t*>(rows), header.rows},
            {payload, header.payload_bytes}};
    next = offset + sizeof header + header.rows * sizeof(int64_t) + header.payload_bytes +
           Padding(header.payload_bytes);
    return true;
  }

  // Returns whether the header is damaged and records beginning with `lsn` follow it.
  bool lost_its_header(uint64_t lsn) const {
    RecordHeader first;
    if (good_ || size() < sizeof header_ + sizeof first) return false;
    std::memcpy(&first, file_.bytes().data() + sizeof header_, sizeof first);
    return first.magic == kRecordMagic && first.lsn == lsn;
  }

  // Returns the largest RecordHeader::acknowledged of the good records at or after `offset`, or 0
  // if none is larger than `lsn`. A record's own sequence number does not count: records that a
  // crash or a loss of power has torn, and the records written together with them, were not
  // acknowledged.
  uint64_t LastAfter(uint64_t offset, uint64_t lsn) const {
    uint64_t last = 0;
    for (uint64_t at = offset; at + sizeof(RecordHeader) <= size();) {
      uint32_t magic;
      std::memcpy(&magic, file_.bytes().data() + at, sizeof magic);
      Push push;
      uint64_t next;
      if (magic == kRecordMagic && Read(at, push, next)) {
        RecordHeader header;
        std::memcpy(&header, file_.bytes().data() + at, sizeof header);
        if (header.acknowledged > lsn) last = std::max(last, header.acknowledged);
        at = next;
      } else {
        at += 8;
      }
    }
    return last;
  }

 private:
  MappedFile file_;
  MappingGuard guard_;
  SegmentHeader header_{};
  bool good_ = false;
};

}  // namespace

PushLog::PushLog(std::string directory, Options options)
    : directory_(std::move(directory)), options_(options), buffer_(kBufferBytes) {
  if (!options_.in_memory) {
    MakeDirectories(directory_);
  } else if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    // The mode is 0700, because with the usual one, a umask like that of graphd@.service would let
    // the group write to the directory.
    ThrowErrno("can't create directory", directory_);
  }
  directory_fd_ = options_.in_memory ? OpenOwnDirectory(directory_)
                                     : OpenFile(directory_, O_RDONLY | O_DIRECTORY);
}

std::string PushLog::PathOf(uint64_t first_lsn) const {
  const std::string digits = std::to_string(first_lsn);
  return StrCat(directory_, "/log-", std::string(20 - digits.size(), '0'), digits);
}

PushLog::Tail PushLog::Recover(const std::function<void(const Push&)>& visit) {
  std::vector<uint64_t> firsts;
  for (const std::string& name : ListDirectory(directory_)) {
    if (name.starts_with("spare-")) {
      RemoveFile(StrCat(directory_, "/", name));
    } else if (name.starts_with("log-")) {
      firsts.push_back(static_cast<uint64_t>(ParseInt(name.substr(4), "name of a log segment", 1)));
    }
  }
  std::sort(firsts.begin(), firsts.end());
  Tail tail;
  for (const uint64_t first : firsts) {
    const std::string path = PathOf(first);
    if (options_.in_memory) OpenOwnFile(path, O_RDONLY);
    const SegmentReader reader(path);
    if (tail.path.empty() && !segments_.empty() && first != last_lsn_ + 1) {
      // Records between two segments are missing. They were acknowledged, because a segment is
      // begun only when the one before it is complete.
      tail = {path, 0, reader.begins_at(first) && first > last_lsn_ ? first - 1 : 0};
    }
    uint64_t offset = sizeof(SegmentHeader);
    if (!reader.begins_at(first)) {
      // The segment was created, or made from a spare, just before the process ended.
      if (tail.path.empty()) tail = {path, 0, 0};
      if (reader.lost_its_header(first)) tail.lost_after = std::max(tail.lost_after, first);
    } else if (tail.path.empty()) {
      segments_.push_back({first, reader.size(), reader.size()});
      last_lsn_ = first - 1;
      Push push;
      uint64_t next;
      while (reader.Read(offset, push, next) && push.lsn == last_lsn_ + 1) {
        visit(push);
        last_lsn_ = push.lsn;
        offset = next;
      }
      const uint64_t lost = reader.LastAfter(offset, last_lsn_);
      if (lost != 0) tail = {path, offset, lost};
    } else {
      tail.lost_after = std::max(tail.lost_after, reader.LastAfter(offset, last_lsn_));
    }
    reader.CheckIntact();
  }
  if (tail.lost_after == 0) tail = {};
  // If the last segment is empty, the next one gets the same name and replaces it.
  if (!segments_.empty() && segments_.back().first_lsn == last_lsn_ + 1) segments_.pop_back();
  return tail;
}

std::vector<std::string> PushLog::SegmentNames() const {
  std::vector<std::string> names;
  for (const std::string& name : ListDirectory(directory_)) {
    if (name.starts_with("log-")) names.push_back(name);
  }
  return names;
}

void PushLog::SetAside() {
  for (const std::string& name : SegmentNames()) {
    RenameFile(directory_ + "/" + name, StrCat(directory_, "/damaged-", name.substr(4)));
  }
  keeps_all_ = false;
  segments_.clear();
  file_.reset();
}

void PushLog::Clear() {
  for (const std::string& name : SegmentNames()) RemoveFile(directory_ + "/" + name);
  segments_.clear();
  file_.reset();
}

void PushLog::AdvanceTo(uint64_t lsn) { last_lsn_ = std::max(last_lsn_, lsn); }

// Begins a segment, in a spare file if there is one. If any step fails, the spare file is not lost,
// and a later call succeeds when the reason of the failure is gone.
void PushLog::StartSegment() {
  const std::string path = PathOf(last_lsn_ + 1);
  SegmentHeader header{};
  std::memcpy(header.magic, kSegmentMagic, sizeof kSegmentMagic);
  header.first_lsn = last_lsn_ + 1;
  if (::getrandom(&header.salt, sizeof header.salt, 0) != sizeof header.salt) {
    ThrowErrno("can't draw a salt for", path);
  }
  header.checksum = ChecksumOf(header);
  Spare made{path, 0};
  Spare& from = spares_.empty() ? made : spares_.back();
  const bool reuses = !spares_.empty();
  UniqueFd file;
  if (!options_.in_memory) {
    file = OpenFile(from.path, reuses ? O_WRONLY : O_WRONLY | O_CREAT, 0600);
  } else if (from.memory == nullptr) {
    from.memory = std::make_unique<MappedSegment>(from.path, options_.segment_bytes);
  }
  if (reuses) {
    RenameFile(from.path, path);
    made = std::move(from);
    spares_.pop_back();
    // The new name must be durable before the file is overwritten, because with its old name the
    // file would be a damaged segment.
    if (options_.sync) SyncDirectory(directory_);
  }
  if (options_.in_memory) {
    made.memory->SetPath(path);
    made.memory->Put(0, &header, sizeof header);
    made.memory->CheckIntact();
    made.bytes = made.memory->bytes();
  } else {
    WriteExactly(file.get(), std::as_bytes(std::span(&header, 1)), path);
    if (options_.sync) {
      Sync(file.get(), path);
      SyncDirectory(directory_);
    }
    file_ = std::move(file);
  }
  salt_ = header.salt;
  segments_.push_back(
      {last_lsn_ + 1, sizeof header, std::max(made.bytes, sizeof header), std::move(made.memory)});
}

// Detects files that were moved or damaged. Without this check, records could be acknowledged that
// the next process does not find.
void PushLog::CheckIntact() const {
  std::string what = WhatHappenedTo(directory_fd_.get(), directory_);
  if (what.empty() && file_) {
    what = WhatHappenedTo(file_.get(), PathOf(segments_.back().first_lsn));
  }
  if (!what.empty()) Throw(ErrorCode::kIo, what);
  if (memory() != nullptr) memory()->CheckIntact();
}

void PushLog::Append(std::span<const Push* const> pushes, const ParallelFor& parallel_for) {
  if (pushes.empty()) return;
  CheckIntact();
  if (!is_open() || segments_.back().bytes >= options_.segment_bytes) {
    file_.reset();
    StartSegment();
  }
  const uint64_t total =
      memory() != nullptr ? WriteToMemory(pushes, parallel_for) : WriteToFile(pushes);
  Segment& segment = segments_.back();
  segment.bytes += total;
  segment.file_bytes = std::max(segment.file_bytes, segment.bytes);
  last_lsn_ += pushes.size();
}

uint64_t PushLog::WriteToFile(std::span<const Push* const> pushes) {
  static constexpr char kZeros[8] = {};
  // Records are written after the last valid record, so the next write replaces one that failed.
  const Segment& segment = segments_.back();
  const std::string path = PathOf(segment.first_lsn);
  SegmentWriter writer(file_.get(), path, segment.bytes, buffer_);
  const ChecksumState checksum(XXH3_createState());
  for (const Push* push : pushes) {
    const uint64_t begin = writer.offset();
    const RecordHeader header = HeaderOf(*push, last_lsn_, 0);
    writer.Put(&header, sizeof header);
    writer.Put(push->rows.data(), push->rows.size_bytes());
    XXH3_64bits_reset_withSeed(checksum.get(), SeedOf(header, salt_, push->rows.data()));
    writer.Put(push->payload.data(), push->payload.size(), checksum.get());
    writer.Put(kZeros, Padding(push->payload.size()));
    writer.Replace(begin + offsetof(RecordHeader, checksum), XXH3_64bits_digest(checksum.get()));
  }
  writer.Flush();
  if (options_.sync && ::fdatasync(file_.get()) != 0) ThrowErrno("can't sync", path);
  WatchedThread::CountProgress();
  return writer.offset() - segment.bytes;
}

// Writes the header of each record last, because a record exists only when it has its header.
uint64_t PushLog::WriteToMemory(std::span<const Push* const> pushes,
                                const ParallelFor& parallel_for) {
  const auto bytes_of = [](const Push& push) {
    return sizeof(RecordHeader) + push.rows.size_bytes() + push.payload.size() +
           Padding(push.payload.size());
  };
  uint64_t at = segments_.back().bytes, end = at;
  for (const Push* push : pushes) end += bytes_of(*push);
  MappedSegment& memory = *this->memory();
  memory.Grow(end);
  segments_.back().file_bytes = memory.bytes();
  for (const Push* push : pushes) {
    RecordHeader header = HeaderOf(*push, last_lsn_, kNoPayloadChecksum);
    header.checksum = SeedOf(header, salt_, push->rows.data());
    const uint64_t rows = at + sizeof header, payload = rows + push->rows.size_bytes();
    memory.Put(rows, push->rows.data(), push->rows.size_bytes());
    parallel_for((push->payload.size() + kPieceBytes - 1) / kPieceBytes, [&](size_t i) {
      const auto piece = push->payload.subspan(i * kPieceBytes);
      memory.Put(payload + i * kPieceBytes, piece.data(), std::min(piece.size(), kPieceBytes));
    });
    memory.PutLast(at, &header, sizeof header);
    at += bytes_of(*push);
  }
  memory.CheckIntact();
  return end - segments_.back().bytes;
}

void PushLog::KeepSegments(size_t count) {
  min_segments_ = count;
  for (size_t i = segments_.size(); i < count; i++) {
    const std::string path = StrCat(directory_, "/spare-new-", i);
    const uint64_t bytes = MappedSegment::MakeFile(path, options_.segment_bytes);
    spares_.push_back({path, bytes});
  }
  if (spares_.empty() || spares_.back().memory != nullptr) return;
  Spare& first = spares_.back();  // the one that is used first
  first.memory = std::make_unique<MappedSegment>(first.path, first.bytes);
}

void PushLog::TruncateThrough(uint64_t lsn) {
  const auto files_in_use = [this] {
    uint64_t sum = 0;
    for (const Segment& segment : segments_) sum += segment.file_bytes;
    return sum;
  };
  // Files are kept for one segment more than were in use, because the same pushes may need one more
  // next time.
  uint64_t largest = 0;
  for (const Segment& segment : segments_) largest = std::max(largest, segment.file_bytes);
  max_bytes_ = std::max(files_in_use() + largest, max_bytes_ - max_bytes_ / 8);
  // The records of a segment end where the next segment begins, so the first segment is not needed
  // if the second one begins at `lsn` + 1 or before. The last segment stays, because records are
  // written to it.
  while (CanTruncate(lsn)) {
    Segment& segment = segments_.front();
    const std::string spare = StrCat(directory_, "/spare-", segment.first_lsn);
    RenameFile(PathOf(segment.first_lsn), spare);
    spares_.push_back({spare, segment.file_bytes, std::move(segment.memory)});
    segments_.pop_front();
  }
  uint64_t total = files_in_use();
  for (const Spare& spare : spares_) total += spare.bytes;
  while (!spares_.empty() && total > max_bytes_ &&
         segments_.size() + spares_.size() > min_segments_) {
    total -= spares_.back().bytes;
    RemoveFile(spares_.back().path);
    spares_.pop_back();
  }
}

uint64_t PushLog::bytes() const noexcept {
  uint64_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.bytes;
  return sum;
}

}  // namespace graphd::store
