// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/piece_scan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
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
  std::atomic<int> begun = 0;
  const auto fail = [&](const Piece&) {
    begun++;
    throw std::runtime_error("damaged");
  };
  EXPECT_THROW(scan.Run("step", 1000 * PieceScan::kElements, 4, fail), std::runtime_error);
  EXPECT_LE(begun, static_cast<int>(scan.threads()));
}

}  // namespace
}  // namespace graphd::ctl
