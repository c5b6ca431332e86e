// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/piece_scan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace graphd::ctl {
namespace {

TEST(PieceScan, EachElementIsInOnePiece) {
  uint64_t shown = 0, total = 0;
  PieceScan scan(
      [&](const std::string&, uint64_t done, uint64_t of) {
        EXPECT_GE(done, shown);
        shown = done;
        total = of;
      },
      10 * PieceScan::kElements * 4);
  for (const uint64_t elements :
       {uint64_t{0}, uint64_t{1}, PieceScan::kElements, 3 * PieceScan::kElements + 5}) {
    std::vector<std::atomic<int>> seen(elements);
    scan.Run("step", elements, 4, [&](const Piece& piece) {
      EXPECT_LT(piece.thread, scan.threads());
      EXPECT_EQ(piece.begin, piece.index * PieceScan::kElements);
      for (uint64_t i = piece.begin; i < piece.end; i++) seen[i]++;
    });
    for (const auto& times : seen) ASSERT_EQ(times, 1);
  }
  EXPECT_LT(shown, total);
  scan.Finish("step");
  EXPECT_EQ(shown, total);
}

TEST(PieceScan, AnExceptionEndsTheScan) {
  PieceScan scan({}, 1);
  constexpr int kPieces = 200;
  std::atomic<int> begun = 0;
  std::atomic<bool> thrown = false;
  // Only one piece fails. The other threads wait for that, and a while for its effect.
  const auto fail = [&](const Piece& piece) {
    begun++;
    if (piece.index == 0) {
      thrown = true;
      throw std::runtime_error("damaged");
    }
    while (!thrown) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_THROW(scan.Run("step", kPieces * PieceScan::kElements, 4, fail), std::runtime_error);
  EXPECT_LT(begun, kPieces / 4);
}

}  // namespace
}  // namespace graphd::ctl
