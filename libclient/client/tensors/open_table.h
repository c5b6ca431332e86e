// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "client/tensors/table_source.h"

// Making, opening, listing and dropping tensors: what graphd/dist_tensor.h promises under these
// names. Every tensor has a share in every partition, if an empty one, and partition 0's is made
// first and dropped last: its daemon decides who fills a tensor, and knows which there are.

namespace graphd {

// `fill` may be null.
std::shared_ptr<TableSource> CreateTable(const std::shared_ptr<GraphAccess>& access,
                                         TensorSpec spec, const DistTensor::Fill* fill = nullptr);
std::shared_ptr<TableSource> OpenTable(const std::shared_ptr<GraphAccess>& access,
                                       const std::string& name);
std::vector<TensorInfo> ListTables(GraphAccess& access);
void DropTable(GraphAccess& access, const std::string& name);

}  // namespace graphd
