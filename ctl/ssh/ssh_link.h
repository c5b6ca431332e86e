// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "ctl/hosts/host_link.h"

namespace graphd::ctl {

// Opens a channel of a new ssh session on `address` and runs `graphctl supervise` there. `queue`
// must outlive the link.
std::unique_ptr<HostLink> OpenSshLink(size_t host, const std::string& address,
                                      const std::string& graphctl, const SshOptions& options,
                                      EventQueue& queue);

}  // namespace graphd::ctl
