// SPDX-License-Identifier: Apache-2.0
// Debian's libssh can authenticate by GSSAPI, which graphctl does not use: it authenticates by
// keys. These symbols let libssh be linked without a Kerberos library. Each function reports that
// it is not available.
#include <stdint.h>

#pragma GCC visibility push(hidden)

static uint32_t Unavailable(uint32_t* minor_status) {
  *minor_status = 0;
  return UINT32_C(16) << 16;  // GSS_S_UNAVAILABLE
}

#define UNAVAILABLE(name) uint32_t name(uint32_t*) __attribute__((alias("Unavailable")))
UNAVAILABLE(gss_accept_sec_context);
UNAVAILABLE(gss_acquire_cred);
UNAVAILABLE(gss_add_oid_set_member);
UNAVAILABLE(gss_create_empty_oid_set);
UNAVAILABLE(gss_display_name);
UNAVAILABLE(gss_display_status);
UNAVAILABLE(gss_get_mic);
UNAVAILABLE(gss_import_name);
UNAVAILABLE(gss_indicate_mechs);
UNAVAILABLE(gss_init_sec_context);
UNAVAILABLE(gss_inquire_cred);
UNAVAILABLE(gss_inquire_cred_by_mech);
UNAVAILABLE(gss_release_buffer);
UNAVAILABLE(gss_release_cred);
UNAVAILABLE(gss_release_name);
UNAVAILABLE(gss_release_oid_set);
UNAVAILABLE(gss_test_oid_set_member);
UNAVAILABLE(gss_verify_mic);
void* GSS_C_NT_HOSTBASED_SERVICE;
void* GSS_C_NT_USER_NAME;
