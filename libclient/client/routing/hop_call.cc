// SPDX-License-Identifier: Apache-2.0
#include "client/routing/hop_call.h"

#include "base/strings.h"
#include "client/routing/graph_access.h"
#include "sampling/rule_traits.h"

namespace graphd {
namespace {

void CheckSeedLength(size_t got, size_t seeds, const char* what, const std::string& ntype) {
  if (got != 0 && got != seeds) {
    Throw(ErrorCode::kInvalid, got, " ", what, " for ", seeds, " seeds of node type '", ntype, "'");
  }
}

}  // namespace

void CheckHop(const GraphAccess& access, const HopCall& call) {
  const Schema& schema = access.meta().schema;
  if (call.seeds.size() > Index(schema.num_ntypes())) {
    Throw(ErrorCode::kInvalid, "seeds of ", call.seeds.size(), " node types, the graph has ",
          schema.num_ntypes());
  }
  for (size_t t = 0; t < call.seeds.size(); t++) {
    const std::string& name = schema.ntype(static_cast<NodeTypeId>(t));
    const size_t count = call.seeds[t].ids.size();
    CheckSeedLength(call.seeds[t].streams.size(), count, "streams", name);
    CheckSeedLength(call.seeds[t].times.size(), count, "times", name);
    CheckSeedLength(call.seeds[t].real_times.size(), count, "times", name);
    for (int64_t stream : call.seeds[t].streams) {
      if (stream >= 0 && stream <= int64_t{UINT32_MAX}) continue;
      Throw(ErrorCode::kInvalid, "stream ", stream, " is outside 0..", UINT32_MAX);
    }
  }
  for (const SamplingRule& rule : call.rules) {
    access.CheckEtype(rule.etype);
    const std::vector<FeatureInfo>& features = access.features(rule.etype);
    CheckSamplingRule(schema, rule, features);
    if (!IsTemporal(rule.method)) continue;
    const NodeTypeId t = SeedType(schema, rule);
    if (Index(t) >= call.seeds.size() || call.seeds[Index(t)].ids.empty()) continue;
    const bool real = TakesRealTimes(schema, rule, features);
    if (real ? call.seeds[Index(t)].real_times.empty() : call.seeds[Index(t)].times.empty()) {
      Throw(ErrorCode::kInvalid, "the seeds of node type '", schema.ntype(t), "' have no times; '",
            rule.column, "' takes ", real ? "floating-point" : "whole", " ones");
    }
  }
  if (call.options.exclude.size() > Index(schema.num_etypes())) {
    Throw(ErrorCode::kInvalid, "excluded edges of ", call.options.exclude.size(),
          " edge types, the graph has ", schema.num_etypes());
  }
}

}  // namespace graphd
