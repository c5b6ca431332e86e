// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "ctl/hosts/host_link.h"

namespace graphd::ctl {

// Returns a function that runs `graphctl supervise` on the hosts of a plan. On this machine, the
// supervisor is a child process and its program is `own_path`. On other hosts, it runs in a channel
// of a new ssh session and its program is `graphctl`.
LinkOpener LinksOverSsh(const std::string& own_path, const std::string& graphctl,
                        const SshOptions& options);

}  // namespace graphd::ctl
