// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/file_source.h"

#include <utility>

namespace graphd::ctl {

bool FileSource::Read(std::vector<LogRecord>& out) {
  const std::string lines = tail_.Next();
  records_.Feed(lines, out);
  if (!lines.empty()) return false;
  if (auto last = records_.Finish()) out.push_back(*std::move(last));
  return true;
}

}  // namespace graphd::ctl
