// SPDX-License-Identifier: Apache-2.0
#include "store/rows/page_db.h"

#include <endian.h>
#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/mutex.h"
#include "base/threads/watched_thread.h"
#include "store/rows/file_checksum.h"
#include "store/rows/quota_file.h"

namespace graphd::store {
namespace {

constexpr char kPagePrefix = 'p';
constexpr char kTextPrefix = 't';

struct ValueHeader {
  uint64_t checksum;  // checksum of the rest of the value, seeded by the key
  uint64_t lsn;
};

// Keys are big endian, so that a table's pages are contiguous and in order.
struct PageKey {
  PageKey(uint32_t table, uint64_t page) {
    const uint32_t big_table = htobe32(table);
    const uint64_t big_page = htobe64(page);
    bytes[0] = kPagePrefix;
    std::memcpy(bytes + 1, &big_table, sizeof big_table);
    std::memcpy(bytes + 5, &big_page, sizeof big_page);
  }
  rocksdb::Slice slice() const { return {bytes, sizeof bytes}; }
  char bytes[13];
};

uint64_t PageOf(const rocksdb::Slice& key) {
  uint64_t big = 0;
  std::memcpy(&big, key.data() + 5, sizeof big);
  return be64toh(big);
}

uint64_t ChecksumOf(const rocksdb::Slice& key, const char* behind_checksum, size_t size) {
  return XXH3_64bits_withSeed(behind_checksum, size, XXH3_64bits(key.data(), key.size()));
}

bool IsShortOfDescriptors(const std::string& text) {
  return text.find(std::strerror(EMFILE)) != text.npos ||
         text.find(std::strerror(ENFILE)) != text.npos;
}

void Check(const rocksdb::Status& status, const std::string& directory) {
  if (status.ok()) return;
  ErrorCode code = ErrorCode::kIo;
  if (status.IsCorruption()) code = ErrorCode::kCorrupt;
  const std::string text = status.ToString();
  // There are no status codes for a shortage of descriptors, nor for a lock that another process
  // holds.
  if (status.IsNoSpace() || IsShortOfDescriptors(text)) code = ErrorCode::kOverloaded;
  if (code == ErrorCode::kIo && status.IsIOError() && text.find("lock ") != std::string::npos) {
    code = ErrorCode::kExists;
  }
  Throw(code, directory, ": ", text);
}

// Returns why the value is damaged, or an empty text.
std::string Verify(const rocksdb::Slice& key, const rocksdb::Slice& value) {
  if (value.size() < sizeof(ValueHeader)) return StrCat("it has ", value.size(), " bytes");
  uint64_t checksum;
  std::memcpy(&checksum, value.data(), sizeof checksum);
  const size_t rest = value.size() - sizeof checksum;
  if (checksum != ChecksumOf(key, value.data() + sizeof checksum, rest)) {
    return "its checksum is wrong";
  }
  return {};
}

uint64_t LsnOf(const rocksdb::Slice& value) {
  uint64_t lsn;
  std::memcpy(&lsn, value.data() + offsetof(ValueHeader, lsn), sizeof lsn);
  return lsn;
}

std::span<const std::byte> BytesOf(const rocksdb::Slice& value) {
  return {reinterpret_cast<const std::byte*>(value.data()) + sizeof(ValueHeader),
          value.size() - sizeof(ValueHeader)};
}

rocksdb::WriteOptions Unlogged() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

constexpr const char* kChecksumName = "graphd-xxh3";

// Computes the checksum of a table file while it is written.
class TableChecksum final : public rocksdb::FileChecksumGenerator {
 public:
  void Update(const char* data, size_t bytes) override { checksum_.Add(data, bytes); }
  void Finalize() override { digits_ = checksum_.Digits(); }
  std::string GetChecksum() const override { return digits_; }
  const char* Name() const override { return kChecksumName; }

 private:
  FileChecksum checksum_;
  std::string digits_;
};

class ChecksumFactory final : public rocksdb::FileChecksumGenFactory {
 public:
  std::unique_ptr<rocksdb::FileChecksumGenerator> CreateFileChecksumGenerator(
      const rocksdb::FileChecksumGenContext&) override {
    return std::make_unique<TableChecksum>();
  }
  const char* Name() const override { return kChecksumName; }
};

// Returns whether the file system supports direct I/O.
bool HasDirectIo(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

// The log of RocksDB's messages. It replaces RocksDB's own log file next to the pages: after a line
// for which a full disk has no room, the next line would abort the process (an assertion in
// Debian's build of 7.8). Warnings are left out, because they are about writers that wait for a
// flush, which a write-back cycle intends.
class RocksLog final : public rocksdb::Logger {
 public:
  RocksLog() : rocksdb::Logger(rocksdb::InfoLogLevel::ERROR_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char text[1000];
    std::vsnprintf(text, sizeof text, format, arguments);
    LogError("RocksDB: ", text);
  }
};

constexpr auto kRetryInterval = std::chrono::milliseconds(100);
constexpr double kResumeSeconds = 1;  // attempts to resume are this far apart

}  // namespace

// A listener that knows which values are on the disk. It also keeps RocksDB from resuming by itself
// after a shortage of space, so that PageDb does it: RocksDB would wait until a whole write buffer
// (256 MiB) fits on the disk.
class PageDb::Flushes final : public rocksdb::EventListener {
 public:
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    const MutexLock lock(mutex_);
    flushed_ = std::max(flushed_, info.largest_seqno);
    wake_.NotifyAll();
  }
  // Sets the sequence number of the last value that is on the disk when the database is opened.
  void Begin(uint64_t number) {
    const MutexLock lock(mutex_);
    flushed_ = std::max(flushed_, number);
  }
  // Returns whether all values up to a sequence number are on the disk; waits for that, or for an
  // error, up to a second.
  bool WaitFor(uint64_t number) {
    const MutexLock lock(mutex_);
    const auto until = Clock::now() + std::chrono::seconds(1);
    while (flushed_ < number && error_.ok() && Clock::now() < until) {
      wake_.WaitFor(mutex_, kRetryInterval);
    }
    return flushed_ >= number;
  }

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    // Errors of compactions are ignored: once RocksDB is resumed, a flush goes on after such an
    // error.
    if (reason == rocksdb::BackgroundErrorReason::kCompaction) return;
    const MutexLock lock(mutex_);
    error_ = *error;
    wake_.NotifyAll();
  }
  // Returns the last error of a flush, and forgets it.
  rocksdb::Status TakeError() {
    const MutexLock lock(mutex_);
    return std::exchange(error_, rocksdb::Status::OK());
  }

  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                            bool* auto_recovery) override {
    if (error.IsNoSpace()) *auto_recovery = false;
  }

  // RocksDB's threads count progress for the threads that wait for them (WithHelpers).
  bool ShouldBeNotifiedOnFileIO() override { return true; }
  void OnFileReadFinish(const rocksdb::FileOperationInfo&) override {
    WatchedThread::CountProgress();
  }
  void OnFileWriteFinish(const rocksdb::FileOperationInfo&) override {
    WatchedThread::CountProgress();
  }
  void OnFileSyncFinish(const rocksdb::FileOperationInfo&) override {
    WatchedThread::CountProgress();
  }

 private:
  Mutex mutex_;
  CondVar wake_;
  uint64_t flushed_ GRAPHD_GUARDED_BY(mutex_) = 0;  // a sequence number
  rocksdb::Status error_ GRAPHD_GUARDED_BY(mutex_);
};

// The system's files, for RocksDB. If there is no descriptor for a file that RocksDB's threads
// write, or read in order to write another (the inputs of a compaction, and a new file that is
// checked), they wait for one. Otherwise the flush or the compaction would fail, and RocksDB would
// refuse all changes until it is opened again. A caller who only reads gets the error. A quota that
// is exhausted counts as a full disk.
class PageDb::PatientFiles final : public rocksdb::FileSystemWrapper {
 public:
  PatientFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "graphd"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status =
        WithoutQuota(Wait([&] { return target()->NewWritableFile(name, options, result, debug); }));
    if (status.ok()) *result = std::make_unique<QuotaFile>(std::move(*result));
    return status;
  }
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override {
    return Wait([&] { return target()->NewDirectory(name, options, result, debug); });
  }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override {
    const auto open = [&] { return target()->NewRandomAccessFile(name, options, result, debug); };
    return Reading::now() ? open() : Wait(open);
  }
  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* debug) override {
    const auto open = [&] { return target()->NewSequentialFile(name, options, result, debug); };
    return Reading::now() ? open() : Wait(open);
  }

  // While an object of this class exists, this thread does not wait for descriptors when it opens
  // files for reading.
  class Reading {
   public:
    Reading() noexcept { depth_++; }
    ~Reading() { depth_--; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    static bool now() noexcept { return depth_ != 0; }

   private:
    static inline thread_local int depth_ = 0;
  };

  // Makes calls fail that wait now, or that would wait later.
  void Stop() {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  // Returns why calls wait, or an empty text.
  std::string trouble() const {
    const MutexLock lock(mutex_);
    return waiting_ == 0 ? "" : trouble_;
  }

 private:
  template <class F>
  rocksdb::IOStatus Wait(const F& f) {
    bool waits = false;
    for (;;) {
      rocksdb::IOStatus status = f();
      const bool is_short = !status.ok() && IsShortOfDescriptors(status.ToString());
      const MutexLock lock(mutex_);
      if (is_short && !stopping_) {
        trouble_ = status.ToString();
        if (!std::exchange(waits, true) && waiting_++ == 0) LogError("RocksDB waits: ", trouble_);
        wake_.WaitFor(mutex_, kRetryInterval);
        WatchedThread::CountProgress();  // for the thread that waits for RocksDB
        continue;
      }
      if (waits && --waiting_ == 0) LogInfo("RocksDB no longer waits");
      return status;
    }
  }

  mutable Mutex mutex_;
  CondVar wake_;
  bool stopping_ GRAPHD_GUARDED_BY(mutex_) = false;
  int waiting_ GRAPHD_GUARDED_BY(mutex_) = 0;  // calls
  std::string trouble_ GRAPHD_GUARDED_BY(mutex_);
};

namespace {

// Sizes of a write buffer. One buffer is filled while the others are written.
constexpr uint64_t kLeastBuffer = uint64_t{2} << 20, kLargestBuffer = uint64_t{256} << 20;
constexpr uint64_t kLevelBytes = uint64_t{2} << 30;  // the size of level 1

// Returns how many files of level 0, each of which was one write buffer, are compacted together.
// Pages change in no particular order, so a compaction rewrites nearly all of level 1, however
// little is in level 0. Therefore files are collected until they have about as many bytes as level
// 1, or until there are so many that reads, which ask each file's Bloom filter, would take longer.
int FilesToCompact(uint64_t buffer_bytes) {
  return static_cast<int>(std::clamp<uint64_t>(kLevelBytes / buffer_bytes, 4, 32));
}

rocksdb::Options DbOptions(const std::string& directory, uint64_t memory, rocksdb::Env* env,
                           std::shared_ptr<rocksdb::EventListener> listener) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  // Trained floats can't be compressed.
  options.compression = rocksdb::kNoCompression;
  // A write-back cycle should produce a few large files, because older values of pages slow down
  // each compaction. With values of 64 KiB, the overhead of a large memtable is negligible.
  const int buffers = memory == 0 ? 3 : 2;
  options.max_write_buffer_number = buffers;
  // Writers wait when this many buffers are full; one more may be partly filled.
  options.write_buffer_size = memory == 0 ? kLargestBuffer
                                          : std::clamp(memory / static_cast<uint64_t>(buffers + 1),
                                                       kLeastBuffer, kLargestBuffer);
  options.target_file_size_base = uint64_t{256} << 20;
  options.max_bytes_for_level_base = kLevelBytes;
  const int files = FilesToCompact(options.write_buffer_size);
  options.level0_file_num_compaction_trigger = files;
  options.level0_slowdown_writes_trigger = 3 * files;
  options.level0_stop_writes_trigger = 4 * files;
  options.max_background_jobs = 2;
  options.atomic_flush = true;
  // Direct I/O is used, because these files are not read soon. They would only fill the page cache,
  // and copying them into it would take processor time from trainers.
  options.use_direct_io_for_flush_and_compaction = HasDirectIo(directory);
  options.max_open_files = 512;
  options.file_checksum_gen_factory = std::make_shared<ChecksumFactory>();
  options.info_log = std::make_shared<RocksLog>();
  options.listeners.push_back(std::move(listener));
  rocksdb::BlockBasedTableOptions table;
  table.block_size = size_t{64} << 10;  // a page is a block: reading one reads nothing else
  table.no_block_cache = true;          // the arena is the cache
  table.filter_policy.reset(
      rocksdb::NewBloomFilterPolicy(10));  // many reads are of pages that were never written
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

PageDb::PageDb(std::string directory, Mode mode, uint64_t memory)
    : directory_(std::move(directory)),
      files_(std::make_shared<PatientFiles>()),
      flushes_(std::make_shared<Flushes>()),
      env_(rocksdb::NewCompositeEnv(files_)) {
  rocksdb::DB* db = nullptr;
  const PatientFiles::Reading reading;
  if (mode == Mode::kReadOnly) {
    if (!FileExists(directory_ + "/CURRENT")) {
      Throw(ErrorCode::kNotFound, directory_, " does not exist, or is incomplete");
    }
    rocksdb::Options options = DbOptions(directory_, memory, env_.get(), flushes_);
    options.create_if_missing = false;
    Check(rocksdb::DB::OpenForReadOnly(options, directory_, &db), directory_);
  } else {
    MakeDirectories(directory_);
    Check(rocksdb::DB::Open(DbOptions(directory_, memory, env_.get(), flushes_), directory_, &db),
          directory_);
  }
  db_.reset(db);
  flushes_->Begin(db_->GetLatestSequenceNumber());
}

PageDb::~PageDb() { StopWaiting(); }

void PageDb::StopWaiting() { files_->Stop(); }

std::string PageDb::trouble() const { return files_->trouble(); }

// Makes a change. If RocksDB refuses it because the disk was full, resumes RocksDB and tries again.
void PageDb::Change(const std::function<rocksdb::Status()>& change) {
  const WatchedThread::WithHelpers with_rocksdb;
  rocksdb::Status status = change();
  if (status.IsNoSpace() && Resume()) status = change();
  Check(status, directory_);
}

// Returns whether a flush runs, also one that has failed: RocksDB's thread then sleeps for a
// second. If RocksDB is resumed meanwhile, it may wait for ever for a flush that nobody begins.
bool PageDb::IsFlushing() const {
  uint64_t running = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningFlushes, &running);
  return running != 0;
}

// Returns whether RocksDB accepts changes again.
bool PageDb::Resume() {
  const MutexLock lock(resume_mutex_);
  if (SecondsSince(resumed_) < kResumeSeconds || IsFlushing()) return false;
  const bool done = db_->Resume().ok();
  resumed_ = Clock::now();
  if (done) LogInfo(directory_, ": the disk has room again");
  return done;
}

void PageDb::PutPages(std::span<const Page> pages) {
  rocksdb::WriteBatch batch;
  std::string value;
  for (const Page& page : pages) {
    const PageKey key(page.table, page.page);
    value.resize(sizeof(ValueHeader));
    std::memcpy(value.data() + offsetof(ValueHeader, lsn), &page.lsn, sizeof page.lsn);
    value.append(reinterpret_cast<const char*>(page.bytes.data()), page.bytes.size());
    const uint64_t checksum =
        ChecksumOf(key.slice(), value.data() + sizeof checksum, value.size() - sizeof checksum);
    std::memcpy(value.data(), &checksum, sizeof checksum);
    Check(batch.Put(key.slice(), value), directory_);
  }
  Change([&] { return db_->Write(Unlogged(), &batch); });
}

std::optional<uint64_t> PageDb::GetPage(uint32_t table, uint64_t page, std::span<std::byte> out,
                                        size_t shorter) const {
  const PageKey key(table, page);
  const PatientFiles::Reading reading;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), key.slice(), &value);
  if (status.IsNotFound()) return {};
  Check(status, directory_);
  std::string why = Verify(key.slice(), value);
  const size_t size = BytesOf(value).size();
  if (why.empty() && size != out.size() && size != shorter) {
    why = StrCat("it has ", size, " bytes and should have ", out.size());
  }
  if (!why.empty()) Throw(ErrorCode::kCorrupt, directory_, ": page ", page, ": ", why);
  std::memcpy(out.data(), BytesOf(value).data(), size);
  std::memset(out.data() + size, 0, out.size() - size);
  return LsnOf(value);
}

void PageDb::EachPage(uint32_t table,
                      const std::function<void(uint64_t, uint64_t, std::span<const std::byte>)>& f,
                      const std::function<void(uint64_t, const std::string&)>& bad) const {
  const PageKey first(table, 0), last(table, UINT64_MAX);
  const rocksdb::Slice end = last.slice();
  const PatientFiles::Reading reading;
  rocksdb::ReadOptions options;
  options.readahead_size = size_t{8} << 20;
  options.iterate_upper_bound = &end;
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options));
  for (it->Seek(first.slice()); it->Valid(); it->Next()) {
    const std::string why = Verify(it->key(), it->value());
    if (why.empty()) {
      f(PageOf(it->key()), LsnOf(it->value()), BytesOf(it->value()));
    } else {
      bad(PageOf(it->key()), why);
    }
  }
  Check(it->status(), directory_);
}

void PageDb::RemoveTable(uint32_t table, const std::vector<std::string>& texts) {
  const PageKey first(table, 0), last(table, UINT64_MAX);
  rocksdb::WriteBatch batch;
  Check(batch.DeleteRange(first.slice(), last.slice()), directory_);
  for (const std::string& name : texts) Check(batch.Delete(kTextPrefix + name), directory_);
  Change([&] { return db_->Write(Unlogged(), &batch); });
}

void PageDb::PutText(const std::string& name, const std::string& text) {
  const std::string key = kTextPrefix + name;
  std::string value(sizeof(uint64_t), '\0');
  value += text;
  const uint64_t checksum = ChecksumOf(key, text.data(), text.size());
  std::memcpy(value.data(), &checksum, sizeof checksum);
  Change([&] { return db_->Put(Unlogged(), key, value); });
}

std::optional<std::string> PageDb::GetText(const std::string& name) const {
  const std::string key = kTextPrefix + name;
  const PatientFiles::Reading reading;
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), key, &value);
  if (status.IsNotFound()) return {};
  Check(status, directory_);
  uint64_t checksum = 0;
  if (value.size() < sizeof checksum) {
    Throw(ErrorCode::kCorrupt, directory_, ": ", name, " is truncated");
  }
  std::memcpy(&checksum, value.data(), sizeof checksum);
  value.erase(0, sizeof checksum);
  if (checksum != ChecksumOf(key, value.data(), value.size())) {
    Throw(ErrorCode::kCorrupt, directory_, ": the checksum of ", name, " is wrong");
  }
  return value;
}

std::vector<std::string> PageDb::TextNames(const std::string& prefix) const {
  const std::string first = kTextPrefix + prefix;
  std::vector<std::string> names;
  const PatientFiles::Reading reading;
  std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
  for (it->Seek(first); it->Valid() && it->key().starts_with(first); it->Next()) {
    names.push_back(it->key().ToString().substr(1));
  }
  Check(it->status(), directory_);
  return names;
}

void PageDb::RemoveText(const std::string& name) {
  Change([&] { return db_->Delete(Unlogged(), kTextPrefix + name); });
}

std::map<std::string, std::string> PageDb::FileChecksums() const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::map<std::string, std::string> checksums;
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.file_checksum_func_name != kChecksumName) continue;
    checksums[file.name.substr(file.name.rfind('/') + 1)] = file.file_checksum;
  }
  return checksums;
}

void PageDb::Flush() {
  const WatchedThread::WithHelpers with_rocksdb;
  // This function waits for the flush itself. RocksDB's own wait can't be relied upon once a flush
  // has failed: it may return at once without an error (RocksDB's issue 8046), or never (15030).
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  const uint64_t last = db_->GetLatestSequenceNumber();
  Change([&] {
    flushes_->TakeError().PermitUncheckedError();
    rocksdb::Status status = db_->Flush(options);
    while (status.ok() && !flushes_->WaitFor(last)) {
      status = flushes_->TakeError();
      // Another call of Flush while a flush runs would only make smaller files.
      if (!status.ok() || IsFlushing()) continue;
      status = db_->Resume();  // does nothing unless there was an error before
      if (status.ok()) status = db_->Flush(options);
    }
    return status;
  });
  // A full disk may have stopped only compaction. If it has not, this call does nothing.
  if (!IsFlushing()) db_->Resume().PermitUncheckedError();
}

void PageDb::LinkTo(const std::string& directory) {
  if (FileExists(directory)) Throw(ErrorCode::kExists, directory, " exists already");
  const WatchedThread::WithHelpers with_rocksdb;
  rocksdb::Checkpoint* made = nullptr;
  Check(rocksdb::Checkpoint::Create(db_.get(), &made), directory_);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  std::error_code error;
  const std::string path = std::filesystem::absolute(directory, error);
  if (error) Throw(ErrorCode::kIo, "can't find ", directory, ": ", error.message());
  Check(checkpoint->CreateCheckpoint(path), directory);
  SyncDirectory(directory);
}

uint64_t PageDb::memory() const {
  uint64_t bytes = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &bytes);
  return bytes;
}

uint64_t PageDb::BytesOfTable(uint32_t table) const {
  const PageKey first(table, 0), last(table, UINT64_MAX);
  const rocksdb::Range pages(first.slice(), last.slice());
  rocksdb::SizeApproximationOptions files;
  files.include_files = true;
  uint64_t bytes = 0;
  return db_->GetApproximateSizes(files, db_->DefaultColumnFamily(), &pages, 1, &bytes).ok() ? bytes
                                                                                             : 0;
}

uint64_t PageDb::bytes() const {
  uint64_t live = 0;
  db_->GetIntProperty("rocksdb.live-sst-files-size", &live);
  return live;
}

}  // namespace graphd::store
