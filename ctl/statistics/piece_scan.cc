// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/piece_scan.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/threads/run_threads.h"

namespace graphd::ctl {

PieceScan::PieceScan(StepProgress progress, uint64_t total)
    : progress_(std::move(progress)), total_(total), threads_(UsefulThreads()) {}

void PieceScan::Run(const std::string& step, uint64_t elements, size_t element_bytes,
                    const std::function<void(const Piece&)>& f) {
  const uint64_t pieces = PiecesOf(elements);
  std::atomic<uint64_t> next = 0, done = 0;  // pieces begun, elements done
  std::atomic<bool> failed = false;
  const auto report = [&] {
    const uint64_t bytes = done_ + done * element_bytes;
    if (progress_ && total_ > 0) progress_(step, std::min(bytes, total_ - 1), total_);
  };
  report();
  RunThreads(std::min<uint64_t>(threads_, std::max<uint64_t>(pieces, 1)), [&](size_t thread) {
    for (uint64_t i = next++; i < pieces && !failed; i = next++) {
      const Piece piece{thread, i, i * kElements, std::min((i + 1) * kElements, elements)};
      try {
        f(piece);
      } catch (...) {
        failed = true;
        throw;
      }
      done += piece.end - piece.begin;
      if (thread == 0) report();
    }
  });
  done_ += elements * element_bytes;
}

void PieceScan::Finish(const std::string& step) const {
  if (progress_) progress_(step, std::max<uint64_t>(total_, 1), std::max<uint64_t>(total_, 1));
}

}  // namespace graphd::ctl
