// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace graphd {

// What this machine's processor has beyond what every build may use. Known before main begins.
inline const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;

}  // namespace graphd
