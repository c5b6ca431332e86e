// SPDX-License-Identifier: Apache-2.0
#include "format/io/name_table.h"

#include <xxhash.h>

#include <cstring>

#include "base/strings.h"
#include "format/io/names_file.h"

namespace graphd {
namespace {

constexpr uint64_t kIdMask = (uint64_t{1} << 40) - 1;

uint64_t Hash(std::string_view name) noexcept { return XXH3_64bits(name.data(), name.size()); }

}  // namespace

std::string_view NameTable::name(uint64_t id) const noexcept {
  const auto ends = ends_.as<uint64_t>();
  const uint64_t begin = id == 0 ? 0 : ends[id - 1];
  return {reinterpret_cast<const char*>(text_.as<uint8_t>().data()) + begin, ends[id] - begin};
}

// Returns the slot of `name`, or the free slot where it belongs.
size_t NameTable::Slot(std::string_view name, uint64_t hash) const noexcept {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const uint64_t entry = slots_[slot];
    if (entry == 0) return slot;
    if ((entry & ~kIdMask) == (hash & ~kIdMask) && this->name((entry & kIdMask) - 1) == name) {
      return slot;
    }
  }
}

std::optional<uint64_t> NameTable::Find(std::string_view name) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const uint64_t entry = slots_[Slot(name, Hash(name))];
  if (entry == 0) return std::nullopt;
  return (entry & kIdMask) - 1;
}

uint64_t NameTable::Add(std::string_view name) {
  if (size() * 3 >= slots_.size() * 2) Grow();
  const uint64_t hash = Hash(name);
  uint64_t& entry = slots_[Slot(name, hash)];
  if (entry != 0) return (entry & kIdMask) - 1;
  text_.Append(std::as_bytes(std::span(name)));
  ends_.Append(uint64_t{text_.num_elements()});
  entry = (hash & ~kIdMask) | size();
  return size() - 1;
}

void NameTable::Grow() {
  slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, 0);
  for (uint64_t id = 0; id < size(); id++) {
    const uint64_t hash = Hash(name(id));
    slots_[Slot(name(id), hash)] = (hash & ~kIdMask) | (id + 1);
  }
}

void WriteNames(const std::string& path, const NameTable& names) {
  NamesFile file(path);
  for (uint64_t id = 0; id < names.size(); id++) file.Add(names.name(id));
  file.Finish();
}

}  // namespace graphd
