// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "tls/certificate.h"

// Functions that make certificates: one authority per server name, which signs the certificates of
// its servers and clients.

namespace graphd {

inline constexpr int kAuthorityDays = 3650, kCertificateDays = 365;

// Makes the authority of a server, which signs its own certificate.
KeyPair MakeAuthority(const std::string& server_name, int days = kAuthorityDays);
// Makes a key and a certificate, with the common name `name`, that is valid from a few minutes ago
// (clocks differ) for `days`; negative days make one that has expired. Throws Error(kInvalid) if
// `authority` is not an authority.
KeyPair Issue(const KeyPair& authority, CertificateKind kind, const std::string& name,
              int days = kCertificateDays);

}  // namespace graphd
