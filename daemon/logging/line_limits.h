// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace graphd {

// Limits the lines of a log, so that no client can fill the disk or hide what others do: each
// operation (LogFields::op) may write kBurst lines at once, and one more line after every kPause.
// For lines without an operation, which the daemon writes about itself, the limits are kOwnBurst
// and kOwnPause. Not thread-safe.
class LineLimits {
 public:
  static constexpr double kBurst = 60, kOwnBurst = 1000;  // lines
  static constexpr double kPause = 5, kOwnPause = 0.05;   // seconds
  static constexpr size_t kMaxOperations = 128;           // all further ones share one limit
  static constexpr const char* kOtherOperations = "other";

  // Returns whether a line may be written at this time; if not, counts it.
  bool Admit(std::string_view op, Clock::time_point now);

  struct LeftOut {
    std::string op;
    uint64_t lines = 0;
  };
  // Returns, for each operation, how many of its lines were not admitted since the last call.
  std::vector<LeftOut> TakeLeftOut();

 private:
  struct Bucket {
    double lines = 0;  // the number that may be written now
    Clock::time_point filled{};
    uint64_t left_out = 0;
  };
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace graphd
