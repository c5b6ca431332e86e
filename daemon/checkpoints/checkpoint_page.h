// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graphd/ids.h"
#include "store/checkpoint/catalog.h"
#include "wire/graphd.capnp.h"
#include "wire/memory/memory_account.h"

namespace graphd {

// A part of the list of all checkpoints of a machine. The list is sent in several answers, because
// all manifests may not fit into one message, and because the data thread has to copy each answer.
// Used by one thread at a time.
class CheckpointPage {
 public:
  explicit CheckpointPage(MemoryCharge charge) : charge_(std::move(charge)) {}

  // Adds the checkpoints whose names come after `after`, in the order of their names, until kBytes
  // are reached. Throws Error(kOverloaded) if the account has no room for them, and Error(kIo).
  void Fill(store::CheckpointCatalog& catalog, const std::string& after);
  void Write(wire::Checkpoints::ListResults::Builder results) const;

  static constexpr size_t kBytes = size_t{1} << 20;

 private:
  struct Checkpoint {
    store::CheckpointSet::Entry entry;  // without its tables
    std::set<PartId> parts;
  };
  // Adds the checkpoint of this name if the set has one. Returns the bytes that were added.
  size_t Add(const store::CheckpointSet& set, const std::string& name);

  std::vector<Checkpoint> checkpoints_;
  bool more_ = false;  // there are further checkpoints after these
  MemoryCharge charge_;
};

}  // namespace graphd
