// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "daemon/metrics/families.h"

namespace graphd {

// Adds the metrics of this process, under the names that all of Prometheus's client libraries use,
// and those of the daemon's version. Metrics that can't be read from /proc are left out.
void AddProcessMetrics(FamilyBuilder& to);

}  // namespace graphd
