// SPDX-License-Identifier: Apache-2.0
#include "client/routing/shared_rows.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

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
  request.End(nullptr);
  are_all = false;
  ids.clear();
  positions.clear();
  awaited.clear();
  copies.clear();
}

void MissingRows::CopyAgain(size_t row_bytes, std::byte* out) const noexcept {
  for (const auto& [to, from] : copies) {
    std::memcpy(out + Index(to) * row_bytes, out + Index(from) * row_bytes, row_bytes);
  }
}

SharedRows::SharedRows(uint64_t cache_bytes, uint64_t data, const PartitionBook& book,
                       const std::vector<bool>& is_remote,
                       const std::vector<std::vector<FeatureInfo>>& nodes,
                       const std::vector<std::vector<FeatureInfo>>& edges) {
  CacheShape shape{cache_bytes, CombineKeys(data, kCacheFormat), {}};
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
  row_bytes_ = shape.row_bytes;
  if (cache_bytes == 0) return;
  members_ = MakeAbandonedInChildren<CacheMembers>(CacheMembers::kDirectory, shape);
  cache_ = std::make_unique<RowCache>(members_->memory(), shape.rows);
}

SharedRows::~SharedRows() = default;

std::optional<size_t> SharedRows::Find(const FeatureRef& feature) const {
  if (!process_.is_this()) return std::nullopt;
  const std::vector<size_t>& first = feature.is_edge ? first_edge_ : first_node_;
  for (size_t i = first[Index(feature.type)]; i < first[Index(feature.type) + 1]; i++) {
    if (names_[i] != feature.name) continue;
    if (row_bytes_[i] == 0) return std::nullopt;
    return cache_ == nullptr || cache_->CanHold(i) ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

DaemonLink::Cached SharedRows::Read(PartId part, size_t feature, std::span<const int64_t> ids,
                                    std::span<const int64_t> positions, std::byte* out,
                                    MissingRows& missing) {
  missing.Clear();
  missing.feature = feature;
  // Sets the missing rows to the rows at missing.indices, without duplicates.
  const auto set_missing = [&] {
    missing.distinct.Assign(ids, missing.indices, [&](uint32_t again, uint32_t first) {
      missing.copies.emplace_back(positions[again], positions[first]);
    });
    for (const uint32_t i : missing.distinct.indices()) {
      missing.ids.push_back(ids[i]);
      missing.positions.push_back(positions[i]);
    }
  };
  if (cache_ == nullptr) {
    // Other calls seldom need the same rows at this time. Therefore the call's ids are only put
    // into the hash table if there are such calls.
    auto request = std::make_shared<RowRequest>(part, feature, row_bytes_[feature], ids, positions);
    auto [begun, earlier] = requests_.Begin(request);
    missing.request = std::move(begun);
    missing.are_all = earlier.empty();
    if (missing.are_all) return {0, 0};
    missing.indices.resize(ids.size());
    std::iota(missing.indices.begin(), missing.indices.end(), 0);
    set_missing();
    const std::span<const uint32_t> indices = missing.distinct.indices();
    LeaveToOthers(
        earlier, *request, [&](size_t i) { return indices[i]; }, out, missing);
    return {0, 0};
  }
  const uint64_t num_ended = requests_.num_ended();
  cache_->Read(feature, ids, positions, out, missing.indices);
  const size_t num_missing = missing.indices.size();
  if (num_missing == 0) return {ids.size(), 0};
  set_missing();
  auto request = std::make_shared<RowRequest>(part, feature, row_bytes_[feature], missing.ids,
                                              missing.positions);
  auto [begun, earlier] = requests_.Begin(request);
  missing.request = std::move(begun);
  const size_t num_awaited = LeaveToOthers(earlier, *request, std::identity(), out, missing);
  cache_->TakeBackMisses(num_awaited);  // ReadAwaited counts them
  const size_t found_later = requests_.num_ended() == num_ended ? 0 : ReadAgain(missing, out);
  const size_t num_requested = num_missing - num_awaited - found_later;
  return {ids.size() - num_missing + found_later, num_requested};
}

template <class NumberOf>
size_t SharedRows::LeaveToOthers(const RowRequests::Earlier& earlier, RowRequest& request,
                                 NumberOf number_of, std::byte* out, MissingRows& missing) {
  // A call does not search an earlier request that is far larger than its own, nor wait for it.
  const size_t most_ids = std::max<size_t>(1000, 8 * missing.ids.size());
  missing.is_awaited.assign(missing.ids.size(), false);
  std::vector<uint32_t> of_one;
  size_t num_awaited = 0;
  for (const auto& other : earlier) {
    if (num_awaited == missing.ids.size()) break;
    if (other->ids().size() > most_ids) continue;
    auto awaited = std::make_unique<RowRequest::Awaited>(other, out);
    of_one.clear();
    const std::span<const int64_t> others = other->ids();
    for (uint32_t k = 0; k < others.size(); k++) {
      const uint32_t i = missing.distinct.Find(others[k]);
      if (i == DistinctIds::kNone || missing.is_awaited[i]) continue;
      missing.is_awaited[i] = true;
      of_one.push_back(i);
      awaited->Add(k, missing.positions[i], static_cast<uint32_t>(number_of(i)));
    }
    if (of_one.empty()) continue;
    if (awaited->Begin()) {
      num_awaited += of_one.size();
      missing.awaited.push_back(std::move(awaited));
    } else {
      for (const uint32_t i : of_one) missing.is_awaited[i] = false;
    }
  }
  size_t left = 0;
  for (size_t i = 0; i < missing.ids.size(); i++) {
    if (missing.is_awaited[i]) {
      request.LeaveOut(number_of(i));
      continue;
    }
    missing.ids[left] = missing.ids[i];
    missing.positions[left++] = missing.positions[i];
  }
  missing.ids.resize(left);
  missing.positions.resize(left);
  return num_awaited;
}

size_t SharedRows::ReadAgain(MissingRows& missing, std::byte* out) {
  const size_t before = missing.ids.size();
  cache_->TakeBackMisses(before);
  cache_->Read(missing.feature, missing.ids, missing.positions, out, missing.indices);
  for (size_t i = 0; i < missing.indices.size(); i++) {
    missing.ids[i] = missing.ids[missing.indices[i]];
    missing.positions[i] = missing.positions[missing.indices[i]];
  }
  missing.ids.resize(missing.indices.size());
  missing.positions.resize(missing.indices.size());
  return before - missing.indices.size();
}

void SharedRows::Store(MissingRows& missing, const std::byte* out) {
  if (cache_ != nullptr && !missing.ids.empty()) {
    cache_->Insert(missing.feature, missing.ids, missing.positions, out);
  }
  if (RowRequest* const request = missing.request.get()) {
    for (const auto& awaited : missing.awaited) awaited->TakeWrittenInto(*request);
  }
  missing.request.End(out);
  missing.ids.clear();
  missing.positions.clear();
}

DaemonLink::Cached SharedRows::ReadAwaited(MissingRows& missing,
                                           std::chrono::steady_clock::time_point deadline) {
  size_t found = 0;
  for (const auto& awaited : missing.awaited) {
    found += awaited->Wait(deadline, [&](int64_t id, int64_t position) {
      missing.ids.push_back(id);
      missing.positions.push_back(position);
    });
  }
  if (cache_ == nullptr) return {0, 0};
  cache_->CountShared(missing.feature, found, missing.ids.size());
  return {found, missing.ids.size()};
}

}  // namespace graphd
