// SPDX-License-Identifier: Apache-2.0
#include "daemon/load_progress.h"

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "wire/loading_file.h"

namespace graphd {

LoadProgress::LoadProgress(std::string server_name, const std::string& socket)
    : server_name_(std::move(server_name)), path_(LoadingFilePath(socket)) {
  Tell();
}

LoadProgress::~LoadProgress() { ::unlink(path_.c_str()); }

void LoadProgress::Set(uint64_t done, uint64_t total) noexcept {
  total_ = total;
  done_ = std::min(done, total);
}

void LoadProgress::Tell() {
  const auto now = bytes();
  if (told_ == now) return;
  told_ = now;
  const LoadingState state{server_name_, ::getpid(), now.first, now.second};
  // Loading goes on even if the file can't be written.
  WriteLoadingFile(path_, state);
  const std::string text =
      state.total == 0 ? "loading"
                       : StrCat("loading: ", state.percent(), " % of ", HumanBytes(state.total));
  // A large graph takes longer to load than systemd waits by default.
  sd_notifyf(0, "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=%s", text.c_str());
}

}  // namespace graphd
