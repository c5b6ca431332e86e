// SPDX-License-Identifier: Apache-2.0
#include "client/tensors/table_change.h"

#include <algorithm>
#include <optional>
#include <random>
#include <thread>

#include "base/index.h"
#include "base/interruptions.h"
#include "base/strings.h"
#include "client/tensors/table_source.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr size_t kMaxPieceBytes = size_t{32} << 20;
// The maximum size of a piece that cannot be divided.
constexpr size_t kMaxMessagePayload = kMaxResponseBytes;
constexpr auto kFirstPause = std::chrono::milliseconds(2), kLongestPause = kFirstPause * 100;

// Returns the positions in `ids`, ordered so that all occurrences of an id are adjacent.
std::vector<uint32_t> ById(const std::vector<int64_t>& ids) {
  std::vector<uint32_t> order(ids.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<uint32_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
  return order;
}

// Divides at any position, even between two occurrences of an id. Pieces are applied one after
// another, so a write still ends with the last occurrence, and an addition still adds every
// occurrence.
void CutByPosition(PartId part, const OwnerSplit::Part& some, size_t most,
                   std::vector<TableChange::Piece>& pieces) {
  for (size_t begin = 0; begin < some.ids.size(); begin += most) {
    const auto from = static_cast<std::ptrdiff_t>(begin);
    const auto to = static_cast<std::ptrdiff_t>(std::min(begin + most, some.ids.size()));
    pieces.push_back({part,
                      {some.ids.begin() + from, some.ids.begin() + to},
                      {some.positions.begin() + from, some.positions.begin() + to}});
  }
}

// Keeps all occurrences of an id together, because an optimiser takes their mean.
void CutById(const TableSource& table, PartId part, const OwnerSplit::Part& some, size_t most,
             std::vector<TableChange::Piece>& pieces) {
  const std::vector<uint32_t> order = ById(some.ids);
  for (size_t begin = 0; begin < order.size();) {
    size_t end = std::min(begin + most, order.size());
    const auto same = [&](size_t i) { return some.ids[order[i - 1]] == some.ids[order[i]]; };
    while (end < order.size() && end > begin + 1 && same(end)) end--;
    if (end == begin + 1) {  // the id's occurrences may exceed one piece
      while (end < order.size() && same(end)) end++;
    }
    if ((end - begin) * table.spec().row_bytes() > kMaxMessagePayload) {
      Throw(ErrorCode::kOverloaded, "id ", some.ids[order[begin]], " occurs ", end - begin,
            " times in one step of '", table.spec().name, "', whose gradients are more than ",
            HumanBytes(kMaxMessagePayload), "; step more often");
    }
    TableChange::Piece piece{part};
    for (size_t i = begin; i < end; i++) {
      piece.ids.push_back(some.ids[order[i]]);
      piece.positions.push_back(some.positions[order[i]]);
    }
    pieces.push_back(std::move(piece));
    begin = end;
  }
}

void AddPieces(const TableSource& table, PartId part, const UpdateRule& rule, OwnerSplit::Part some,
               std::vector<TableChange::Piece>& pieces) {
  const size_t most = std::max<size_t>(1, kMaxPieceBytes / table.spec().row_bytes());
  if (some.ids.size() <= most) {
    pieces.push_back({part, std::move(some.ids), std::move(some.positions)});
  } else if (rule.kind == UpdateKind::kSet || rule.kind == UpdateKind::kAdd) {
    CutByPosition(part, some, most, pieces);
  } else {
    CutById(table, part, some, most, pieces);
  }
}

OwnerSplit SplitByOwner(const TableSource& table, std::span<const int64_t> ids) {
  OwnerSplit split;
  split.Assign(table.rows().ids(), ids, "id");
  return split;
}

struct Sent {
  TableChange* change;
  TableChange::Piece* piece;
  RpcThread::Pending pending;
};

RowsToPush RowsOf(const TableChange& change, const TableChange::Piece& piece) {
  return {piece.ids, piece.positions, change.payload, change.table->spec().row_bytes(),
          change.table->rows().id_bytes()};
}

RpcThread::Pending StartPiece(TableChange& change, TableChange::Piece& piece) {
  TensorPort& port = change.table->port(piece.part);
  const uint32_t table = change.table->table(piece.part);
  const RowsToPush rows = RowsOf(change, piece);
  if (change.channels == nullptr) return port.Stage(table, change.rule, piece.number, rows);
  const store::ClientId& client = (*change.channels)[piece.part].client;
  return port.Push(table, change.rule, client, piece.number, rows);
}

// Calls f(change, piece) for the first piece of each change and partition that is not applied yet.
template <class F>
void EachOfRound(std::span<TableChange* const> changes, const F& f) {
  for (TableChange* change : changes) {
    std::vector<bool> busy(change->table->num_parts());
    for (TableChange::Piece& piece : change->pieces) {
      if (piece.applied || busy[Index(piece.part)]) continue;
      busy[Index(piece.part)] = true;
      f(*change, piece);
    }
  }
}

std::vector<Sent> StartRound(std::span<TableChange* const> changes) {
  std::vector<Sent> round;
  EachOfRound(changes, [&](TableChange& change, TableChange::Piece& piece) {
    round.push_back({&change, &piece, StartPiece(change, piece)});
  });
  return round;
}

// The result of a round, in which each change sends one piece to each partition that lacks some.
struct Outcome {
  bool progress = false;
  std::optional<Error> hopeless, passing;
  std::vector<TensorPort*> away;
  std::vector<TableChange*> denied;
};

Outcome WaitForRound(std::vector<Sent>& round) {
  Outcome outcome;
  for (Sent& sent : round) {
    try {
      sent.pending.Wait();
      sent.piece->applied = true;
      outcome.progress = true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnavailable) {
        outcome.away.push_back(&sent.change->table->port(sent.piece->part));
        outcome.passing = error;
      } else if (error.code() == ErrorCode::kOverloaded) {  // the piece was not applied
        outcome.passing = error;
      } else if (error.code() == ErrorCode::kDenied && !sent.change->asked_for_lease) {
        outcome.denied.push_back(sent.change);
      } else if (!outcome.hopeless) {
        outcome.hopeless = sent.change->table->Explain(error);
      }
    }
  }
  return outcome;
}

}  // namespace

PushChannels::PushChannels(size_t num_parts) : channels_(num_parts) {
  std::random_device random;
  const auto draw = [&] { return uint64_t{random()} << 32 | random(); };
  for (Channel& channel : channels_) channel.client = {draw(), draw()};
}

TableChange MakeChange(TableSource& table, PushChannels& channels, const UpdateRule& rule,
                       std::span<const int64_t> ids, const std::byte* payload) {
  OwnerSplit split = SplitByOwner(table, ids);
  TableChange change{&table, &channels, rule, payload, {}};
  for (size_t p = 0; p < split.parts.size(); p++) {
    if (split.parts[p].ids.empty()) continue;
    AddPieces(table, static_cast<PartId>(p), rule, std::move(split.parts[p]), change.pieces);
  }
  for (TableChange::Piece& piece : change.pieces) piece.number = ++channels[piece.part].last;
  return change;
}

TableChange MakeStagedChange(TableSource& table, const UpdateRule& rule,
                             std::span<const int64_t> ids, const std::byte* payload,
                             std::span<const uint64_t> steps) {
  OwnerSplit split = SplitByOwner(table, ids);
  TableChange change{&table, nullptr, rule, payload, {}};
  for (size_t p = 0; p < split.parts.size(); p++) {
    OwnerSplit::Part& some = split.parts[p];
    if (some.ids.size() * table.spec().row_bytes() > kMaxMessagePayload) {
      Throw(ErrorCode::kOverloaded, "a synchronous step of '", table.spec().name, "' has ",
            some.ids.size(), " rows for partition ", p, ", more than ",
            HumanBytes(kMaxMessagePayload), "; step more often");
    }
    change.pieces.push_back(
        {static_cast<PartId>(p), std::move(some.ids), std::move(some.positions), steps[p]});
  }
  return change;
}

void PrepareChanges(std::span<TableChange* const> changes) {
  try {
    EachOfRound(changes, [](TableChange& change, TableChange::Piece& piece) {
      // Preparing synchronous steps would save little: they wait for other trainers, not for
      // copies.
      if (change.channels == nullptr) return;
      const store::ClientId& client = (*change.channels)[piece.part].client;
      change.table->port(piece.part).Prepare(client, piece.number, RowsOf(change, piece));
    });
  } catch (const Error&) {  // sending will report the error
  }
}

void SendChanges(std::span<TableChange* const> changes, std::chrono::milliseconds timeout) {
  auto last_progress = Clock::now();
  auto pause = kFirstPause;
  for (;;) {
    std::vector<Sent> round = StartRound(changes);
    if (round.empty()) return;
    Outcome outcome = WaitForRound(round);
    if (outcome.hopeless) throw Error(*outcome.hopeless);
    if (outcome.progress) {
      last_progress = Clock::now();
      pause = kFirstPause;
    }
    for (TableChange* change : outcome.denied) {
      // Another trainer of the job may have given back the lease meanwhile.
      change->asked_for_lease = true;
      change->table->Acquire();
    }
    if (!outcome.passing) continue;
    if (Clock::now() - last_progress > timeout) throw Error(*outcome.passing);
    AwaitTime(pause);
    pause = std::min<decltype(pause)>(pause * 2, kLongestPause);
    for (TensorPort* port : outcome.away) port->Reconnect();
  }
}

}  // namespace graphd
