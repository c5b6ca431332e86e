// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "graph/tensor_share.h"
#include "graph/update_rule.h"
#include "wire/graphd.capnp.h"

// Conversions of distributed tensors, and of the update rules of pushes, to and from messages.
// Enumeration values from a peer are not checked here; the caller checks them (CheckTensorSpec,
// store::CheckRule).

namespace graphd {

void WriteTensorSpec(const TensorSpec& spec, wire::TensorSpec::Builder out);
// Throws Error(kVersion) if the spec has a value that this version does not know.
TensorSpec ReadTensorSpec(wire::TensorSpec::Reader in);
void WriteShare(const TensorShare& share, wire::TensorInfo::Builder out);
TensorShare ReadShare(wire::TensorInfo::Reader in);  // throws as ReadTensorSpec does
// Reads a list. Warns of a share that has a value which this version does not know, and leaves it
// out, so that one tensor of a later version does not hide all others.
std::vector<TensorShare> ReadShares(capnp::List<wire::TensorInfo>::Reader in);
void WriteUpdateRule(const UpdateRule& rule, wire::UpdateRule::Builder out);
UpdateRule ReadUpdateRule(wire::UpdateRule::Reader in);
void WriteStoreStatus(const StoreStatus& status, wire::StoreStatus::Builder out);
StoreStatus ReadStoreStatus(wire::StoreStatus::Reader in);

}  // namespace graphd
