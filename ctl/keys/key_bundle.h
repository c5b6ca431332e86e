// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ctl/plan/host_order.h"
#include "tls/key_directory.h"

namespace graphd::ctl {

// Return the files that a machine gets, in the order in which they must be written. KeysOfHost
// returns the keys of a daemon and of the jobs that its owner launches, and the shared secret if
// there is one. If there are no certificates, it returns only the secret. KeysOfTrainerHost is for
// a machine that runs trainers only, and leaves out the daemon's key. KeysOfClient returns the keys
// of the client `name`. All three include the list of revoked certificates, unless `with_revoked`
// is false because the list is sent later. RevokedAlone returns only that list. The authority's
// private key is never among the files. Throw Error(kNotFound) for missing keys.
std::vector<KeyFile> KeysOfHost(const KeyDirectory& keys, bool with_revoked = true);
std::vector<KeyFile> KeysOfTrainerHost(const KeyDirectory& keys, bool with_revoked = true);
std::vector<KeyFile> KeysOfClient(const KeyDirectory& keys, const std::string& name);
std::vector<KeyFile> RevokedAlone(const KeyDirectory& keys);

// Writes files that another machine has sent into the directory. Certificates that are revoked
// there stay revoked, even if the list that was sent lacks them. Throws Error(kInvalid) for a file
// that does not belong there, and Error(kExists) if the directory has the private key of another
// authority.
void InstallKeys(const KeyDirectory& keys, const std::vector<KeyFile>& files);

}  // namespace graphd::ctl
