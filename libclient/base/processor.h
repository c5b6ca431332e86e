// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd {

// Features of this machine's processor that the build does not require. Initialised before main().
inline const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
inline const bool kHasAvx512 = __builtin_cpu_supports("avx512f") != 0 &&
                               __builtin_cpu_supports("avx512dq") != 0 &&
                               __builtin_cpu_supports("avx512vl") != 0;

}  // namespace graphd
