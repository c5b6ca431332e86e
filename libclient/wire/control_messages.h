// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wire/control.capnp.h"

// The values that operators get from a daemon (wire/control.capnp). Plain values without threads.

namespace graphd {

// An option whose value in the configuration differs from the running one.
struct ChangedOption {
  std::string key;             // such as "peer_memory"
  std::string before, after;   // the running value, and that of the configuration
  bool needs_restart = false;  // false: it has been applied
  std::string place;           // FILE:LINE that sets it; empty if nothing does
};

// Convert a list of changes.
void WriteChanges(const std::vector<ChangedOption>& changes,
                  capnp::List<wire::ChangedOption>::Builder out);
std::vector<ChangedOption> ReadChanges(capnp::List<wire::ChangedOption>::Reader in);

}  // namespace graphd
