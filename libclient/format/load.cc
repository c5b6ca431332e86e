// SPDX-License-Identifier: Apache-2.0
#include "format/load.h"

#include "base/strings.h"
#include "format/dgl/import.h"
#include "format/native/reader.h"

namespace graphd {
namespace {

void CheckPart(const PartConfig& config, PartId part) {
  if (part < 0 || static_cast<size_t>(part) >= config.parts.size()) {
    Throw(ErrorCode::kNotFound, config.path, ": no partition ", part, "; there are 0..",
          config.parts.size() - 1);
  }
}

}  // namespace

uint64_t EstimatePartitionBytes(const PartConfig& config, PartId part) {
  CheckPart(config, part);
  if (config.format == PartFormat::kNative) return EstimateNativeBytes(config, part);
  return EstimateDglBytes(config, part);
}

std::shared_ptr<const Partition> LoadPartition(const PartConfig& config, PartId part,
                                               const LoadOptions& options) {
  CheckPart(config, part);
  if (config.format == PartFormat::kNative) return LoadNativePartition(config, part, options);
  return LoadDglPartition(config, part, options);
}

}  // namespace graphd
