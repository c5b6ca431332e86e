// SPDX-License-Identifier: Apache-2.0
#include "daemon/checkpoints/checkpoint_page.h"

#include <optional>

#include "store/share_record.h"

namespace graphd {
namespace {

constexpr size_t kBytesPerPart = 48;  // in a set

}  // namespace

void CheckpointPage::Fill(store::CheckpointCatalog& catalog, const std::string& after) {
  const auto sets = catalog.All();
  std::set<std::string> names;
  for (const auto& set : sets) {
    for (std::string& name : set->Names()) {
      if (name > after) names.insert(std::move(name));
    }
  }
  size_t bytes = 0;
  for (const std::string& name : names) {
    more_ = bytes >= kBytes;
    if (more_) return;
    // All checkpoints of one name are in one answer, because the next answer begins after that
    // name.
    for (const auto& set : sets) bytes += Add(*set, name);
  }
}

size_t CheckpointPage::Add(const store::CheckpointSet& set, const std::string& name) {
  if (!set.Has(name)) return 0;
  std::optional<store::CheckpointSet::Entry> entry = set.Describe(name);
  if (!entry) return 0;
  Checkpoint added{std::move(*entry), {}};
  for (const store::TableSpec& table : added.entry.tables) {
    added.parts.insert(store::DecodeRecord(table, table.attributes).part);
  }
  added.entry.tables = {};
  const size_t bytes = sizeof added + name.size() + added.entry.id.size() +
                       added.entry.manifest.size() + added.entry.trouble.size() +
                       added.parts.size() * kBytesPerPart;
  charge_.Add(bytes);
  checkpoints_.push_back(std::move(added));
  return bytes;
}

void CheckpointPage::Write(wire::Checkpoints::ListResults::Builder results) const {
  results.setMore(more_);
  auto out = results.initCheckpoints(static_cast<kj::uint>(checkpoints_.size()));
  for (kj::uint i = 0; i < out.size(); i++) {
    const auto& [entry, parts] = checkpoints_[i];
    out[i].setName(entry.name);
    out[i].setId(entry.id);
    out[i].setManifest(entry.manifest);
    out[i].setBytes(entry.bytes);
    out[i].setTrouble(entry.trouble);
    auto list = out[i].initParts(static_cast<kj::uint>(parts.size()));
    kj::uint at = 0;
    for (const PartId part : parts) list.set(at++, part);
  }
}

}  // namespace graphd
