// SPDX-License-Identifier: Apache-2.0
// Lines have no fields for the place in the source, because it would always be in this file.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "daemon/logging/journal.h"

#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include <array>
#include <exception>

#include "base/strings.h"

namespace graphd {

bool SendToJournal(const std::string& server_name, LogLevel level, const std::string& text,
                   const LogFields& fields) noexcept {
  static constexpr int kPriorities[] = {7, 6, 4, 3};
  try {
    std::array<std::string, 6> all{StrCat("MESSAGE=", text),
                                   StrCat("PRIORITY=", kPriorities[static_cast<size_t>(level)]),
                                   StrCat("GRAPHD_SERVER=", server_name)};
    int count = 3;
    const auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) all[static_cast<size_t>(count++)] = StrCat(name, "=", value);
    };
    add("GRAPHD_JOB", fields.job);
    add("GRAPHD_PEER", fields.peer);
    add("GRAPHD_OP", fields.op);
    std::array<iovec, 6> parts{};
    for (size_t i = 0; i < all.size(); i++) parts[i] = {all[i].data(), all[i].size()};
    return ::sd_journal_sendv(parts.data(), count) == 0;
  } catch (const std::exception&) {  // no memory
    return false;
  }
}

}  // namespace graphd
