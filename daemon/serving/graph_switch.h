// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "wire/control_messages.h"

namespace graphd {

// A version of the graph that this daemon loads in order to serve it. Unless it was committed, its
// destruction gives the memory back. Thread-safe.
class GraphSwitch {
 public:
  virtual ~GraphSwitch() = default;
  // Throws the Error that has ended the loading.
  virtual SwitchProgress Progress() const = 0;
  // Lets new jobs get this version. Takes as long as a small file needs to be on the disk. Throws
  // Error(kUnavailable) unless it is ready, Error(kIo); then nothing has changed.
  virtual Switched Commit() = 0;
};

// The wish of an operator to switch.
struct SwitchRequest {
  std::string part_config;  // empty: that of the configuration, which is read again
  std::string id;           // the version's id at all daemons of the server
  std::string by;
};

}  // namespace graphd
