// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/support/copy_folder.h"

#include <filesystem>
#include <system_error>

namespace graphd::fuzz {

void CopyFolder(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  for (;;) {
    std::error_code error;
    fs::remove_all(to, error);
    if (!error) fs::copy(from, to, fs::copy_options::recursive, error);
    if (!error) return;
    if (error != std::errc::interrupted) throw fs::filesystem_error("can't copy", from, to, error);
  }
}

}  // namespace graphd::fuzz
