// SPDX-License-Identifier: Apache-2.0
#include "wire/answer_turns.h"

#include <kj/vector.h>

#include <algorithm>
#include <utility>

namespace graphd {

// The rest of an answer: the parts from `part` on, without the first `at` bytes of that one.
struct AnswerTurns::Rest {
  using Parts = kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>;

  Rest(Parts all, Clock::time_point& the_began) : parts(all), began(the_began) {}

  // Takes the next piece off. Sets `bytes` to its size, which is 0 if nothing is left.
  kj::Array<kj::ArrayPtr<const kj::byte>> Next(size_t& bytes) {
    kj::Vector<kj::ArrayPtr<const kj::byte>> piece;
    bytes = 0;
    while (part < parts.size() && bytes < kPieceBytes) {
      const size_t end = std::min(parts[part].size(), at + kPieceBytes - bytes);
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

  Parts parts;
  Clock::time_point& began;
  size_t part = 0, at = 0;
};

kj::Promise<void> AnswerTurns::Write(const JobShare& job, kj::AsyncOutputStream& to,
                                     Clock::time_point& began, Rest::Parts answer) {
  auto rest = kj::heap<Rest>(answer, began);
  auto written = WriteRest(job, to, *rest);
  return written.attach(kj::mv(rest));
}

kj::Promise<void> AnswerTurns::WriteRest(const JobShare& job, kj::AsyncOutputStream& to,
                                         Rest& rest) {
  size_t bytes = 0;
  auto piece = rest.Next(bytes);
  if (bytes == 0) return kj::READY_NOW;
  return Take(job, bytes)
      .then([&to, &rest, asked = Clock::now(), piece = kj::mv(piece)]() mutable {
        rest.began += Clock::now() - asked;
        auto written = to.write(piece);
        return written.attach(kj::mv(piece));
      })
      .then([this, job, &to, &rest] { return WriteRest(job, to, rest); });
}

kj::Promise<void> AnswerTurns::Take(const JobShare& job, size_t bytes) {
  Note(job);
  if (!gives_turns_ && recent_.is_alone()) return kj::READY_NOW;
  auto turn = kj::newPromiseAndFulfiller<void>();
  waiting_.Put(job, std::make_shared<Waiting>(Waiting{kj::mv(turn.fulfiller), bytes}));
  if (!gives_turns_) {
    // If memory has run out, the next answer tries again.
    giving_ = kj::evalNow([this] { return GiveTurns(); }).eagerlyEvaluate([this](kj::Exception&&) {
      gives_turns_ = false;
    });
  }
  return kj::mv(turn.promise);
}

// Gives turns, one after another, until nobody waits.
kj::Promise<void> AnswerTurns::GiveTurns() {
  gives_turns_ = GiveTurn();
  if (!gives_turns_) return kj::READY_NOW;
  // A timer fires only after the event loop has looked for events.
  return timer_.afterDelay(0 * kj::NANOSECONDS).then([this] { return GiveTurns(); });
}

// Returns false if nobody waits.
bool AnswerTurns::GiveTurn() {
  while (!waiting_.empty()) {
    const uint64_t job = waiting_.Next();
    const std::shared_ptr<Waiting> next = waiting_.Front(job);
    const auto turn = waiting_.Begin(job, /*again=*/false);
    const bool is_connected = next->turn->isWaiting();
    waiting_.End(turn, is_connected ? static_cast<double>(next->bytes) : 0);
    if (!is_connected) continue;
    next->turn->fulfill();
    return true;
  }
  return false;
}

}  // namespace graphd
