// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace graphd {

// The note about the last switch to another version of the graph, in a file of the state directory.
// The next start serves that version, unless the configuration names a part config other than these
// two by then.
struct SwitchRecord {
  std::string configured;   // the part config that the configuration named at the time
  std::string part_config;  // the one that is served since
  std::string id;           // the version's id at all daemons of the server
  std::string fingerprint;  // tells the files that this daemon has read for it

  // Returns whether a start whose configuration names `now` serves part_config: the configuration
  // is as it was, or has followed the switch.
  bool Holds(const std::string& now) const;

  // Returns the note in a file; nothing if there is none. A file that is damaged, or that others
  // could have written, is an Error(kCorrupt) or Error(kDenied).
  static std::optional<SwitchRecord> Read(const std::string& path);
  // Writes the note beside the file. Publish gives it the file's name, Discard removes it. Throw
  // Error(kIo); Error(kInvalid) for a path with a line break. If Publish throws, nothing has
  // changed.
  void Prepare(const std::string& path) const;
  static void Publish(const std::string& path);
  static void Discard(const std::string& path) noexcept;
};

// Returns whether two paths name the same part config.
bool IsSamePartConfig(const std::string& a, const std::string& b);

}  // namespace graphd
