// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace graphd::ctl {

// A machine of `--trainer_hosts`, which serves no partition and runs trainers only.
struct TrainerHost {
  std::string address;              // name, IPv4 or IPv6 literal
  std::optional<int> num_trainers;  // second column: overrides --num_trainers for this host
  std::string where;                // for messages, such as "gpus.txt line 3"
};

// Parses the text of a file with a line `address [trainers]` for each machine. `where` is the path
// or another name of the file. Empty lines and lines that begin with '#' are skipped. Throws
// Error(kInvalid) with file, line, value and remedy, also for an address that occurs twice and for
// a file without an address.
std::vector<TrainerHost> ParseTrainerHosts(const std::string& text, const std::string& where);
// Reads and parses the file. Throws as ParseTrainerHosts does, and Error(kNotFound) if there is no
// such file.
std::vector<TrainerHost> ReadTrainerHosts(const std::string& path);

}  // namespace graphd::ctl
