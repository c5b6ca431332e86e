// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "tls/certificate.h"

// Functions that make certificates: one authority per server name, which signs the certificates of
// its servers and clients.

namespace graphd {

inline constexpr int kAuthorityDays = 3650, kCertificateDays = 365;

// Makes the authority of a server. Its certificate is signed with its own key.
KeyPair MakeAuthority(const std::string& server_name, int days = kAuthorityDays);
// Makes a key and a certificate with the common name `name`. The certificate is valid from a few
// minutes ago (because clocks differ) for `days`; with negative days, it has expired already.
// Throws Error(kInvalid) if `authority` is not an authority.
KeyPair Issue(const KeyPair& authority, CertificateKind kind, const std::string& name,
              int days = kCertificateDays);

}  // namespace graphd
