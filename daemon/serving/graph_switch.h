// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "graphd/error.h"
#include "wire/control_messages.h"

namespace graphd {

// A version of the graph that this daemon loads in order to serve it. If it is destroyed before
// Commit has succeeded, its memory is given back. Thread-safe.
class GraphSwitch {
 public:
  virtual ~GraphSwitch() = default;
  // Returns the progress of the loading. Throws the Error that has ended the loading, if there is
  // one.
  virtual SwitchProgress Progress() const = 0;
  // Makes new jobs get this version, as soon as a small file (SwitchRecord) is on the disk. Throws
  // Error(kUnavailable) unless the version is ready. `done` is called once, by another thread and
  // without a lock; it must not throw. After a success, its error is null. Otherwise its error is
  // Error(kIo) or Error(kUnavailable), and nothing has changed.
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
