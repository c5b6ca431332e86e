// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"
#include "store/checkpoint/reader.h"

// A set of checkpoints on one machine. It is a directory with one directory for each checkpoint:
//
//   NAME/data/          the tables (Store::WriteCheckpoint)
//   NAME/files/FILE     files that a trainer adds
//   NAME/manifest.json  the description of the whole checkpoint, on one of its machines
//   NAME/id             the id of the checkpoint, the same in its parts on other machines
//   NAME/sums           checksums of the files (checksums.h)
//   .partial-NAME       a checkpoint that is being made
//   .deleted-NAME       a checkpoint that is being deleted
//
// A checkpoint exists as a whole or not at all: it gets its name when all of it is on the disk, and
// loses the name before anything is deleted. Remains of a crash are removed at the next start.
// Names are checked before they are used in paths. Thread-safe.

namespace graphd::store {

inline constexpr size_t kMaxCheckpointName = 128, kMaxKeptFileName = 200;  // bytes

// Throws Error(kInvalid) unless the text is a valid name of a checkpoint: 1 to 128 characters
// A-Z a-z 0-9 . _ -, not beginning with '.'.
void CheckCheckpointName(const std::string& name);
// Throws Error(kInvalid) unless the text is a valid name of a file in a checkpoint: 1 to 200 bytes,
// no '/' or control characters, not "." or "..".
void CheckKeptFileName(const std::string& name);

class CheckpointSet {
 public:
  static constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
  static constexpr size_t kMaxFiles = 1024;
  static constexpr size_t kMaxId = 256, kMaxManifest = size_t{8} << 20;  // bytes

  enum class Role : uint8_t {
    kOwner,  // creates the directory if needed, and removes unfinished checkpoints
    kGuest,  // the directory may belong to another process that is running
  };
  // Throws Error(kIo).
  explicit CheckpointSet(std::string root, Role role = Role::kOwner);
  CheckpointSet(const CheckpointSet&) = delete;
  CheckpointSet& operator=(const CheckpointSet&) = delete;

  // A checkpoint that is being made. The destructor deletes it unless it was committed. Its set
  // outlives it. Not thread-safe.
  class Making {
   public:
    ~Making();
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

    // Returns the directory for Store::WriteCheckpoint.
    std::string data_directory() const { return directory_ + "/data"; }
    // Writes the next piece of a file; `offset` is its size so far. Throws Error: kInvalid for a
    // bad name or offset; kOverloaded beyond kMaxFiles or kMaxFileBytes, or if the disk is full;
    // kIo.
    void AddFile(const std::string& file, uint64_t offset, std::span<const std::byte> data);
    // Returns the size of all files so far.
    uint64_t Bytes() const;
    // Syncs everything to the disk and gives the checkpoint its name. `manifest` may be empty.
    // Throws Error: kInvalid if it has more than kMaxManifest bytes; kIo.
    void Commit(const std::string& manifest);

   private:
    friend class CheckpointSet;
    Making(CheckpointSet& set, std::string name, std::string id);

    CheckpointSet& set_;
    const std::string name_, id_, directory_;
    std::map<std::string, uint64_t> sizes_;  // size of each file so far
    bool committed_ = false;
  };

  // Begins a checkpoint. Throws Error: kInvalid for a bad name and for an id of more than kMaxId
  // bytes, kExists if a checkpoint of this name exists or is being made, kIo.
  std::unique_ptr<Making> Begin(const std::string& name, const std::string& id = {});

  struct Entry {
    std::string name, id;
    std::string manifest;  // empty if it is on another machine
    std::vector<TableSpec> tables;
    uint64_t bytes = 0;
    // The damage that Describe has found; it does not read all files. If there is damage, id,
    // manifest and tables are empty.
    std::string trouble;
  };
  // Returns the names of all checkpoints, sorted.
  std::vector<std::string> Names() const;
  // Describes a checkpoint that Names() has returned; nothing if it has been deleted meanwhile.
  std::optional<Entry> Describe(const std::string& name) const;
  // Opens a checkpoint. Verifies all files of its tables, unless it is one of the checkpoints that
  // were opened last. Throws Error: kNotFound, naming the existing checkpoints; kCorrupt, naming
  // the file.
  std::shared_ptr<const CheckpointReader> Open(const std::string& name);
  // Returns `count` bytes of the file from `offset` on, or fewer at the end of the file. If
  // `offset` is 0, verifies the whole file first. Throws Error: kNotFound, kCorrupt.
  std::vector<std::byte> ReadFile(const std::string& name, const std::string& file, uint64_t offset,
                                  uint64_t count) const;
  // Throws Error(kNotFound).
  void Delete(const std::string& name);
  // Has requires that the name was checked before.
  bool Has(const std::string& name) const { return FileExists(PathOf(name)); }
  bool HasFile(const std::string& name, const std::string& file) const;
  std::string DataDirectory(const std::string& name) const { return PathOf(name) + "/data"; }

 private:
  std::string PathOf(const std::string& name) const { return root_ + "/" + name; }
  void CheckThere(const std::string& name) const;

  const std::string root_;
  Mutex mutex_{Mutex::kHeldLong};
  std::set<std::string> making_ GRAPHD_GUARDED_BY(mutex_);
  // The checkpoints that were opened last. They are kept open, because opening one takes a while.
  std::list<std::pair<std::string, std::shared_ptr<const CheckpointReader>>> open_
      GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd::store
