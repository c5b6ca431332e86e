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

// A disk as a loss of power leaves it. It is fed with what a process did to a directory; what was
// synced is there afterwards, and of the rest as much as chance will have: writes page by page and
// in any order, changes of names either up to some moment or none at all.

namespace graphd::store {

struct PowerRecord {
  PowerOp op;
  std::string a, b;
  std::span<const std::byte> data;
};

// The journal's records; views of its bytes. A record cut off by the end of the process is left
// out.
std::vector<PowerRecord> ReadJournal(std::span<const std::byte> journal);

class PowerDisk {
 public:
  // With what lies below `root`, all of it safe.
  explicit PowerDisk(std::string root);

  void Do(const PowerRecord& record);
  // Makes `directory`, with what is left. `keeps_writes`: the part of pages not synced that is
  // there.
  void Cut(CounterRng& rng, const std::string& directory) const;

 private:
  struct File {
    std::vector<std::byte> safe;
    std::vector<const PowerRecord*> unsafe;  // writes and truncations
  };
  struct Node {  // a file or a directory, whatever it is called
    bool is_directory = false;
    File file;
  };
  using NodeRef = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodeRef>;
  // A change of names, and which directories tell of it.
  struct Change {
    std::string from, to;  // `from` empty: made; `to` empty: removed
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
  Names names_;       // as the process sees them, by path below root; "" is root
  Names safe_names_;  // before changes_
  std::vector<Change> changes_;
  std::map<uint64_t, NodeRef> open_;
};

}  // namespace graphd::store
