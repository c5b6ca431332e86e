// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "graphd/error.h"
#include "wire/control_messages.h"

namespace graphd {

// A version of the graph that this daemon loads in order to serve it. Unless it was committed, its
// destruction gives the memory back. Thread-safe.
class GraphSwitch {
 public:
  virtual ~GraphSwitch() = default;
  // Throws the Error that has ended the loading.
  virtual SwitchProgress Progress() const = 0;
  // Makes new jobs get this version, as soon as a small file (SwitchRecord) is on the disk. Throws
  // Error(kUnavailable) unless the version is ready. `done` is called once, by another thread and
  // without a lock; it must not throw. It gets a null error after a success, and otherwise
  // Error(kIo) or Error(kUnavailable), and then nothing has changed.
  using Done = std::function<void(const Switched&, const Error*)>;
  virtual void Commit(Done done) = 0;
};

// The request of an operator to switch to another version of the graph.
struct SwitchRequest {
  std::string part_config;  // empty: that of the configuration, which is read again
  std::string id;           // the version's id at all daemons of the server
  std::string by;
};

}  // namespace graphd
