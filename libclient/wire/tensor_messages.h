// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "graph/tensor_share.h"
#include "graph/update_rule.h"
#include "wire/graphd.capnp.h"

// Conversions of distributed tensors, and of the update rules of pushes, to and from messages.
// Enumeration values from a peer are not checked here; the caller checks them (CheckTensorSpec,
// store::CheckRule).

namespace graphd {

void WriteTensorSpec(const TensorSpec& spec, wire::TensorSpec::Builder out);
TensorSpec ReadTensorSpec(wire::TensorSpec::Reader in);
void WriteShare(const TensorShare& share, wire::TensorInfo::Builder out);
TensorShare ReadShare(wire::TensorInfo::Reader in);
void WriteUpdateRule(const UpdateRule& rule, wire::UpdateRule::Builder out);
UpdateRule ReadUpdateRule(wire::UpdateRule::Reader in);
void WriteStoreStatus(const StoreStatus& status, wire::StoreStatus::Builder out);
StoreStatus ReadStoreStatus(wire::StoreStatus::Reader in);

}  // namespace graphd
