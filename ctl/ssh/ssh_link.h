// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "ctl/hosts/host_link.h"

namespace graphd::ctl {

// Returns a function that runs `graphctl supervise` on the hosts of a plan: as a child process on
// this machine, where the program is `own_path`, and in a channel of a new ssh session on others,
// where it is `graphctl`.
LinkOpener LinksOverSsh(const std::string& own_path, const std::string& graphctl,
                        const SshOptions& options);

}  // namespace graphd::ctl
