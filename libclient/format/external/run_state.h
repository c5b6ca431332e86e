// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"

namespace graphd {

// The ending of the names of directories with the state of a run.
inline constexpr const char* kStateEnding = ".partitioning";

// The member of a run's key that identifies the last start of the machine.
inline constexpr const char* kMachineStart = "the machine's start";

// The steps that a long run has completed, in a directory of its own, so that the same command
// continues a run that was killed. A key describes the input and the options; a run with another
// key does not use the state. One process at a time holds the directory. Not thread-safe.
class RunState {
 public:
  // Returns whether `directory` has the state of a run with this key.
  static bool Matches(const std::string& directory, const nlohmann::ordered_json& key);

  // Returns the same as Matches, but ignores whether the machine was restarted since the state was
  // written.
  static bool MatchesButForStart(const std::string& directory, const nlohmann::ordered_json& key);

  // Throws Error(kExists) if `directory` has the state of a run with a key that differs in more
  // than kMachineStart.
  static void CheckNoOther(const std::string& directory, const nlohmann::ordered_json& key);

  // Removes the states in the directory `parent` (subdirectories whose names end in kStateEnding),
  // except the state `keep`. Throws Error(kExists) if another process uses one of them; then none
  // is removed.
  static void RemoveOthers(const std::string& parent, const std::string& keep);

  // Opens or creates the state. Removes an existing state first if the machine was restarted since
  // that state was written, or if it belongs to a run with another key and `replace` is true.
  // Throws Error(kExists) if another process uses the state, or if it belongs to a run with another
  // key and `replace` is false.
  RunState(std::string directory, const nlohmann::ordered_json& key, bool replace);

  const std::string& directory() const noexcept { return directory_; }
  std::string Path(const std::string& name) const { return JoinPath(directory_, name); }
  bool Has(const std::string& name) const { return FileExists(Path(name)); }
  // Records a completed step. The files that `text` describes must have been written before.
  void Write(const std::string& name, const std::string& text) const;
  // Removes the directory, at the end.
  void Remove();
  // Removes the directory after an error, as far as that is possible.
  void Discard() noexcept;

 private:
  void Clear() const;
  const std::string directory_;
  UniqueFd lock_;
};

}  // namespace graphd
