// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "store/log/store_state.h"

// The two texts that connect a store with the memory of its tables (PersistentArena): one in the
// store's directory, which names the memory, and one in the memory, which names the store. Both
// have the same random number, which no other memory has.

namespace graphd::store {

// The names of directories of memory, and of descriptors of memory that a keeper has, begin so.
inline constexpr const char* kMemoryPrefix = "graphd-";
inline constexpr const char* kKeptPrefix = "tables-";

// The contents of the file `memory` in the store's directory, or of `memory-saved`.
struct MemoryName {
  // A MemoryKeeper has the descriptor of the memory's directory, which has no path then.
  bool is_kept = false;
  std::string place;  // the name of that descriptor, or else the path of the directory
  std::string nonce;
  std::string tmpfs;  // text that differs when the memory can't exist any more
  // Only in `memory-saved`: RocksDB's numbers when all rows were in it as well.
  uint64_t lsn = 0;
  uint64_t next_id = 0;

  bool operator==(const MemoryName&) const = default;

  static std::string PathIn(const std::string& store_directory);
  static std::string SavedPathIn(const std::string& store_directory);

  // Makes the name of new memory: of the directory, or of a descriptor if `is_kept`.
  static MemoryName Make(bool is_kept, const std::string& directory, const std::string& nonce);
  // Returns nothing if the file is damaged or of another version. The file exists.
  static std::optional<MemoryName> Read(const std::string& path);
  // Returns nothing also if there is no file.
  static std::optional<MemoryName> ReadSaved(const std::string& store_directory);
  // Writes `memory`, on the disk.
  void Write(const std::string& store_directory) const;
  // Writes `memory-saved`, on the disk, with what RocksDB has.
  void WriteSaved(const std::string& store_directory, const StoreState& stored) const;

  // Returns whether `memory` in the store's directory names the kept descriptor `place`, so that
  // rows may be nowhere else. Throws Error if that can't be told: kVersion if the file is damaged,
  // kIo, kNotFound or kDenied if it, or RocksDB beside it, can't be reached, as in a directory that
  // is not mounted.
  static bool IsNeeded(const std::string& store_directory, const std::string& place);

  // Returns whether the machine, its tmpfs and its service manager are those of then, so that
  // memory which is gone was removed by somebody.
  bool IsOfThisTime() const;
};

// The contents of the file `owner` in the memory.
struct MemoryOwner {
  std::string nonce, store_directory;

  static std::string PathIn(const std::string& directory) { return directory + "/owner"; }
  // Returns nothing if the file is of another version. Throws Error(kDenied) if others could have
  // written it.
  static std::optional<MemoryOwner> Read(const std::string& directory);
  // Returns the same of a file of any version.
  static std::optional<MemoryOwner> ReadAnyVersion(const std::string& directory);
  void Write(const std::string& directory) const;
};

// Returns a path of a directory that has none of its own. It has the number of the process and not
// "self", so that an administrator who reads it finds the directory, too.
std::string PathOfDescriptor(int fd);

// Returns the number of new memory, 32 hexadecimal digits.
std::string MemoryNonce();
// Reads a file that only this user could have written. Throws Error(kDenied).
std::string ReadOwnText(const std::string& path);

}  // namespace graphd::store
