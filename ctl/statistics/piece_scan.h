// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "format/io/step_progress.h"

namespace graphd::ctl {

// A range of an array's elements, begin <= i < end, and the thread that works on it.
struct Piece {
  size_t thread;
  uint64_t index, begin, end;
};

// Divides arrays into pieces on which all processors work, and reports the progress. Only one
// thread at a time may call its methods.
class PieceScan {
 public:
  static constexpr uint64_t kElements = 65536;  // the size of each piece but the last
  static uint64_t PiecesOf(uint64_t elements) { return (elements + kElements - 1) / kElements; }

  // `total`: the bytes of all arrays.
  PieceScan(StepProgress progress, uint64_t total);

  // Returns the number of threads. Piece::thread is always smaller than this number.
  size_t threads() const noexcept { return threads_; }
  // Calls f for each piece of an array of `elements`, on several threads, and returns when all are
  // done. If f throws, begins no more pieces, and rethrows the first exception.
  void Run(const std::string& step, uint64_t elements, size_t element_bytes,
           const std::function<void(const Piece&)>& f);
  // Reports the end of the last step.
  void Finish(const std::string& step) const;

 private:
  const StepProgress progress_;
  const uint64_t total_;
  const size_t threads_;
  uint64_t done_ = 0;  // bytes of the arrays of earlier calls of Run
};

}  // namespace graphd::ctl
