// SPDX-License-Identifier: Apache-2.0
#include "wire/loop_turns.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <kj/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace graphd {
namespace {

constexpr size_t kPiece = LoopTurns::kPieceBytes, kPieceAlone = LoopTurns::kPieceBytesAlone;

// An output whose peer reads everything at once.
class Recorder final : public kj::AsyncOutputStream {
 public:
  Recorder(std::string& order, char name) : order_(order), name_(name) {}

  kj::Promise<void> write(const void* buffer, size_t size) override {
    order_ += name_;
    EXPECT_LE(size, kPieceAlone);
    received_.append(static_cast<const char*>(buffer), size);
    return kj::READY_NOW;
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    order_ += name_;
    size_t bytes = 0;
    for (const auto& piece : pieces) {
      received_.append(reinterpret_cast<const char*>(piece.begin()), piece.size());
      bytes += piece.size();
    }
    EXPECT_LE(bytes, kPieceAlone);
    return kj::READY_NOW;
  }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }

  const std::string& received() const noexcept { return received_; }

 private:
  std::string& order_;
  const char name_;
  std::string received_;
};

// An output whose peer reads nothing.
class StuckOutput final : public kj::AsyncOutputStream {
 public:
  kj::Promise<void> write(const void*, size_t) override { return kj::NEVER_DONE; }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>) override {
    return kj::NEVER_DONE;
  }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }
};

class LoopTurnsTest : public ::testing::Test {
 protected:
  // An answer in parts of these sizes.
  struct Answer {
    explicit Answer(const std::vector<size_t>& sizes) {
      for (const size_t size : sizes) {
        parts.emplace_back(size, 'x');
        for (char& each : parts.back()) each = static_cast<char>(next++ * 31 >> 3);
        all += parts.back();
      }
      for (const std::string& part : parts) {
        pointers.push_back(
            kj::arrayPtr(reinterpret_cast<const kj::byte*>(part.data()), part.size()));
      }
    }
    auto get() const { return kj::arrayPtr(pointers.data(), pointers.size()); }

    std::vector<std::string> parts;
    std::vector<kj::ArrayPtr<const kj::byte>> pointers;
    std::string all;
    unsigned next = 1;
  };

  kj::Promise<void> Write(const JobShare& job, kj::AsyncOutputStream& to, const Answer& answer) {
    return turns_->Write(job, to, began_, answer.get());
  }

  // The objects that KJ gives are behind pointers because their destructors may throw.
  std::unique_ptr<kj::AsyncIoContext> io_ =
      std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
  std::unique_ptr<LoopTurns> turns_ = std::make_unique<LoopTurns>(io_->provider->getTimer());
  std::string order_;
  Clock::time_point began_ = Clock::now();
};

TEST_F(LoopTurnsTest, AnAnswerThatWasBegunAloneLeavesTurnsToAJobThatComesLater) {
  const Answer answer({8 * kPiece}), long_answer({1000 * kPiece});
  Recorder first(order_, '1'), later(order_, 'l');
  auto begun = Write(1, first, long_answer).eagerlyEvaluate(nullptr);
  Write(2, later, answer).wait(io_->waitScope);
  EXPECT_LE(std::ranges::count(order_, '1'), 10) << order_;
  begun.wait(io_->waitScope);
  EXPECT_TRUE(first.received() == long_answer.all);
}

TEST_F(LoopTurnsTest, AllBytesArriveInOrderWhateverTheParts) {
  const std::vector<std::vector<size_t>> answers = {
      {},
      {0, 0},
      {1},
      {kPiece},
      {kPiece + 1},
      {kPieceAlone},
      {kPieceAlone + 1},
      {3 * kPieceAlone, 0, 5, kPieceAlone - 5, kPieceAlone},
      {16, 100, 7 * kPieceAlone + 3, 9, 2 * kPiece},
  };
  for (const auto& sizes : answers) {
    const Answer answer(sizes);
    order_.clear();
    Recorder to(order_, 'a');
    Write(1, to, answer).wait(io_->waitScope);
    EXPECT_TRUE(to.received() == answer.all) << sizes.size() << " parts";
    EXPECT_EQ(order_.size(), (answer.all.size() + kPieceAlone - 1) / kPieceAlone);
  }
}

TEST_F(LoopTurnsTest, AJobWithOneConnectionGetsAsMuchAsOneWithMany) {
  for (const uint64_t job : {1, 2}) turns_->Take(job, 1).wait(io_->waitScope);
  const Answer answer({8 * kPiece});
  std::vector<std::unique_ptr<Recorder>> outputs;
  kj::Vector<kj::Promise<void>> many;
  for (int i = 0; i < 20; i++) {
    outputs.push_back(std::make_unique<Recorder>(order_, 'm'));
    many.add(Write(1, *outputs.back(), answer));
  }
  Recorder one(order_, '1');
  Write(2, one, answer).wait(io_->waitScope);
  // The answers of the first job, which came first, have sent at most one piece more.
  EXPECT_LE(std::ranges::count(order_, 'm'), 9) << order_;
  kj::joinPromises(many.releaseAsArray()).wait(io_->waitScope);
  for (const auto& output : outputs) EXPECT_TRUE(output->received() == answer.all);
}

TEST_F(LoopTurnsTest, AJobOfTwiceTheWeightGetsTwiceAsMuch) {
  const Answer answer({60 * kPiece});
  Recorder light(order_, 'l'), heavy(order_, 'h');
  auto first = Write(JobShare(1, 1), light, answer);
  Write(JobShare(2, 2), heavy, answer).wait(io_->waitScope);
  const auto sent = std::ranges::count(order_, 'l');
  EXPECT_GE(sent, 27) << order_;
  EXPECT_LE(sent, 33) << order_;
  first.wait(io_->waitScope);
}

TEST_F(LoopTurnsTest, NobodyWaitsForAPeerThatDoesNotRead) {
  const Answer answer({4 * kPiece});
  StuckOutput stuck;
  Recorder other(order_, 'o');
  auto never = Write(1, stuck, answer);
  Write(1, other, answer).wait(io_->waitScope);
  EXPECT_TRUE(other.received() == answer.all);
  EXPECT_FALSE(never.poll(io_->waitScope));
}

TEST_F(LoopTurnsTest, AConnectionThatIsClosedWhileItWaitsTakesNoTurn) {
  for (const uint64_t job : {1, 2}) turns_->Take(job, 1).wait(io_->waitScope);
  const Answer answer({4 * kPiece});
  Recorder closed(order_, 'c'), other(order_, 'o');
  auto first = Write(2, other, answer);
  { auto dropped = Write(1, closed, answer); }
  first.wait(io_->waitScope);
  EXPECT_EQ(order_, "oooo");
}

TEST_F(LoopTurnsTest, ThePeerIsNotWaitedForWhileAnAnswerWaitsForItsTurn) {
  const Answer answer({5 * kPiece}), long_answer({600 * kPiece});
  Recorder light(order_, 'l'), heavy(order_, 'h');
  auto other = Write(JobShare(1, 1), heavy, long_answer).eagerlyEvaluate(nullptr);
  const auto start = Clock::now();
  Clock::time_point began = start;
  turns_->Write(JobShare(2, 0.01), light, began, answer.get()).wait(io_->waitScope);
  const auto end = Clock::now();
  ASSERT_GE(std::ranges::count(order_, 'h'), 200) << "it has waited";
  EXPECT_LT(end - began, (end - start) / 2);
}

TEST_F(LoopTurnsTest, StrangersGetNoMoreThanTheirPartOfTheLoop) {
  const JobShare strangers = LoopTurns::ShareOfStrangers("uid 1000");
  const auto start = Clock::now();
  int64_t turns = 0;
  for (; SecondsSince(start) < 0.5; turns++) {
    turns_->Take(strangers, LoopTurns::kMessageCost).wait(io_->waitScope);
  }
  const double most =
      LoopTurns::kStrangersBurst / LoopTurns::kMessageCost +
      LoopTurns::kStrangersPerSecond / LoopTurns::kMessageCost * SecondsSince(start);
  EXPECT_LE(static_cast<double>(turns), most + 1);
  EXPECT_GE(turns, 100) << "they are served";
}

TEST_F(LoopTurnsTest, AJobDoesNotWaitForStrangersThatWait) {
  constexpr auto kMuch = static_cast<size_t>(100 * LoopTurns::kStrangersPerSecond);
  const JobShare strangers = LoopTurns::ShareOfStrangers("uid 1000");
  turns_->Take(strangers, kMuch).wait(io_->waitScope);
  auto waiting = turns_->Take(strangers, 1);
  EXPECT_FALSE(waiting.poll(io_->waitScope));
  const Answer answer({8 * kPiece});
  Recorder to(order_, 'j');
  for (const uint64_t job : {1, 2}) {
    turns_->Take(job, 1).wait(io_->waitScope);
    Write(job, to, answer).wait(io_->waitScope);
  }
  EXPECT_EQ(order_.size(), 16U);
  EXPECT_FALSE(waiting.poll(io_->waitScope));
}

}  // namespace
}  // namespace graphd
