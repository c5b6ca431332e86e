// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/frame_contents.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>

#include "ctl/plan/json_value.h"

namespace graphd::ctl {
namespace {

constexpr int kMostCode = 255;

// Returns the number if it is in [0, most], else `otherwise`.
int Within(int number, int most, int otherwise) {
  return number >= 0 && number <= most ? number : otherwise;
}

}  // namespace

ReadyFrame ReadReady(const nlohmann::json& header) {
  return {ValueOr(header, "started", false), ValueOr(header, "seconds", 0.0),
          ValueOr(header, "port", uint16_t{0})};
}

ExitFrame ReadExit(const nlohmann::json& header) {
  // If it can't be read how a trainer has ended, the trainer counts as failed.
  return {ValueOr(header, "rank", -1),
          Within(ValueOr(header, "code", kMostCode), kMostCode, kMostCode),
          Within(ValueOr(header, "signal", 0), SIGRTMAX, 0), ValueOr(header, "ending", false)};
}

OutFrame ReadOut(const nlohmann::json& header) {
  return {ValueOr(header, "rank", -1), ValueOr(header, "fd", 1) == STDERR_FILENO};
}

int ReadStopped(const nlohmann::json& header) {
  const int signal = Within(ValueOr(header, "signal", SIGTERM), SIGRTMAX, SIGTERM);
  return signal == 0 ? SIGTERM : signal;
}

}  // namespace graphd::ctl
