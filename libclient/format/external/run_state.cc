// SPDX-License-Identifier: Apache-2.0
#include "format/external/run_state.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/strings.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kKey = "key.json";
constexpr const char* kLock = "lock";

ordered_json ReadKey(const std::string& directory) {
  const std::string path = JoinPath(directory, kKey);
  if (!FileExists(path)) return nullptr;
  return ordered_json::parse(ReadTextFile(path), nullptr, false);
}

// Returns whether a directory is the state of a run, even if it has lost its key.
bool IsState(const std::string& directory) {
  return FileExists(JoinPath(directory, kKey)) || FileExists(JoinPath(directory, kLock));
}

// Locks a state for this process, or throws Error(kExists).
UniqueFd Lock(const std::string& directory) {
  const std::string path = JoinPath(directory, kLock);
  UniqueFd lock = OpenFile(path, O_RDWR | O_CREAT);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) ThrowErrno("can't lock", path);
  Throw(ErrorCode::kExists, directory, " is used by another graphctl partition; wait for it, or ",
        "give another --output");
}

ordered_json WithoutStart(ordered_json key) {
  if (key.is_object()) key.erase(kMachineStart);
  return key;
}

// Returns the names of the members in which two keys differ.
std::string Differences(const ordered_json& a, const ordered_json& b) {
  std::vector<std::string> names;
  for (const auto& [name, value] : a.items()) {
    if (!b.is_object() || !b.contains(name) || b[name] != value) names.push_back(name);
  }
  return names.empty() ? "options" : Join(names, ", ");
}

}  // namespace

bool RunState::Matches(const std::string& directory, const ordered_json& key) {
  return ReadKey(directory) == key;
}

bool RunState::MatchesButForStart(const std::string& directory, const ordered_json& key) {
  return WithoutStart(ReadKey(directory)) == WithoutStart(key);
}

void RunState::CheckNoOther(const std::string& directory, const ordered_json& key) {
  const ordered_json there = ReadKey(directory);
  if (there.is_null() || WithoutStart(there) == WithoutStart(key)) return;
  Throw(ErrorCode::kExists, directory, " has the state of an interrupted run that differs in: ",
        Differences(WithoutStart(key), WithoutStart(there)),
        "; repeat that command to continue it, or give --force to ", "discard it");
}

void RunState::RemoveOthers(const std::string& parent, const std::string& keep) {
  std::vector<std::pair<std::string, UniqueFd>> states;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(kStateEnding) || !IsState(path)) continue;
    if (!keep.empty() && fs::equivalent(path, keep, ignored)) continue;
    states.emplace_back(path, Lock(path));
  }
  for (const auto& [path, lock] : states) {
    // Remove the key first: without it, the remaining files are not taken for a state.
    fs::remove(JoinPath(path, kKey));
    fs::remove_all(path);
  }
}

RunState::RunState(std::string directory, const ordered_json& key, bool replace)
    : directory_(std::move(directory)) {
  MakeDirectories(directory_);
  if (!IsState(directory_) && !fs::is_empty(directory_)) {
    Throw(ErrorCode::kExists, directory_, " is not the state of a run, for which this name is ",
          "needed; move the directory, or give another --output or --graph_name");
  }
  lock_ = Lock(directory_);
  if (Matches(directory_, key)) return;
  if (!replace) CheckNoOther(directory_, key);
  Clear();
  WriteFileAtomically(Path(kKey), key.dump(1) + "\n");
}

void RunState::Write(const std::string& name, const std::string& text) const {
  WriteFileAtomically(Path(name), text);
}

void RunState::Clear() const {
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(directory_)) {
    if (entry.path().filename() != kLock) old.push_back(entry.path());
  }
  // Remove the key first: without it, the remaining files are not taken for a state.
  fs::remove(Path(kKey));
  for (const fs::path& path : old) fs::remove_all(path);
}

void RunState::Remove() {
  Clear();
  fs::remove_all(directory_);
  lock_.reset();
}

void RunState::Discard() noexcept {
  std::error_code ignored;
  // Keep the lock until the end, because IsState recognises the directory by it.
  fs::remove(Path(kKey), ignored);
  fs::remove_all(directory_, ignored);
  lock_.reset();
}

}  // namespace graphd
