// SPDX-License-Identifier: Apache-2.0
#include "client/routing/cached_rows.h"

#include <algorithm>
#include <cstring>

#include "base/fork.h"
#include "base/index.h"
#include "base/rng.h"

namespace graphd {
namespace {

uint64_t KeyOf(uint64_t key, const FeatureInfo& info) {
  for (const char c : info.name) key = CombineKeys(key, static_cast<unsigned char>(c));
  key = CombineKeys(key, static_cast<uint64_t>(info.dtype));
  for (const int64_t extent : info.row_shape) key = CombineKeys(key, static_cast<uint64_t>(extent));
  return CombineKeys(key, info.row_shape.size());
}

}  // namespace

void MissingRows::Clear() {
  request.End();
  ids.clear();
  positions.clear();
  awaited_ids.clear();
  awaited_positions.clear();
  awaited.clear();
  copies.clear();
}

void MissingRows::CopyAgain(size_t row_bytes, std::byte* out) const noexcept {
  for (const auto& [to, from] : copies) {
    std::memcpy(out + Index(to) * row_bytes, out + Index(from) * row_bytes, row_bytes);
  }
}

CachedRows::CachedRows(uint64_t bytes, uint64_t data, const PartitionBook& book,
                       const std::vector<bool>& is_remote,
                       const std::vector<std::vector<FeatureInfo>>& nodes,
                       const std::vector<std::vector<FeatureInfo>>& edges) {
  CacheShape shape{bytes, CombineKeys(data, kCacheFormat), {}};
  const auto add = [&](const IdMap& map, const std::vector<std::vector<FeatureInfo>>& types,
                       std::vector<size_t>& first) {
    for (const std::vector<FeatureInfo>& features : types) {
      uint64_t rows = 0;
      for (size_t p = 0; p < is_remote.size(); p++) {
        const auto type = static_cast<int32_t>(first.size());
        if (is_remote[p]) rows += static_cast<uint64_t>(map.count_in(static_cast<PartId>(p), type));
      }
      first.push_back(names_.size());
      shape.key = CombineKeys(shape.key, features.size());
      for (const FeatureInfo& info : features) {
        names_.push_back(info.name);
        shape.row_bytes.push_back(RowBytesOf(info));
        shape.rows.push_back(rows);
        shape.key = KeyOf(shape.key, info);
      }
    }
    first.push_back(names_.size());
  };
  add(book.nodes(), nodes, first_node_);
  add(book.edges(), edges, first_edge_);
  members_ = MakeAbandonedInChildren<CacheMembers>(CacheMembers::kDirectory, shape);
  cache_ = std::make_unique<RowCache>(members_->memory(), shape.rows);
}

CachedRows::~CachedRows() = default;

std::optional<size_t> CachedRows::Find(const FeatureRef& feature) const {
  if (!process_.is_this()) return std::nullopt;
  const std::vector<size_t>& first = feature.is_edge ? first_edge_ : first_node_;
  for (size_t i = first[Index(feature.type)]; i < first[Index(feature.type) + 1]; i++) {
    if (names_[i] == feature.name) return cache_->CanHold(i) ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

DaemonLink::Cached CachedRows::Read(PartId part, size_t feature, std::span<const int64_t> ids,
                                    std::span<const int64_t> positions, std::byte* out,
                                    MissingRows& missing) {
  missing.Clear();
  cache_->Read(feature, ids, positions, out, missing.indices);
  const size_t found = ids.size() - missing.indices.size();
  if (missing.indices.empty()) return {found, 0};
  auto request = std::make_shared<RowRequest>(part, feature);
  request->Assign(ids, missing.indices, [&](uint32_t again, uint32_t first) {
    missing.copies.emplace_back(positions[again], positions[first]);
  });
  auto [begun, earlier] = requests_.Begin(request);
  missing.request = std::move(begun);
  if (!cache_->HasRoom(feature)) earlier.clear();
  std::vector<bool> is_awaited(earlier.size());
  for (const uint32_t i : request->indices()) {
    const auto other = std::find_if(earlier.begin(), earlier.end(),
                                    [&](const auto& each) { return each->Has(ids[i]); });
    if (other == earlier.end()) {
      missing.ids.push_back(ids[i]);
      missing.positions.push_back(positions[i]);
      continue;
    }
    is_awaited[Index(other - earlier.begin())] = true;
    missing.awaited_ids.push_back(ids[i]);
    missing.awaited_positions.push_back(positions[i]);
  }
  for (size_t k = 0; k < earlier.size(); k++) {
    if (is_awaited[k]) missing.awaited.push_back(std::move(earlier[k]));
  }
  // ReadAwaited looks for these.
  cache_->TakeBackMisses(missing.awaited_ids.size());
  return {found, missing.indices.size() - missing.awaited_ids.size()};
}

void CachedRows::Store(size_t feature, MissingRows& missing, const std::byte* out) {
  cache_->Insert(feature, missing.ids, missing.positions, out);
  missing.request.End();
}

DaemonLink::Cached CachedRows::ReadAwaited(size_t feature, MissingRows& missing, std::byte* out,
                                           std::chrono::steady_clock::time_point deadline) {
  missing.ids.clear();
  missing.positions.clear();
  if (missing.awaited_ids.empty()) return {0, 0};
  for (const auto& request : missing.awaited) request->WaitUntilEnded(deadline);
  cache_->Read(feature, missing.awaited_ids, missing.awaited_positions, out, missing.indices);
  for (const uint32_t i : missing.indices) {
    missing.ids.push_back(missing.awaited_ids[i]);
    missing.positions.push_back(missing.awaited_positions[i]);
  }
  return {missing.awaited_ids.size() - missing.indices.size(), missing.indices.size()};
}

}  // namespace graphd
