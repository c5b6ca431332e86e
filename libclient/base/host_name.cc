// SPDX-License-Identifier: Apache-2.0
#include "base/host_name.h"

#include <unistd.h>
#include <climits>

namespace graphd {

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace graphd
