// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>

// The contents of frames (frame_reader.h). The functions read the header of a frame. They replace
// values that are missing or impossible by defaults.

namespace graphd::ctl {

struct ReadyFrame {
  bool started = false;
  double seconds = 0;
  int port = 0;  // 0: none
};
ReadyFrame ReadReady(const nlohmann::json& header);

struct ExitFrame {
  int rank = -1;
  int code = 0;
  int signal = 0;  // 0: not by a signal
  bool ending = false;
};
ExitFrame ReadExit(const nlohmann::json& header);

struct OutFrame {
  int rank = -1;
  bool is_error = false;
};
OutFrame ReadOut(const nlohmann::json& header);

// Returns the number of the signal that a supervisor has received.
int ReadStopped(const nlohmann::json& header);

}  // namespace graphd::ctl
