// SPDX-License-Identifier: Apache-2.0
#include "client/cache/row_cache.h"

#include <emmintrin.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/interruptions.h"
#include "base/rng.h"
#include "base/row_access.h"
#include "client/cache/sieve_queue.h"

namespace graphd {
namespace {

constexpr size_t kBlock = 32;  // rows whose sets are prefetched together

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

uint64_t Hash(int64_t id) noexcept { return Mix64(static_cast<uint64_t>(id) + kRngStep); }

// The extent of a row (`now`), and the extent in which the row was before extent `now` was added
// (`before`). They are the same if the row was in no other extent.
struct Choice {
  uint8_t now = 0, before = 0;
};

// The consistent hash of Lamping and Veach: `now` is a number below `count`, which changes for
// 1/(count + 1) of all keys only when `count` grows by one.
Choice JumpHash(uint64_t key, uint32_t count) noexcept {
  int64_t before = 0, last = 0, next = 0;
  while (next < static_cast<int64_t>(count)) {
    before = last;
    last = next;
    key = key * 2862933555777941757ULL + 1;
    next = static_cast<int64_t>(static_cast<double>(last + 1) *
                                (2147483648.0 / static_cast<double>((key >> 33) + 1)));
  }
  return {static_cast<uint8_t>(last), static_cast<uint8_t>(before)};
}

// Returns the tag of a row. It is never 0, which stands for no row. The other bits of the hash
// choose the extent and the set.
uint16_t TagOf(uint64_t hash) noexcept { return static_cast<uint16_t>(hash >> 16) | 1; }

// Returns a bit for each of the 16 tags that equals `tag`.
uint32_t Matches(const CacheSet& set, uint16_t tag) noexcept {
  const auto two = [&](size_t i) {
    return _mm_set_epi64x(static_cast<int64_t>(set.tags[i + 1].load(std::memory_order_relaxed)),
                          static_cast<int64_t>(set.tags[i].load(std::memory_order_relaxed)));
  };
  const __m128i wanted = _mm_set1_epi16(static_cast<int16_t>(tag));
  const __m128i equal =
      _mm_packs_epi16(_mm_cmpeq_epi16(two(0), wanted), _mm_cmpeq_epi16(two(2), wanted));
  return static_cast<uint32_t>(_mm_movemask_epi8(equal));
}

void SetTag(CacheSet& set, unsigned way, uint16_t tag) noexcept {
  std::atomic<uint64_t>& word = set.tags[way / 4];
  const unsigned shift = way % 4 * 16;
  const uint64_t others = word.load(std::memory_order_relaxed) & ~(uint64_t{0xffff} << shift);
  word.store(others | uint64_t{tag} << shift, std::memory_order_relaxed);
}

bool HasEnded(pid_t pid) noexcept { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

// The choices of all hashes for a number of extents, in a table, because computing one choice takes
// longer than copying a row.
struct RowCache::Choices {
  static constexpr size_t kSize = 4096;
  explicit Choices(uint32_t count) {
    for (size_t i = 0; i < kSize; i++) {
      const Choice choice = JumpHash(Mix64(i), count);
      now[i] = choice.now;
      before[i] = choice.before;
    }
  }
  std::array<uint8_t, kSize> now, before;
};

RowCache::~RowCache() = default;

struct RowCache::Place {
  std::byte* set = nullptr;
  // Another set where the row may be. If the feature keeps rows, this set is in the row's extent
  // among the extents with kept rows; otherwise, in the extent where the row was before the extent
  // of `set` was added. It is often the same as `set`.
  std::byte* other = nullptr;
  uint64_t lock = 0;                // CacheSet::lock when the row was found
  const std::byte* slot = nullptr;  // null: the row is missing
  uint32_t bit = 0;
  uint16_t tag = 0;
};

// A snapshot of a feature's extents, with their addresses in this process. Another process may add
// an extent at any time.
struct RowCache::Extents {
  uint32_t count = 0;
  bool have_kept = false;  // whether some of them are chosen for kept rows
  // [part of a hash] the extents of Place::set and Place::other
  const uint8_t* set = nullptr;
  const uint8_t* other = nullptr;
  std::array<std::byte*, kMostExtents> begin;
};

// A change of a set by this thread, which holds its lock.
class RowCache::Change {
 public:
  // Locks a set. Does not wait.
  Change(CacheSet& set, pid_t pid) noexcept : set_(set) {
    uint64_t seen = set.lock.load(std::memory_order_relaxed);
    const uint64_t mine = (seen & kVersionMask) | 1 | static_cast<uint64_t>(pid) << kOwnerShift;
    if (seen % 2 != 0) {
      // A change takes less than a microsecond, so a set is seldom found locked unless the owner of
      // its lock was killed.
      const auto owner = static_cast<pid_t>(seen >> kOwnerShift);
      if (owner == pid || !HasEnded(owner)) return;
      // No reader trusts the set before it is unlocked.
      held_ = set.lock.compare_exchange_strong(seen, mine, std::memory_order_acquire);
      if (held_) Clear();
    } else {
      held_ = set.lock.compare_exchange_strong(seen, mine, std::memory_order_acquire);
    }
    next_ = (mine + 1) & kVersionMask;
  }
  ~Change() {
    if (held_) set_.lock.store(next_, std::memory_order_release);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  bool held() const noexcept { return held_; }

 private:
  void Clear() noexcept {
    set_.visited.store(0, std::memory_order_relaxed);
    set_.used.store(0, std::memory_order_relaxed);
    set_.order.store(0, std::memory_order_relaxed);
    set_.queue.store(0, std::memory_order_relaxed);
    set_.kept.store(0, std::memory_order_relaxed);
    for (auto& tags : set_.tags) tags.store(0, std::memory_order_relaxed);
  }
  CacheSet& set_;
  bool held_ = false;
  uint64_t next_ = 0;
};

RowCache::RowCache(CacheMemory& memory, std::vector<uint64_t> rows)
    : memory_(memory), pid_(::getpid()), rows_(std::move(rows)) {
  for (const size_t row_bytes : memory_.row_bytes()) {
    Table table;
    table.row_bytes = row_bytes;
    if (table.row_bytes > 0 && table.row_bytes <= memory_.extent_bytes()) {
      table.slot_bytes = sizeof(int64_t) + RoundUp(table.row_bytes, sizeof(int64_t));
      table.set_bytes = RoundUp(sizeof(CacheSet) + kSetRows * table.slot_bytes, alignof(CacheSet));
      // Locate multiplies this number by 32 bits of a hash, so it must be below 2^32.
      table.sets_per_extent =
          std::min<uint64_t>(memory_.extent_bytes() / table.set_bytes, UINT32_MAX);
    }
    tables_.push_back(table);
  }
}

RowCache::Extents RowCache::ExtentsOf(size_t table) {
  const CacheTable& shared = memory_.tables()[table];
  Extents extents;
  const uint32_t most = std::min(kMostExtents, memory_.num_extents());
  extents.count = std::min(shared.num_extents.load(std::memory_order_acquire), most);
  for (uint32_t i = 0; i < extents.count; i++) {
    const uint32_t extent = shared.extents[i].load(std::memory_order_relaxed);
    extents.begin[i] = memory_.extent(std::min(extent, memory_.num_extents() - 1));
  }
  const Choices& choices = ChoicesOf(extents.count);
  const uint32_t kept =
      std::min(shared.kept_extents.load(std::memory_order_acquire), extents.count);
  extents.have_kept = kept > 0;
  extents.set = choices.now.data();
  extents.other = extents.have_kept ? ChoicesOf(kept).now.data() : choices.before.data();
  return extents;
}

const RowCache::Choices& RowCache::ChoicesOf(uint32_t count) {
  std::call_once(computed_[count], [&] { choices_[count] = std::make_unique<Choices>(count); });
  return *choices_[count];
}

RowCache::Place RowCache::Locate(const Table& table, const Extents& extents,
                                 int64_t id) const noexcept {
  const uint64_t hash = Hash(id);
  const uint64_t set = (hash >> 32) * table.sets_per_extent >> 32;
  const size_t i = hash % Choices::kSize;
  Place place;
  place.set = extents.begin[extents.set[i]] + set * table.set_bytes;
  place.other = extents.begin[extents.other[i]] + set * table.set_bytes;
  place.tag = TagOf(hash);
  return place;
}

bool RowCache::FindIn(const Table& table, int64_t id, Place& place) noexcept {
  const auto& set = *reinterpret_cast<const CacheSet*>(place.set);
  place.lock = set.lock.load(std::memory_order_acquire);
  if (place.lock % 2 != 0) return false;
  for (uint32_t matches = Matches(set, place.tag); matches != 0; matches &= matches - 1) {
    const auto way = static_cast<unsigned>(std::countr_zero(matches));
    const std::byte* slot = place.set + sizeof(CacheSet) + way * table.slot_bytes;
    // Copy compares the id later, when the row has been prefetched. Reading the id here would wait
    // for memory, and is needed only if several rows have the same tag.
    const bool is_last = (matches & (matches - 1)) == 0;
    if (!is_last &&
        __atomic_load_n(reinterpret_cast<const int64_t*>(slot), __ATOMIC_RELAXED) != id) {
      continue;
    }
    place.slot = slot;
    place.bit = 1U << way;
    return true;
  }
  return false;
}

void RowCache::Find(const Table& table, int64_t id, Place& place) noexcept {
  place.slot = nullptr;
  if (FindIn(table, id, place) || place.other == place.set) return;
  place.set = place.other;
  FindIn(table, id, place);
}

bool RowCache::Copy(const Table& table, int64_t id, const Place& place,
                    std::byte* out) const noexcept {
  if (place.slot == nullptr) return false;
  auto& set = *reinterpret_cast<CacheSet*>(place.set);
  if (set.lock.load(std::memory_order_acquire) != place.lock) return false;
  if (__atomic_load_n(reinterpret_cast<const int64_t*>(place.slot), __ATOMIC_ACQUIRE) != id) {
    return false;
  }
  LoadRow(place.slot + sizeof(int64_t), out, table.row_bytes);
  if (set.lock.load(std::memory_order_relaxed) != place.lock) return false;
  if ((set.visited.load(std::memory_order_relaxed) & place.bit) == 0) {
    set.visited.fetch_or(place.bit, std::memory_order_relaxed);
  }
  return true;
}

void RowCache::Read(size_t index, std::span<const int64_t> ids, std::span<const int64_t> positions,
                    std::byte* out, std::vector<uint32_t>& missing) {
  missing.clear();
  const Table& table = tables_[index];
  const Extents extents = ExtentsOf(index);
  if (extents.count == 0 || table.sets_per_extent == 0) {
    for (size_t i = 0; i < ids.size(); i++) missing.push_back(static_cast<uint32_t>(i));
    misses_.fetch_add(ids.size(), std::memory_order_relaxed);
    return;
  }
  const size_t ahead = RowsAhead(table.slot_bytes);
  std::array<std::array<Place, kBlock>, 2> blocks;
  const auto locate = [&](size_t begin) {
    auto& places = blocks[begin / kBlock % 2];
    for (size_t i = begin; i < std::min(begin + kBlock, ids.size()); i++) {
      places[i - begin] = Locate(table, extents, ids[i]);
      __builtin_prefetch(places[i - begin].set);
    }
  };
  const auto find = [&](size_t i) {
    Place& place = blocks[i / kBlock % 2][i % kBlock];
    Find(table, ids[i], place);
    if (place.slot != nullptr) PrefetchBytes(place.slot, table.slot_bytes);
  };
  locate(0);
  for (size_t begin = 0; begin < ids.size(); begin += kBlock) {
    locate(begin + kBlock);
    const size_t end = std::min(begin + kBlock, ids.size());
    for (size_t i = begin; i < end + ahead; i++) {
      if (i < end) find(i);
      if (i < begin + ahead) continue;
      const size_t at = i - ahead;
      std::byte* to = out + static_cast<size_t>(positions[at]) * table.row_bytes;
      if (!Copy(table, ids[at], blocks[at / kBlock % 2][at % kBlock], to)) {
        missing.push_back(static_cast<uint32_t>(at));
      }
    }
  }
  const uint64_t found = ids.size() - missing.size();
  hits_.fetch_add(found, std::memory_order_relaxed);
  hit_bytes_.fetch_add(found * table.row_bytes, std::memory_order_relaxed);
  misses_.fetch_add(missing.size(), std::memory_order_relaxed);
}

bool RowCache::Store(const Table& table, const Extents& extents, int64_t id, const std::byte* row,
                     bool keep, Stored& stored) const noexcept {
  Place place = Locate(table, extents, id);
  keep = keep && extents.have_kept;
  if (keep) place.set = place.other;
  auto& set = *reinterpret_cast<CacheSet*>(place.set);
  const Change change(set, pid_);
  if (!change.held()) return false;
  const auto slot_of = [&](unsigned way) {
    return place.set + sizeof(CacheSet) + way * table.slot_bytes;
  };
  const uint32_t used = set.used.load(std::memory_order_relaxed);
  const uint32_t kept = set.kept.load(std::memory_order_relaxed);
  SieveQueue queue{set.order.load(std::memory_order_relaxed), 0, 0};
  const uint32_t numbers = set.queue.load(std::memory_order_relaxed);
  queue.size = static_cast<uint8_t>(std::min(numbers & 0xff, uint32_t{kSetRows}));
  queue.hand = static_cast<uint8_t>(numbers >> 8);
  const auto save_queue = [&] {
    set.order.store(queue.order, std::memory_order_relaxed);
    set.queue.store(queue.size | uint32_t{queue.hand} << 8, std::memory_order_relaxed);
  };
  const auto keep_way = [&](unsigned way) {
    set.kept.store(kept | 1U << way, std::memory_order_relaxed);
    stored.kept++;
    stored.staying++;
  };
  keep = keep && static_cast<unsigned>(std::popcount(kept)) < kMostKept;
  for (uint32_t matches = Matches(set, place.tag) & used; matches != 0; matches &= matches - 1) {
    const auto way = static_cast<unsigned>(std::countr_zero(matches));
    if (__atomic_load_n(reinterpret_cast<int64_t*>(slot_of(way)), __ATOMIC_RELAXED) != id) continue;
    if ((kept >> way & 1) != 0) {
      stored.staying++;
    } else if (keep) {
      queue.Erase(way);
      save_queue();
      keep_way(way);
    }
    return true;
  }
  unsigned way = static_cast<unsigned>(std::countr_one(used));
  if (queue.size == kSetRows || way >= kSetRows) {
    if (queue.size == 0) return true;  // damaged
    const uint32_t before = set.visited.load(std::memory_order_relaxed);
    uint32_t visited = before;
    way = queue.Evict(visited);
    set.visited.fetch_and(~(before & ~visited), std::memory_order_relaxed);
    stored.evicted++;
  }
  std::byte* slot = slot_of(way);
  __atomic_store_n(reinterpret_cast<int64_t*>(slot), id, __ATOMIC_RELEASE);
  StoreRow(row, slot + sizeof(int64_t), table.row_bytes);
  SetTag(set, way, place.tag);
  set.visited.fetch_and(~(1U << way), std::memory_order_relaxed);
  set.used.store(used | 1U << way, std::memory_order_relaxed);
  if (keep) {
    keep_way(way);
  } else {
    queue.Insert(way);
  }
  save_queue();
  stored.inserted++;
  return true;
}

void RowCache::Insert(size_t index, std::span<const int64_t> ids,
                      std::span<const int64_t> positions, const std::byte* rows) {
  StoreRows(index, ids, positions, rows, false);
}

int64_t RowCache::Keep(size_t index, std::span<const int64_t> ids,
                       std::span<const int64_t> positions, const std::byte* rows) {
  return StoreRows(index, ids, positions, rows, true);
}

int64_t RowCache::StoreRows(size_t index, std::span<const int64_t> ids,
                            std::span<const int64_t> positions, const std::byte* rows, bool keep) {
  constexpr size_t kRowsAtOnce = 1024;  // stored between two checks for a needed extent
  constexpr size_t kAhead = 8;
  if (!CanHold(index)) return 0;
  int64_t staying = 0;
  const Table& table = tables_[index];
  for (size_t begin = 0; begin < ids.size(); begin += kRowsAtOnce) {
    GrowIfNeeded(index);
    const Extents extents = ExtentsOf(index);
    if (extents.count == 0) break;
    Stored stored;
    const size_t end = std::min(begin + kRowsAtOnce, ids.size());
    for (size_t i = begin; i < end; i++) {
      if (i + kAhead < end) {
        const Place ahead = Locate(table, extents, ids[i + kAhead]);
        __builtin_prefetch(keep ? ahead.other : ahead.set, 1);
      }
      const std::byte* row = rows + static_cast<size_t>(positions[i]) * table.row_bytes;
      // Trainers that keep the same rows often change the same set at the same time.
      for (int tries = keep ? 100 : 1; tries > 0; tries--) {
        if (Store(table, extents, ids[i], row, keep, stored)) break;
        if (tries > 1) std::this_thread::yield();
      }
    }
    inserted_.fetch_add(stored.inserted, std::memory_order_relaxed);
    evicted_.fetch_add(stored.evicted, std::memory_order_relaxed);
    kept_.fetch_add(stored.kept, std::memory_order_relaxed);
    memory_.tables()[index].evicted.fetch_add(stored.evicted, std::memory_order_relaxed);
    staying += stored.staying;
  }
  return staying;
}

bool RowCache::PrepareToKeep(size_t index, uint64_t rows) {
  if (!CanHold(index)) return false;
  CacheTable& shared = memory_.tables()[index];
  // The sets of the cache fill unevenly, so only four fifths of their room are counted on.
  const uint64_t in_extent =
      std::max<uint64_t>(tables_[index].sets_per_extent * kMostKept * 4 / 5, 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool cannot_grow = false;
  while (shared.kept_extents.load(std::memory_order_acquire) == 0) {
    const auto grower = static_cast<pid_t>(shared.grower.load(std::memory_order_acquire));
    const uint32_t count = shared.num_extents.load(std::memory_order_acquire);
    if (grower != 0 && !HasEnded(grower)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      AwaitTime(std::chrono::milliseconds(1));
    } else if (grower != 0 || (!cannot_grow && count * in_extent < rows) || count == 0) {
      if (count == 0 && cannot_grow) return false;
      Grow(index);
      cannot_grow = shared.num_extents.load(std::memory_order_acquire) == count &&
                    shared.grower.load(std::memory_order_acquire) == 0;
    } else {
      uint32_t none = 0;
      shared.kept_extents.compare_exchange_strong(none, count, std::memory_order_acq_rel);
    }
  }
  return true;
}

uint32_t RowCache::Reserved() const noexcept {
  uint32_t without = 0;
  for (size_t i = 0; i < tables_.size(); i++) {
    const bool has = memory_.tables()[i].num_extents.load(std::memory_order_relaxed) != 0;
    if (CanHold(i) && !has) without++;
  }
  return std::min(without, std::max(memory_.num_extents() / 8, 1U));
}

void RowCache::GrowIfNeeded(size_t index) noexcept {
  if (is_full_.load(std::memory_order_relaxed)) return;
  const CacheTable& shared = memory_.tables()[index];
  const uint64_t rows = tables_[index].sets_per_extent * kSetRows;
  if (shared.num_extents.load(std::memory_order_relaxed) != 0 &&
      shared.evicted.load(std::memory_order_relaxed) < rows / 8) {
    return;
  }
  Grow(index);
  // Another thread may be getting the feature's first memory. If this thread did not wait for that,
  // its rows would not be stored.
  for (int i = 0; i < 200 && shared.num_extents.load(std::memory_order_acquire) == 0; i++) {
    const auto grower = static_cast<pid_t>(shared.grower.load(std::memory_order_acquire));
    if (grower == 0 || HasEnded(grower)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Returns the number of extents that all rows of a feature need, at most kMostNeeded.
uint64_t RowCache::NeededExtents(size_t index) const noexcept {
  constexpr uint64_t kMostNeeded = uint64_t{1} << 40;
  if (!CanHold(index)) return 0;
  if (index >= rows_.size()) return 1;
  // The sets of the cache fill unevenly, so half as much room again is added to what the rows need.
  const uint64_t in_extent = tables_[index].sets_per_extent * kSetRows;
  return std::min((rows_[index] + rows_[index] / 2) / in_extent + 1, kMostNeeded);
}

// Returns the number of extents with which a feature begins, if `left` extents can be taken: as
// many as its rows need or, if the rows of all features need more extents than there are, its
// share.
uint32_t RowCache::FirstExtents(size_t index, uint32_t left) const noexcept {
  uint64_t all = 0;
  for (size_t i = 0; i < tables_.size(); i++) all += NeededExtents(i);
  uint64_t share = NeededExtents(index);
  if (all > memory_.num_extents()) share = share * memory_.num_extents() / all;
  // Reserved() counts this feature too, which has none yet.
  const uint32_t for_others = std::min(left, std::max(Reserved(), 1U) - 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(share, 1, std::max(left - for_others, 1U)));
}

void RowCache::Grow(size_t index) noexcept {
  CacheTable& shared = memory_.tables()[index];
  uint32_t owner = 0;
  const auto mine = static_cast<uint32_t>(pid_);
  while (!shared.grower.compare_exchange_strong(owner, mine, std::memory_order_acquire)) {
    // Another thread is adding an extent, unless its process was killed.
    if (owner == mine || !HasEnded(static_cast<pid_t>(owner))) return;
  }
  std::atomic<uint32_t>& taken = memory_.header().extents_taken;
  const uint32_t first = shared.num_extents.load(std::memory_order_relaxed);
  const uint32_t most = memory_.num_extents() - (first == 0 ? 0 : Reserved());
  uint32_t count = first;
  uint32_t wanted = first + 1;
  do {
    uint32_t extent = taken.load(std::memory_order_relaxed);
    if (count == 0) wanted = FirstExtents(index, most - std::min(extent, most));
    while (extent < most && !taken.compare_exchange_weak(extent, extent + 1)) {
    }
    if (extent >= most || count >= kMostExtents) {
      // A feature that already has an extent does not take the extents that are reserved for
      // others.
      if (extent >= memory_.num_extents()) is_full_.store(true, std::memory_order_relaxed);
      break;
    }
    if (!memory_.Populate(extent)) {
      is_full_.store(true, std::memory_order_relaxed);
      break;
    }
    // The pages are zero, which is an unlocked set without rows.
    shared.extents[count++].store(static_cast<uint16_t>(extent), std::memory_order_relaxed);
    // The first extents are published together: a row that was stored when only some of them were
    // published would not be found later.
    if (first != 0) shared.num_extents.store(count, std::memory_order_release);
  } while (count < wanted);
  if (first == 0) shared.num_extents.store(count, std::memory_order_release);
  shared.evicted.store(0, std::memory_order_relaxed);
  shared.grower.store(0, std::memory_order_release);
}

RowCacheCounts RowCache::counts() const noexcept {
  return {hits_.load(std::memory_order_relaxed),      misses_.load(std::memory_order_relaxed),
          hit_bytes_.load(std::memory_order_relaxed), inserted_.load(std::memory_order_relaxed),
          evicted_.load(std::memory_order_relaxed),   kept_.load(std::memory_order_relaxed)};
}

uint64_t RowCache::used_bytes() const noexcept {
  if (!process_.is_this()) return 0;
  const uint32_t taken = memory_.header().extents_taken.load(std::memory_order_relaxed);
  return uint64_t{std::min(taken, memory_.num_extents())} * memory_.extent_bytes();
}

}  // namespace graphd
