// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"
#include "tls/key_directory.h"

namespace graphd::ctl {

// Return the files that a machine gets, in the order in which they must be written: those of a
// daemon and its owner's jobs, and of the client `name`, with the list of revoked certificates
// unless it comes later; and that list alone.
// A machine of daemons also gets the shared secret, and nothing else if there are no certificates.
// A machine that only computes gets the same without the key of the daemons.
// The authority's private key is in none of them. Throw Error(kNotFound) for missing keys.
std::vector<KeyFile> KeysOfHost(const KeyDirectory& keys, bool with_revoked = true);
std::vector<KeyFile> KeysOfTrainerHost(const KeyDirectory& keys, bool with_revoked = true);
std::vector<KeyFile> KeysOfClient(const KeyDirectory& keys, const std::string& name);
std::vector<KeyFile> RevokedAlone(const KeyDirectory& keys);

// Writes files that another machine has sent into the directory. Throws Error(kInvalid) for a file
// that does not belong there, and Error(kExists) if the directory has keys of its own authority.
void InstallKeys(const KeyDirectory& keys, const std::vector<KeyFile>& files);

}  // namespace graphd::ctl
