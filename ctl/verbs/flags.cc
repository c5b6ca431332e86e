// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/flags.h"

#include <algorithm>

namespace graphd::ctl {

std::string Flags(const std::string& name_with_underscores) {
  std::string dashed = name_with_underscores;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  const std::string flag = "--" + name_with_underscores;
  return dashed == name_with_underscores ? flag : flag + ",--" + dashed;
}

}  // namespace graphd::ctl
