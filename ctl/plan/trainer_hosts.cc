// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/trainer_hosts.h"

#include <map>

#include "base/file.h"
#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr int kMostTrainers = 4096;

int ParseNumber(const std::string& text, const std::string& at) {
  try {
    return static_cast<int>(ParseInt(text, at + ": trainers", 1, kMostTrainers));
  } catch (const Error& error) {
    Throw(ErrorCode::kInvalid, error.what(),
          "; the second column is the number of trainers, because no server has a port there");
  }
}

}  // namespace

std::vector<TrainerHost> ParseTrainerHosts(const std::string& text, const std::string& where) {
  std::vector<TrainerHost> hosts;
  std::map<std::string, std::string> lines;  // each address with the line that names it
  ForEachHost(
      text, where, 2, "address [trainers]", [&](const auto& columns, const std::string& at) {
        TrainerHost host{columns[0], std::nullopt, at};
        if (columns.size() > 1) host.num_trainers = ParseNumber(columns[1], at);
        const auto [named, is_new] = lines.emplace(host.address, at);
        if (!is_new) {
          Throw(ErrorCode::kInvalid, at, ": '", host.address, "' is that of ", named->second,
                "; write each host once, with the number of its trainers in the second column");
        }
        hosts.push_back(std::move(host));
      });
  if (hosts.empty()) {
    Throw(ErrorCode::kInvalid, where,
          " names no host; write one 'address [trainers]' per line, or ",
          "leave out --trainer_hosts");
  }
  return hosts;
}

std::vector<TrainerHost> ReadTrainerHosts(const std::string& path) {
  if (!FileExists(path)) {
    Throw(ErrorCode::kNotFound, "--trainer_hosts ", path,
          " can't be found; give the path of a file with a line 'address [trainers]' per host");
  }
  return ParseTrainerHosts(ReadTextFile(path, size_t{1} << 20), path);
}

}  // namespace graphd::ctl
