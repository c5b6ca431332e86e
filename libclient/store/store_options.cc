// SPDX-License-Identifier: Apache-2.0
#include "store/store_options.h"

#include "base/strings.h"

namespace graphd::store {

const char* DurabilityName(Durability durability) noexcept {
  switch (durability) {
    case Durability::kNone:
      return "none";
    case Durability::kProcess:
      return "process";
    case Durability::kPower:
      return "power";
  }
  return "?";
}

Durability DurabilityFromName(const std::string& name) {
  for (const Durability each : {Durability::kNone, Durability::kProcess, Durability::kPower}) {
    if (name == DurabilityName(each)) return each;
  }
  Throw(ErrorCode::kInvalid, "durability is none, process or power, not '", name, "'");
}

}  // namespace graphd::store
