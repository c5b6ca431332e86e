// SPDX-License-Identifier: Apache-2.0
#include "client/machine_role.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {

MachineRole ParseMachineRole(const std::string& text, const std::string& what) {
  if (text.empty() || text == "host") return MachineRole::kHost;
  if (text == "trainer") return MachineRole::kTrainer;
  Throw(ErrorCode::kInvalid, what, " '", text,
        "': use host, on a machine that ip_config names, or ",
        "trainer, on one that only computes");
}

void CheckMachineRole(const Options& options, const std::vector<DaemonAddress>& daemons) {
  // A user who chooses a transport knows which daemons it reaches.
  if (options.role == MachineRole::kTrainer || options.transport != Transport::kAuto) return;
  std::vector<std::string> names;
  for (const DaemonAddress& daemon : daemons) {
    if (std::ranges::find(names, daemon.address) == names.end()) names.push_back(daemon.address);
  }
  if (std::ranges::any_of(names, IsLocalAddress)) return;
  if (!std::ranges::all_of(names, IsKnownAddress)) return;
  constexpr size_t kMostNames = 4;
  if (names.size() > kMostNames) {
    names.resize(kMostNames);
    names.emplace_back("...");
  }
  Throw(ErrorCode::kInvalid, options.ip_config, " names ", Join(names, ", "),
        ", and none of these addresses belongs to this machine; correct the file or, if this ",
        "machine serves no partition and only computes, set GRAPHD_ROLE=trainer, as `graphctl ",
        "launch --trainer_hosts` does, or give role=\"trainer\"");
}

}  // namespace graphd
