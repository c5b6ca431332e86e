// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/unit/store/power/power_journal.h"

// A simulation of a disk that loses power. It is given a process's operations on a directory. Data
// that was synced survives; of the rest, a random part does: writes page by page and in any order,
// changes of names up to a random moment or only if they were synced.

namespace graphd::store {

struct PowerRecord {
  PowerOp op;
  std::string a, b;
  std::span<const std::byte> data;
};

// Returns the records of the journal as views of its bytes. A record that the end of the process
// cut off is left out.
std::vector<PowerRecord> ReadJournal(std::span<const std::byte> journal);

class PowerDisk {
 public:
  // Begins with the contents of `root`, as if all were synced.
  explicit PowerDisk(std::string root);

  void Do(const PowerRecord& record);
  // Writes what survives to a new `directory`. `keeps_writes` is the part of pages not synced that
  // survives.
  void Cut(CounterRng& rng, const std::string& directory) const;

 private:
  struct File {
    std::vector<std::byte> safe;
    std::vector<const PowerRecord*> unsafe;  // writes and truncations
  };
  struct Node {  // a file or a directory, without its names
    bool is_directory = false;
    File file;
  };
  using NodeRef = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodeRef>;
  // A change of names, and the directories that contain them.
  struct Change {
    std::string from, to;  // `from` is empty for a new name, `to` for a removed one
    NodeRef node;
    bool keeps_from = false;  // a link
    NodeRef first, second;    // directories
    bool first_safe = false, second_safe = false;
  };

  std::string Relative(const std::string& path) const;
  static NodeRef Find(const Names& names, const std::string& path);
  static void Apply(Names& names, const Change& change);
  void DoChange(Change change);
  void Sync(const NodeRef& node);
  static std::vector<std::byte> Left(const File& file, CounterRng& rng, uint64_t percent);

  const std::string root_;
  Names names_;       // current names by path below root; "" is root
  Names safe_names_;  // names before changes_
  std::vector<Change> changes_;
  std::map<uint64_t, NodeRef> open_;
};

}  // namespace graphd::store
