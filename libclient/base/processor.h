// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd {

// Features of this machine's processor that the build does not require. Initialised before main().
inline const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;

}  // namespace graphd
