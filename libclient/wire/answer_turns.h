// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/timer.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/fair_queue.h"
#include "base/recent_jobs.h"

namespace graphd {

// The turns in which the connections of one event loop send long answers. An event loop serves its
// connections one after another, so a job with 64 connections would get 64 times as much of it as a
// job with one. Long answers are therefore sent in pieces, and while several jobs use the loop, the
// next piece is that of the job to which least was sent (FairQueue). A turn ends when the event
// loop has looked for new requests, and not when the peer has read the piece, so nobody waits for a
// slow peer. Belongs to the thread of the event loop.
class AnswerTurns {
 public:
  // The bytes of a turn. They take about 30 us to send, and fit into a socket's buffer.
  static constexpr size_t kPieceBytes = size_t{128} << 10;

  // `timer` belongs to the event loop.
  explicit AnswerTurns(kj::Timer& timer) : timer_(timer) {}
  AnswerTurns(const AnswerTurns&) = delete;
  AnswerTurns& operator=(const AnswerTurns&) = delete;

  // Notes that the job uses the event loop.
  void Note(const JobShare& job) { recent_.Note(job.job); }
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
  kj::Promise<void> WriteRest(const JobShare& job, kj::AsyncOutputStream& to, Rest& rest);
  // Returns a promise that is fulfilled when the job may send `bytes`.
  kj::Promise<void> Take(const JobShare& job, size_t bytes);
  kj::Promise<void> GiveTurns();
  bool GiveTurn();

  kj::Timer& timer_;
  RecentJobs recent_;
  FairQueue<std::shared_ptr<Waiting>> waiting_;
  bool gives_turns_ = false;
  kj::Promise<void> giving_ = nullptr;  // GiveTurns(), while it goes on
};

// An output whose owner takes turns for the messages that are written to it.
class OutputInTurns final : public kj::AsyncOutputStream {
 public:
  // `began` as in AnswerTurns::Write.
  OutputInTurns(AnswerTurns& turns, const JobShare& job, kj::AsyncOutputStream& to,
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
  AnswerTurns& turns_;
  const JobShare job_;
  kj::AsyncOutputStream& to_;
  Clock::time_point& began_;
};

}  // namespace graphd
