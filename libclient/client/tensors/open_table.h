// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "client/tensors/table_source.h"

// The functions that create, open, list and drop tensors, with the semantics of
// graphd/dist_tensor.h. Every tensor has a share in every partition, which may be empty. The share
// of partition 0 is created first and dropped last: its daemon decides which process fills a tensor
// with initial values, and knows which tensors exist.

namespace graphd {

// Creates or opens a tensor. `fill` may be null.
std::shared_ptr<TableSource> CreateTable(const std::shared_ptr<GraphAccess>& access,
                                         TensorSpec spec, const DistTensor::Fill* fill = nullptr);
std::shared_ptr<TableSource> OpenTable(const std::shared_ptr<GraphAccess>& access,
                                       const std::string& name);
std::vector<TensorInfo> ListTables(GraphAccess& access);
void DropTable(GraphAccess& access, const std::string& name);

}  // namespace graphd
