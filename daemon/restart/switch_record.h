// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

namespace graphd {

// The note about the last switch to another version of the graph (`graphctl server switch`), in a
// file of the state directory. When the daemon starts again, it serves that version, unless its
// configuration names a part config that is neither `configured` nor `part_config`.
struct SwitchRecord {
  std::string configured;   // the part config of the configuration at the switch
  std::string part_config;  // the part config that is served since the switch
  std::string id;           // the version's id at all daemons of the server
  std::string fingerprint;  // identifies the files that this daemon has read for it

  // Returns whether a daemon whose configuration names the part config `now` serves `part_config`
  // when it starts. This is so if the configuration has not changed since the switch, or names
  // `part_config` itself.
  bool Holds(const std::string& now) const;

  // Returns the note in a file; nothing if there is no file. Throws Error(kCorrupt) if the file is
  // damaged, and Error(kDenied) if other users could have written it.
  static std::optional<SwitchRecord> Read(const std::string& path);
  // Prepare writes the note to another file beside `path`. Publish renames that file to `path`, and
  // Discard removes it. Prepare and Publish throw Error(kIo), and Prepare throws Error(kInvalid) if
  // the part config's path has a line break. If Publish throws, nothing has changed.
  void Prepare(const std::string& path) const;
  static void Publish(const std::string& path);
  static void Discard(const std::string& path) noexcept;
};

// Returns whether two paths name the same part config.
bool IsSamePartConfig(const std::string& a, const std::string& b);

}  // namespace graphd
