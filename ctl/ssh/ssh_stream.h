// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ctl/hosts/host_stream.h"

namespace graphd::ctl {

// Opens a channel of a new ssh session on `address` and runs `graphctl verb` there. `cancelled` is
// polled while the connection is being made; once it returns true, Error(kUnavailable) is thrown.
std::unique_ptr<HostStream> OpenSshStream(const std::string& address, const std::string& graphctl,
                                          const std::string& verb, const SshOptions& options,
                                          const std::function<bool()>& cancelled);

}  // namespace graphd::ctl
