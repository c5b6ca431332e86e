// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "store/checkpoint/reader.h"

// The checkpoints on one machine: a directory with one directory for each,
//
//   NAME/data/          what Store::WriteCheckpoint wrote
//   NAME/files/FILE     what a trainer keeps with it
//   NAME/manifest.json  of the whole checkpoint, on one of its machines
//   NAME/id             of the making: parts on several machines are of one
//   NAME/sums           checksums of the files (checkpoint_sums.h)
//   .partial-NAME, .deleted-NAME
//
// It is there in whole or not at all: it gets its name when all of it is on the disk, and loses it
// before anything of it goes. What a crash leaves of the others is removed at the next start. Names
// are checked before they become paths. Thread-safe.

namespace graphd::store {

// Throw Error(kInvalid) unless the text can name a checkpoint: 1 to 128 of A-Z a-z 0-9 . _ -, not
// beginning with '.'; a file in it: 1 to 200 bytes, no '/' or control characters, not "." or "..".
void CheckCheckpointName(const std::string& name);
void CheckKeptFileName(const std::string& name);

class CheckpointSet {
 public:
  static constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
  static constexpr size_t kMaxFiles = 1024;

  // kOwner: makes the directory if there is none, and removes what is not whole. kGuest: it is
  // another process's, if that lives. Throws Error(kIo).
  enum class Role : uint8_t { kOwner, kGuest };
  explicit CheckpointSet(std::string root, Role role = Role::kOwner);
  CheckpointSet(const CheckpointSet&) = delete;
  CheckpointSet& operator=(const CheckpointSet&) = delete;

  // A checkpoint that is being made. Goes away, with all that was written, unless it is committed.
  // Outlived by its set. Not thread-safe.
  class Making {
   public:
    ~Making();
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

    // For Store::WriteCheckpoint.
    std::string data_directory() const { return directory_ + "/data"; }
    // Writes a piece of a file, whose pieces come in order: `offset` is its size so far. Throws
    // Error(kInvalid) for a bad name or offset, kOverloaded beyond kMaxFiles, kMaxFileBytes or the
    // disk's room, kIo.
    void AddFile(const std::string& file, uint64_t offset, std::span<const std::byte> data);
    // Of what was written, so far.
    uint64_t Bytes() const;
    // Puts all on the disk and gives it its name. `manifest` may be empty. Throws Error(kIo).
    void Commit(const std::string& manifest);

   private:
    friend class CheckpointSet;
    Making(CheckpointSet& set, std::string name, std::string id);

    CheckpointSet& set_;
    const std::string name_, id_, directory_;
    std::map<std::string, uint64_t> sizes_;  // of files
    bool committed_ = false;
  };

  // Throws Error: kInvalid, kExists if there is one of this name, also in the making, kIo.
  std::unique_ptr<Making> Begin(const std::string& name, const std::string& id = {});

  struct Entry {
    std::string name, id;
    std::string manifest;           // empty if it is on another machine
    std::vector<TableSpec> tables;  // in it
    uint64_t bytes = 0;
    std::string trouble;  // what is damaged, as far as it was looked at; the rest is missing then
  };
  // By name.
  std::vector<Entry> List() const;
  // Reads all that belongs to tables once, unless it was one of the last that were opened. Throws
  // Error(kNotFound) naming those there are, Error(kCorrupt) naming the file.
  std::shared_ptr<const CheckpointReader> Open(const std::string& name);
  // At most `count` bytes from `offset` on, fewer only at the file's end; with the first ones the
  // whole file is looked at. Throws Error(kNotFound), Error(kCorrupt).
  std::vector<std::byte> ReadFile(const std::string& name, const std::string& file, uint64_t offset,
                                  uint64_t count) const;
  // Throws Error(kNotFound).
  void Delete(const std::string& name);
  // Names that were checked.
  bool Has(const std::string& name) const noexcept { return FileExists(PathOf(name)); }
  bool HasFile(const std::string& name, const std::string& file) const;
  std::string DataDirectory(const std::string& name) const { return PathOf(name) + "/data"; }

 private:
  std::string PathOf(const std::string& name) const { return root_ + "/" + name; }
  void CheckThere(const std::string& name) const;
  std::vector<std::string> Names() const;

  const std::string root_;
  std::mutex mutex_;  // guards the rest
  std::set<std::string> making_;
  // The last ones that were read; opening one takes a while.
  std::list<std::pair<std::string, std::shared_ptr<const CheckpointReader>>> open_;
};

}  // namespace graphd::store
