// SPDX-License-Identifier: Apache-2.0
#include "wire/loading_file.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr size_t kMaxBytes = 4096;

// Returns whether a process with this number is running and can be the daemon. The program is
// checked, because after a kill -9, another program may have got the number.
bool Lives(int64_t pid) {
  if (pid <= 0 || pid > std::numeric_limits<pid_t>::max()) return false;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM) return false;
  std::ifstream file(StrCat("/proc/", pid, "/comm"));
  std::string name;
  return !std::getline(file, name) || name == "graphd";
}

}  // namespace

int LoadingState::percent() const {
  if (total == 0) return 0;
  return static_cast<int>(100.0 * static_cast<double>(std::min(done, total)) /
                          static_cast<double>(total));
}

std::string LoadingFilePath(const std::string& socket) {
  constexpr std::string_view kSuffix = ".sock";
  std::string path = socket;
  if (path.ends_with(kSuffix)) path.resize(path.size() - kSuffix.size());
  return path + ".loading";
}

void WriteLoadingFile(const std::string& path, const LoadingState& state) noexcept {
  try {
    const nlohmann::json json = {{"server_name", state.server_name},
                                 {"pid", state.pid},
                                 {"done", state.done},
                                 {"total", state.total}};
    WriteFileAtomically(path, json.dump() + "\n");
  } catch (const std::exception&) {
    // The daemon loads without the file.
  }
}

std::optional<LoadingState> ReadLoadingFile(const std::string& path) noexcept {
  try {
    if (!FileExists(path)) return std::nullopt;
    const auto json = nlohmann::json::parse(ReadTextFile(path, kMaxBytes));
    LoadingState state;
    for (const char* key : {"pid", "done", "total"}) {
      if (!json.at(key).is_number_unsigned()) return std::nullopt;
    }
    json.at("server_name").get_to(state.server_name);
    json.at("pid").get_to(state.pid);
    json.at("done").get_to(state.done);
    json.at("total").get_to(state.total);
    if (!Lives(state.pid)) return std::nullopt;
    return state;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace graphd
