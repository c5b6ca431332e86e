// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/threads/mutex.h"

// The RocksDB database of a store: one value per page of a table, and some named texts. RocksDB's
// own log is not used, because the push log replaces it and recovers ten times faster. Values are
// therefore on the disk only when Flush returns, and each flush is atomic: after a crash, the
// database holds all values up to one of the flushes. Every value has a checksum. Thread-safe. All
// methods throw Error(kIo), and Error(kOverloaded) while the disk is full.

namespace rocksdb {
class DB;
class Env;
class Status;
}  // namespace rocksdb

namespace graphd::store {

class PageDb {
 public:
  struct Page {
    uint32_t table = 0;
    uint64_t page = 0;
    uint64_t lsn = 0;  // the last push applied to it
    std::span<const std::byte> bytes;
  };

  enum class Mode : uint8_t { kReadWrite, kReadOnly };

  // Opens the database, or creates it; in read-only mode it must exist and is not changed. `memory`
  // bounds the buffers of values that are not on the disk yet, 8 MiB at least; 0 uses a size that
  // suits large tables. Throws Error: kExists if another process has it open, kNotFound, kCorrupt,
  // kIo.
  explicit PageDb(std::string directory, Mode mode = Mode::kReadWrite, uint64_t memory = 0);
  ~PageDb();
  PageDb(const PageDb&) = delete;
  PageDb& operator=(const PageDb&) = delete;

  void PutPages(std::span<const Page> pages);
  // Reads a page to `out` and returns its sequence number, or returns nothing if the page was never
  // put. If the stored page has only `shorter` bytes, the rest of `out` is filled with zeros.
  // Throws Error(kCorrupt) if the page has another size, or if its checksum is wrong.
  std::optional<uint64_t> GetPage(uint32_t table, uint64_t page, std::span<std::byte> out,
                                  size_t shorter = SIZE_MAX) const;
  // Calls f(page, lsn, bytes) for all pages of the table in order, in one pass, and bad(page, why)
  // for damaged pages.
  void EachPage(uint32_t table,
                const std::function<void(uint64_t, uint64_t, std::span<const std::byte>)>& f,
                const std::function<void(uint64_t, const std::string&)>& bad) const;
  // Removes all pages of the table, and these texts: all of it or, if it throws, nothing.
  void RemoveTable(uint32_t table, const std::vector<std::string>& texts = {});

  void PutText(const std::string& name, const std::string& text);
  std::optional<std::string> GetText(const std::string& name) const;
  std::vector<std::string> TextNames(const std::string& prefix) const;
  void RemoveText(const std::string& name);

  // Returns the checksums (FileChecksum::Digits) of RocksDB's table files by name, as computed when
  // they were written. Files that another program wrote are left out.
  std::map<std::string, std::string> FileChecksums() const;
  // Waits until all values that were put are on the disk.
  void Flush();
  // Creates `directory` as a copy of the database as of the last flush. Its files are hard links if
  // it is on the same file system. Throws Error(kExists) if it exists.
  void LinkTo(const std::string& directory);
  // While descriptors have run out, Flush, changes of many pages, and RocksDB's own threads wait,
  // and methods that read throw Error(kOverloaded). trouble() returns why calls wait, or an empty
  // text. After StopWaiting, calls that would wait fail instead.
  std::string trouble() const;
  void StopWaiting();
  uint64_t bytes() const;  // approximate size of its files
  // Returns the approximate number of bytes in RocksDB's files that pages of the table take, or 0
  // if RocksDB can't tell.
  uint64_t BytesOfTable(uint32_t table) const;
  uint64_t memory() const;  // size of values that are not on the disk yet

 private:
  void Change(const std::function<rocksdb::Status()>& change);
  bool IsFlushing() const;
  bool Resume();

  std::string directory_;
  class PatientFiles;
  class Flushes;

  std::shared_ptr<PatientFiles> files_;
  std::shared_ptr<Flushes> flushes_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  Mutex resume_mutex_{Mutex::kHeldLong};  // held while RocksDB is resumed
  Clock::time_point resumed_ GRAPHD_GUARDED_BY(resume_mutex_);
};

}  // namespace graphd::store
