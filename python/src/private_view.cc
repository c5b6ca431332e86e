// SPDX-License-Identifier: Apache-2.0
#include "private_view.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/huge_pages.h"
#include "base/strings.h"

namespace graphd::python {
namespace {

std::shared_ptr<std::byte> MapPrivately(const Segment& segment) {
  // Descriptors on hugetlbfs map whole huge pages.
  const size_t unit = segment.pages().most() == PageKind::kHugetlb ? kHugePage : 1;
  const size_t size = (segment.size() + unit - 1) / unit * unit;
  // Huge pages are reserved for the copies, since a shortage would raise a signal at the write.
  const int flags = MAP_PRIVATE | (unit == 1 ? MAP_NORESERVE : 0);
  std::byte* at = MapAligned(segment.fd(), size, PROT_READ | PROT_WRITE, flags);
  if (at == nullptr) {
    Throw(ErrorCode::kIo, "can't map ", size, " bytes of features: ", std::strerror(errno),
          "; read the rows by id instead");
  }
  return {at, [size](std::byte* mapped) { ::munmap(mapped, size); }};
}

}  // namespace

Tensor PrivateFeature(const Partition& partition, bool is_edge, int32_t type,
                      const std::string& name) {
  const FeatureTable& table =
      is_edge ? partition.edge_feature(type, name) : partition.node_feature(type, name);
  if (!table.encoding().is_plain()) return table.ReadAll();
  const Tensor& rows = table.stored();
  const std::string array =
      is_edge ? Partition::EdgeFeatureName(type, name) : Partition::NodeFeatureName(type, name);
  for (const auto& segment : partition.segments()) {
    if (const ArraySpec* spec = segment->layout().Find(array)) {
      if (rows.num_bytes() == 0) return Tensor::Empty(rows.dtype(), rows.shape());
      const auto base = MapPrivately(*segment);
      return Tensor(rows.dtype(), rows.shape(), base.get() + spec->offset, base);
    }
  }
  Throw(ErrorCode::kInternal, "feature '", name, "' is in no segment");
}

}  // namespace graphd::python
