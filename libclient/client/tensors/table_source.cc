// SPDX-License-Identifier: Apache-2.0
#include "client/tensors/table_source.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <utility>

#include "base/index.h"
#include "base/interruptions.h"
#include "base/strings.h"
#include "client/link/retry.h"
#include "client/routing/owner_split.h"

namespace graphd {
namespace {

// The number of ids of a slice that are made at a time.
constexpr int64_t kSliceIds = int64_t{1} << 20;
// The time for which a dropped tensor may be read from memory that was mapped before.
constexpr auto kAskAgain = std::chrono::seconds(1);

}  // namespace

TableSource::TableSource(std::shared_ptr<GraphAccess> access, TensorSpec spec,
                         std::vector<uint32_t> tables)
    : TensorSource(access, spec), rows_(RowsOf(access->shared_meta(), spec)) {
  for (const uint32_t table : tables) {
    shares_.push_back(std::make_unique<Share>());
    shares_.back()->table = table;
  }
}

// Returns a reader of the share's current memory; null if it cannot be mapped.
std::shared_ptr<const store::ArenaReader> TableSource::Reader(PartId part) {
  Share& share = *shares_[Index(part)];
  TensorPort& port = this->port(part);
  // If this function did not notice that the daemon has died, it would return the reader of the
  // daemon's memory, which never changes any more, forever.
  port.Reconnect();
  const InterruptibleLock lock(share.mutex);
  const uint64_t generation = port.generation();
  const auto now = Clock::now();
  if (share.generation == generation && (!share.reader || now - share.asked < kAskAgain)) {
    return share.reader;
  }
  const bool mapped = share.generation == generation;
  auto reader = std::exchange(share.reader, nullptr);
  share.generation = 0;  // in case the tensor was dropped, and the next call throws
  if (mapped) {
    port.LastStep(share.table);
  } else {
    reader = port.Map(share.table, rows_.count_in(part), spec().row_bytes());
  }
  share.reader = std::move(reader);
  share.generation = generation;
  share.asked = now;
  return share.reader;
}

void TableSource::ReadOnce(const OwnerSplit& split, std::vector<int64_t>& scratch, std::byte* out) {
  const size_t row_bytes = spec().row_bytes(), id_bytes = rows_.id_bytes();
  std::vector<std::shared_ptr<const store::ArenaReader>> readers(split.parts.size());
  std::deque<OwnerSplit::Part> not_in_memory;  // must outlive `pending`
  std::vector<RpcThread::Pending> pending;
  const auto start = [&](size_t p, const OwnerSplit::Part& some) {
    const auto part = static_cast<PartId>(p);
    pending.push_back(
        port(part).ReadRows(table(part), {some.ids, some.positions, out, row_bytes, id_bytes}));
  };
  for (size_t p = 0; p < split.parts.size(); p++) {
    if (split.parts[p].ids.empty()) continue;
    readers[p] = Reader(static_cast<PartId>(p));
    if (!readers[p]) start(p, split.parts[p]);
  }
  for (size_t p = 0; p < split.parts.size(); p++) {
    if (!readers[p]) continue;
    const OwnerSplit::Part& some = split.parts[p];
    LocalRows(rows_.ids(), static_cast<PartId>(p), some.ids, scratch);
    std::vector<uint32_t> missing;
    readers[p]->Read(scratch, some.positions, out, missing);
    const uint64_t read = some.ids.size() - missing.size();
    if (read > 0)
      access().CountMapped(static_cast<PartId>(p),
                           {.calls = 1, .rows = read, .bytes = read * row_bytes});
    if (missing.empty()) continue;
    OwnerSplit::Part& rest = not_in_memory.emplace_back();
    for (const uint32_t i : missing) {
      rest.ids.push_back(some.ids[i]);
      rest.positions.push_back(some.positions[i]);
    }
    start(p, rest);
  }
  for (RpcThread::Pending& call : pending) call.Wait();
}

void TableSource::Read(std::span<const int64_t> ids, std::span<std::byte> out) {
  GraphAccess::Loan loan(access());
  loan->splits.resize(std::max<size_t>(loan->splits.size(), 1));
  OwnerSplit& split = loan->splits[0];
  split.Assign(rows_.ids(), ids, "id");
  try {
    RetryWhileUnavailable(
        access().timeout(),
        [&] {
          for (size_t p = 0; p < split.parts.size(); p++) {
            if (!split.parts[p].ids.empty()) port(static_cast<PartId>(p)).Reconnect();
          }
        },
        [&] { ReadOnce(split, loan->rows, out.data()); });
  } catch (const Error& error) {
    throw Explain(error);
  }
}

void TableSource::Slice(int64_t begin, int64_t end, std::span<std::byte> out) {
  std::vector<int64_t> ids;
  for (int64_t from = begin; from < end; from += kSliceIds) {
    const int64_t to = std::min(from + kSliceIds, end);
    ids.resize(Index(to - from));
    std::iota(ids.begin(), ids.end(), from);
    const size_t row_bytes = spec().row_bytes();
    Read(ids, out.subspan(Index(from - begin) * row_bytes, ids.size() * row_bytes));
  }
}

std::unique_ptr<PushChannels> TableSource::TakeChannels() {
  const MutexLock lock(channels_mutex_);
  if (idle_channels_.empty()) return std::make_unique<PushChannels>(num_parts());
  // Use the channels that were used last. If their last push timed out, the next one has a higher
  // sequence number, so the earlier push cannot be applied after it.
  auto channels = std::move(idle_channels_.back());
  idle_channels_.pop_back();
  return channels;
}

int64_t TableSource::KeepCached(std::span<const int64_t>) {
  Throw(ErrorCode::kInvalid, "tensor '", spec().name,
        "' can change, and so its rows are not cached; ", "only features of the graph are");
}

void TableSource::Write(UpdateKind kind, std::span<const int64_t> ids,
                        std::span<const std::byte> rows) {
  UpdateRule rule;
  rule.kind = kind;
  store::CheckRule(rule, spec().dtype, OptimizerState::kNone);
  access().CheckProcess();
  AcquireForWriting();
  std::unique_ptr<PushChannels> channels = TakeChannels();
  const auto give_back = [&] {
    const MutexLock lock(channels_mutex_);
    idle_channels_.push_back(std::move(channels));
  };
  try {
    TableChange change = MakeChange(*this, *channels, rule, ids, rows.data());
    TableChange* const changes[] = {&change};
    SendChanges(changes, access().timeout());
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
}

void TableSource::AcquireForWriting() {
  if (needs_lease() && !has_lease_) Acquire();
}

void TableSource::Acquire() {
  access().CheckProcess();
  if (!needs_lease()) return;
  const MutexLock lock(lease_mutex_);
  // All jobs take the leases in the order of partitions, so that no two jobs can each get some of
  // the leases.
  std::vector<PartId> taken;
  try {
    for (size_t p = 0; p < num_parts(); p++) {
      const auto part = static_cast<PartId>(p);
      if (port(part).Lease(table(part), true)) taken.push_back(part);
    }
  } catch (const Error& error) {
    // Leases that another trainer of this job had taken before are kept.
    for (; !taken.empty(); taken.pop_back()) {
      try {
        port(taken.back()).Lease(table(taken.back()), false);
      } catch (const Error&) {  // the lease ends with the job
      }
    }
    throw Explain(error);
  }
  has_lease_ = true;
}

void TableSource::Release() {
  access().CheckProcess();
  if (!needs_lease()) return;
  const MutexLock lock(lease_mutex_);
  has_lease_ = false;
  // The lease of partition 0 is released last. A job that then takes this lease can therefore take
  // all others, too.
  for (size_t p = num_parts(); p-- > 0;) {
    const auto part = static_cast<PartId>(p);
    port(part).Lease(table(part), false);
  }
}

void TableSource::PrepareState(OptimizerState state) {
  AcquireForWriting();
  const auto for_each_part = [&](const std::function<void(PartId)>& f) {
    for (size_t p = 0; p < num_parts(); p++) f(static_cast<PartId>(p));
  };
  try {
    RetryWhileUnavailable(
        access().timeout(), [&] { for_each_part([&](PartId part) { port(part).Reconnect(); }); },
        [&] {
          // The memory of all shares is prepared at the same time.
          std::vector<RpcThread::Pending> calls;
          for_each_part(
              [&](PartId part) { calls.push_back(port(part).PrepareState(table(part), state)); });
          for (RpcThread::Pending& call : calls) call.Wait();
        });
  } catch (const Error& error) {
    throw Explain(error);
  }
}

Error TableSource::Explain(const Error& error) const {
  if (error.code() != ErrorCode::kNotFound) return error;
  return Error(ErrorCode::kNotFound,
               StrCat("tensor '", spec().name, "' is gone: ", error.what(),
                      spec().persistent ? ". Make it again"
                                        : "; one that is not persistent ends with its job, or is "
                                          "dropped. Make it again, or make it persistent"));
}

}  // namespace graphd
