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

// The names of directories of memory begin so.
inline constexpr const char* kMemoryPrefix = "graphd-";

// The contents of the file `memory` in the store's directory, or of `memory-saved`.
struct MemoryName {
  std::string directory;  // its path
  std::string nonce;
  std::string tmpfs;  // text that differs when the memory can't exist any more
  // RocksDB's numbers when all rows were in it as well; only `memory-saved` has them.
  uint64_t lsn = 0;
  uint64_t next_id = 0;

  bool operator==(const MemoryName&) const = default;

  static std::string PathIn(const std::string& store_directory);
  static std::string SavedPathIn(const std::string& store_directory);

  // Makes the name of new memory.
  static MemoryName Make(const std::string& directory, const std::string& nonce);
  // Returns nothing if the file is damaged or of another version. The file exists.
  static std::optional<MemoryName> Read(const std::string& path);
  // Does the same for `memory-saved`, which need not exist: returns nothing if there is no file,
  // too.
  static std::optional<MemoryName> ReadSaved(const std::string& store_directory);
  // Writes `memory`, on the disk.
  void Write(const std::string& store_directory) const;
  // Writes `memory-saved`, on the disk, with what RocksDB has.
  void WriteSaved(const std::string& store_directory, const StoreState& stored) const;

  // Returns whether the machine and its tmpfs are those of then, so that memory which is gone was
  // removed by somebody.
  bool IsOfThisTime() const;
};

// The contents of the file `owner` in the memory.
struct MemoryOwner {
  std::string nonce, store_directory;

  static std::string PathIn(const std::string& directory) { return directory + "/owner"; }
  // Returns nothing if the file is of another version. Throws Error(kDenied) if others could have
  // written it.
  static std::optional<MemoryOwner> Read(const std::string& directory);
  void Write(const std::string& directory) const;
};

// Returns the number of new memory, 32 hexadecimal digits.
std::string MemoryNonce();
// Reads a file that only this user could have written. Throws Error(kDenied).
std::string ReadOwnText(const std::string& path);

}  // namespace graphd::store
