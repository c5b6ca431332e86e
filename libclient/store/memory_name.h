// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "store/log/store_state.h"

// The two files that connect a store with the memory of its tables (PersistentArena): a file in the
// store's directory names the memory, and a file in the memory names the store. Both contain the
// same random number, which no other memory has.

namespace graphd::store {

// The prefix of the names of directories of memory.
inline constexpr const char* kMemoryPrefix = "graphd-";

// The contents of the file `memory` in the store's directory, or of `memory-saved`.
struct MemoryName {
  std::string directory;  // the path of the memory's directory
  std::string nonce;
  std::string tmpfs;  // identifies the tmpfs and the boot; the memory is gone if it has changed
  // The numbers of the StoreState that RocksDB had when a process left the memory to the next one.
  // RocksDB had all rows, too, at that time. Only `memory-saved` contains these numbers.
  uint64_t lsn = 0;
  uint64_t next_id = 0;

  bool operator==(const MemoryName&) const = default;

  static std::string PathIn(const std::string& store_directory);
  static std::string SavedPathIn(const std::string& store_directory);

  // Makes the name of new memory.
  static MemoryName Make(const std::string& directory, const std::string& nonce);
  // Reads `memory`, which must exist. Returns nothing if the file is damaged or of another version.
  static std::optional<MemoryName> Read(const std::string& path);
  // Reads `memory-saved`. Returns nothing if the file is missing, damaged or of another version.
  static std::optional<MemoryName> ReadSaved(const std::string& store_directory);
  // Writes `memory`. The file is on the disk on return.
  void Write(const std::string& store_directory) const;
  // Writes `memory-saved`, with the state of RocksDB. The file is on the disk on return.
  void WriteSaved(const std::string& store_directory, const StoreState& stored) const;

  // Returns whether, since the name was made, the machine has not been restarted and the tmpfs has
  // not been mounted again. If this is true and the memory is gone, somebody has removed the
  // memory.
  bool IsOfThisTime() const;
};

// The contents of the file `owner` in the memory.
struct MemoryOwner {
  std::string nonce, store_directory;

  static std::string PathIn(const std::string& directory) { return directory + "/owner"; }
  // Reads `owner`. Returns nothing if the file is of another version. Throws Error(kDenied) if
  // another user could have written it.
  static std::optional<MemoryOwner> Read(const std::string& directory);
  void Write(const std::string& directory) const;
};

// Returns a random number for new memory, as 32 hexadecimal digits.
std::string MemoryNonce();
// Reads a file. Throws Error(kDenied) if another user could have written it, and Error(kInvalid) if
// it is larger than `max_bytes`.
std::string ReadOwnText(const std::string& path, size_t max_bytes = size_t{64} << 10);

}  // namespace graphd::store
