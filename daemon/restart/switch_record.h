// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace graphd {

// The note about the last switch to another version of the graph, in a file of the state directory.
// When the daemon starts again, it serves that version, unless its configuration names a part
// config that is neither `configured` nor `part_config`.
struct SwitchRecord {
  std::string configured;   // the part config that the configuration named at the time
  std::string part_config;  // the part config that is served since then
  std::string id;           // the version's id at all daemons of the server
  std::string fingerprint;  // identifies the files that this daemon has read for it

  // Returns whether a daemon that starts when its configuration names `now` serves `part_config`,
  // because the configuration either has not changed or has followed the switch.
  bool Holds(const std::string& now) const;

  // Returns the note in a file; nothing if there is none. A file that is damaged, or that others
  // could have written, is an Error(kCorrupt) or Error(kDenied).
  static std::optional<SwitchRecord> Read(const std::string& path);
  // Prepare writes the note to another file beside `path`. Publish renames that file to `path`, and
  // Discard removes it. Throw Error(kIo); Error(kInvalid) for a path with a line break. If Publish
  // throws, nothing has changed.
  void Prepare(const std::string& path) const;
  static void Publish(const std::string& path);
  static void Discard(const std::string& path) noexcept;
};

// Returns whether two paths name the same part config.
bool IsSamePartConfig(const std::string& a, const std::string& b);

}  // namespace graphd
