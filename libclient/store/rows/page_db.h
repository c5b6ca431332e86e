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

// RocksDB as the store uses it: one value per page of a table, and some named texts. Nothing is in
// RocksDB's own log (the push log does that job, ten times faster at recovery), so what was put is
// safe when Flush returns, and all of it at once: after a crash the database holds everything up to
// some flush. Every value carries its checksum. Thread-safe.

namespace rocksdb {
class DB;
}

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

  // Opens or makes it; in read-only mode it has to be there, and stays as it is. `memory`: of what
  // was put and is not on the disk yet, 8 MiB at least; 0: as much as is good for large tables.
  // Throws Error: kExists if another process has it open, kNotFound, kCorrupt, kIo.
  explicit PageDb(std::string directory, Mode mode = Mode::kReadWrite, uint64_t memory = 0);
  ~PageDb();
  PageDb(const PageDb&) = delete;
  PageDb& operator=(const PageDb&) = delete;

  void PutPages(std::span<const Page> pages);
  // Fills `out` and returns the page's number, or nothing if it was never put. It may have
  // `shorter` bytes, and zeros are what it lacks then. Throws Error(kCorrupt) if its size or
  // checksum is wrong.
  std::optional<uint64_t> GetPage(uint32_t table, uint64_t page, std::span<std::byte> out,
                                  size_t shorter = SIZE_MAX) const;
  // Calls f(page, lsn, bytes) for the table's pages in order, for loading it at once; a bad page
  // goes to `bad(page, why)`.
  void EachPage(uint32_t table,
                const std::function<void(uint64_t, uint64_t, std::span<const std::byte>)>& f,
                const std::function<void(uint64_t, const std::string&)>& bad) const;
  void RemoveTable(uint32_t table);

  void PutText(const std::string& name, const std::string& text);
  std::optional<std::string> GetText(const std::string& name) const;
  std::vector<std::string> TextNames(const std::string& prefix) const;
  void RemoveText(const std::string& name);

  // Of the tables that it consists of, by their files' names, FileChecksum's digits from when they
  // were written; without those that another program wrote.
  std::map<std::string, std::string> FileChecksums() const;
  // Waits until all that was put is on the disk.
  void Flush();
  // Makes `directory`, which can be opened as a database of what is safe now: its files are hard
  // links if it lies on the same disk. Throws Error(kExists) if it is there already.
  void LinkTo(const std::string& directory);
  uint64_t bytes() const;   // of its files, about
  uint64_t memory() const;  // of what is not on the disk yet

 private:
  std::string directory_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace graphd::store
