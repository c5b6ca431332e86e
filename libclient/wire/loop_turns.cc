// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_turns.h"

#include <kj/vector.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace graphd {
namespace {

// The time for which strangers without credit wait at least, which is the resolution of the timer.
constexpr auto kStrangersPause = 1 * kj::MILLISECONDS;

}  // namespace

// The rest of an answer: the parts from `part` on, without the first `at` bytes of that one.
struct LoopTurns::Rest {
  using Parts = kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>;

  Rest(Parts all, Clock::time_point& the_began) : parts(all), began(the_began) {}

  // Takes off the next piece, which has at most as many bytes. Sets `bytes` to its size, which is 0
  // if nothing is left.
  kj::Array<kj::ArrayPtr<const kj::byte>> Next(size_t most, size_t& bytes) {
    kj::Vector<kj::ArrayPtr<const kj::byte>> piece;
    bytes = 0;
    while (part < parts.size() && bytes < most) {
      const size_t end = std::min(parts[part].size(), at + most - bytes);
      if (end > at) piece.add(parts[part].slice(at, end));
      bytes += end - at;
      at = end;
      if (at == parts[part].size()) {
        part++;
        at = 0;
      }
    }
    return piece.releaseAsArray();
  }
  bool is_written() const noexcept { return part == parts.size(); }

  Parts parts;
  Clock::time_point& began;
  size_t part = 0, at = 0;
};

kj::Promise<void> LoopTurns::Write(const JobShare& job, kj::AsyncOutputStream& to,
                                   Clock::time_point& began, Rest::Parts answer) {
  auto rest = kj::heap<Rest>(answer, began);
  auto written = WriteRest(job, to, *rest);
  return written.attach(kj::mv(rest));
}

kj::Promise<void> LoopTurns::WriteRest(const JobShare& job, kj::AsyncOutputStream& to, Rest& rest) {
  const bool now = NeedsNoTurn(job);
  size_t bytes = 0;
  auto piece = rest.Next(now ? kPieceBytesAlone : kPieceBytes, bytes);
  if (bytes == 0) return kj::READY_NOW;
  auto write = [&to, piece = kj::mv(piece)]() mutable {
    auto written = to.write(piece);
    return written.attach(kj::mv(piece));
  };
  auto written = now ? write()
                     : TakeTurn(job, bytes)
                           .then([&rest, asked = Clock::now(), write = kj::mv(write)]() mutable {
                             rest.began += Clock::now() - asked;
                             return write();
                           });
  if (rest.is_written()) return written;
  return written.then([this, job, &to, &rest] { return WriteRest(job, to, rest); });
}

JobShare LoopTurns::ShareOfStrangers(const std::string& who) {
  return {kStrangers | (std::hash<std::string>()(who) >> 2)};  // never FairQueue's kNone
}

// Notes that the job uses the event loop, and returns whether it needs no turn.
bool LoopTurns::NeedsNoTurn(const JobShare& job) {
  if (IsStranger(job)) return false;
  recent_.Note(job.job);
  // A job is alone also beside strangers who do not wait at the moment.
  return giver_ == Giver::kIdle && recent_.is_alone();
}

kj::Promise<void> LoopTurns::Take(const JobShare& job, size_t bytes) {
  if (NeedsNoTurn(job)) return kj::READY_NOW;
  return TakeTurn(job, bytes);
}

kj::Promise<void> LoopTurns::TakeTurn(const JobShare& job, size_t bytes) {
  auto turn = kj::newPromiseAndFulfiller<void>();
  waiting_.Put(job, std::make_shared<Waiting>(Waiting{kj::mv(turn.fulfiller), bytes}));
  if (giver_ == Giver::kIdle || (giver_ == Giver::kSleeps && !IsStranger(job))) WakeGiver();
  return kj::mv(turn.promise);
}

void LoopTurns::WakeGiver() {
  // If memory has run out, the next message or answer tries again.
  giving_ = kj::evalNow([this] { return GiveTurns(); }).eagerlyEvaluate([this](kj::Exception&&) {
    giver_ = Giver::kIdle;
  });
}

// Gives turns, one after another, until nobody waits.
kj::Promise<void> LoopTurns::GiveTurns() {
  auto pause = 0 * kj::NANOSECONDS;
  if (GiveTurn()) {
    giver_ = Giver::kGives;
  } else if (!waiting_.empty()) {
    giver_ = Giver::kSleeps;
    pause = kStrangersPause;
  } else {
    giver_ = Giver::kIdle;
    return kj::READY_NOW;
  }
  // A timer fires only after the event loop has looked for events.
  return timer_.afterDelay(pause).then([this] { return GiveTurns(); });
}

// Returns false if nobody waits who may have a turn.
bool LoopTurns::GiveTurn() {
  AddCredit();
  const auto may_run = [&](uint64_t job) { return job < kStrangers || credit_ > 0; };
  while (true) {
    const uint64_t job = waiting_.Next(may_run);
    if (job == waiting_.kNone) return false;
    const std::shared_ptr<Waiting> next = waiting_.Front(job);
    const auto turn = waiting_.Begin(job, /*again=*/false);
    const bool is_connected = next->turn->isWaiting();
    waiting_.End(turn, is_connected ? static_cast<double>(next->bytes) : 0);
    if (!is_connected) continue;
    if (job >= kStrangers) credit_ -= static_cast<double>(next->bytes);
    next->turn->fulfill();
    return true;
  }
}

void LoopTurns::AddCredit() {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - credited_).count();
  credit_ = std::min(kStrangersBurst, credit_ + seconds * kStrangersPerSecond);
  credited_ = now;
}

}  // namespace graphd
