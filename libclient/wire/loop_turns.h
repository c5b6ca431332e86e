// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/fair_queue.h"
#include "base/recent_jobs.h"

namespace graphd {

// The turns in which the connections of one event loop handle messages and send long answers. An
// event loop serves its connections one after another, so a job with 64 connections would get 64
// times as much of it as a job with one. Therefore, while several jobs use the loop, a message is
// read and handled, or a piece of an answer is sent, in a turn, and the next turn is that of the
// job that has had least (FairQueue). A turn ends when the event loop has done all that followed
// from it and has looked for new requests, and not when the peer has read the piece, so nobody
// waits for a slow peer.
//
// Clients that have not attached are strangers. Those of a user or a machine count as one job. All
// together get about a quarter of the loop's time at most, even if no job needs the rest: the
// processor may be needed by other threads. Only a burst of 0.1 s is not slowed down, so that the
// trainers of a job attach at full speed. Belongs to the thread of the event loop.
class LoopTurns {
 public:
  // The bytes of a piece. They take about 30 us to send, and fit into a socket's buffer.
  static constexpr size_t kPieceBytes = size_t{128} << 10;
  // The bytes of a piece that needs no turn.
  static constexpr size_t kPieceBytesAlone = 8 * kPieceBytes;
  // The cost of handling a message, beside that of its bytes.
  static constexpr size_t kMessageCost = kPieceBytes;
  // The cost of what a loop does in a second, roughly.
  static constexpr double kCostPerSecond = 32768.0 * kPieceBytes;
  // The cost of what strangers may do in a second, and of what they may do at once if they did
  // nothing before.
  static constexpr double kStrangersPerSecond = kCostPerSecond / 4;
  static constexpr double kStrangersBurst = kCostPerSecond / 10;

  // Returns the share of the strangers whom a text identifies.
  static JobShare ShareOfStrangers(const std::string& who);

  // `timer` belongs to the event loop.
  explicit LoopTurns(kj::Timer& timer) : timer_(timer) {}
  LoopTurns(const LoopTurns&) = delete;
  LoopTurns& operator=(const LoopTurns&) = delete;

  // Notes that the job uses the event loop, and returns a promise that is fulfilled when it may use
  // it for something that costs as much as sending `bytes`. Fulfilled at once for a job while
  // no other job has used the event loop lately, and no stranger waits.
  kj::Promise<void> Take(const JobShare& job, size_t bytes);
  // Calls a function, which returns a promise, when Take's promise is fulfilled.
  template <class Function>
  auto Run(const JobShare& job, size_t bytes, Function function) -> decltype(function()) {
    if (NeedsNoTurn(job)) return function();
    return TakeTurn(job, bytes).then(kj::mv(function));
  }
  // Sends an answer in pieces, and waits for a turn of the job before each while other jobs have
  // used the event loop lately. `began` is the time since which the peer is waited for: the time
  // that a turn has taken to come is added to it. `to`, `began` and the parts of the answer must
  // live until the promise is fulfilled or dropped.
  kj::Promise<void> Write(const JobShare& job, kj::AsyncOutputStream& to, Clock::time_point& began,
                          kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> answer);

 private:
  struct Waiting {
    kj::Own<kj::PromiseFulfiller<void>> turn;
    size_t bytes;
  };
  struct Rest;
  bool NeedsNoTurn(const JobShare& job);
  kj::Promise<void> TakeTurn(const JobShare& job, size_t bytes);
  kj::Promise<void> WriteRest(const JobShare& job, kj::AsyncOutputStream& to, Rest& rest);
  // Registry numbers of jobs are smaller.
  static constexpr uint64_t kStrangers = uint64_t{1} << 63;
  static bool IsStranger(const JobShare& job) noexcept { return job.job >= kStrangers; }
  enum class Giver { kIdle, kGives, kSleeps };
  void WakeGiver();
  kj::Promise<void> GiveTurns();
  bool GiveTurn();
  void AddCredit();

  kj::Timer& timer_;
  RecentJobs recent_;
  FairQueue<std::shared_ptr<Waiting>> waiting_;
  // kSleeps: only strangers wait, and they have no credit.
  Giver giver_ = Giver::kIdle;
  kj::Promise<void> giving_ = nullptr;  // GiveTurns(), while the giver is not idle
  double credit_ = kStrangersBurst;     // the cost of what strangers may do now
  Clock::time_point credited_ = Clock::now();
};

// An output whose owner takes turns for the messages that are written to it.
class OutputInTurns final : public kj::AsyncOutputStream {
 public:
  // `began` as in LoopTurns::Write.
  OutputInTurns(LoopTurns& turns, const JobShare& job, kj::AsyncOutputStream& to,
                Clock::time_point& began)
      : turns_(turns), job_(job), to_(to), began_(began) {}

  kj::Promise<void> write(const void* buffer, size_t size) override {
    return to_.write(buffer, size);
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return turns_.Write(job_, to_, began_, pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override { return to_.whenWriteDisconnected(); }

 private:
  LoopTurns& turns_;
  const JobShare job_;
  kj::AsyncOutputStream& to_;
  Clock::time_point& began_;
};

}  // namespace graphd
