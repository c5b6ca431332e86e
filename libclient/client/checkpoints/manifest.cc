// SPDX-License-Identifier: Apache-2.0
#include "client/checkpoints/manifest.h"

#include "base/strict_json.h"
#include "graph/tensor_rows.h"
#include "store/checkpoint/set.h"

namespace graphd {
namespace {

constexpr int kManifestFormat = 1;

std::string TypeName(const TensorSpec& spec, const Schema& schema) {
  if (spec.policy == TensorPolicy::kNode) return schema.ntype(spec.type);
  if (spec.policy == TensorPolicy::kEdge) return schema.etype(spec.type).ToString();
  return "";
}

int32_t TypeOf(TensorPolicy policy, const std::string& name, const Schema& schema) {
  if (policy == TensorPolicy::kRange) return 0;
  const bool is_edge = policy == TensorPolicy::kEdge;
  const int32_t count = is_edge ? schema.num_etypes() : schema.num_ntypes();
  for (int32_t type = 0; type < count; type++) {
    if ((is_edge ? schema.etype(type).ToString() : schema.ntype(type)) == name) return type;
  }
  return -1;
}

}  // namespace

std::string EncodeManifest(const Manifest& manifest, const Schema& schema) {
  const Checkpoint& checkpoint = manifest.checkpoint;
  nlohmann::json tensors = nlohmann::json::array();
  for (const CheckpointTensor& tensor : checkpoint.tensors) {
    const TensorSpec& spec = tensor.spec;
    tensors.push_back({{"name", spec.name},
                       {"policy", static_cast<int>(spec.policy)},
                       {"type", TypeName(spec, schema)},
                       {"rows", spec.rows},
                       {"dtype", DTypeName(spec.dtype)},
                       {"row_shape", spec.row_shape},
                       {"writers", static_cast<int>(spec.writers)},
                       {"state", static_cast<int>(tensor.state)},
                       {"initializer",
                        {{"kind", static_cast<int>(spec.initializer.kind)},
                         {"a", spec.initializer.a},
                         {"b", spec.initializer.b},
                         {"seed", spec.initializer.seed}}}});
  }
  return nlohmann::json({{"format", kManifestFormat},
                         {"name", checkpoint.name},
                         {"id", manifest.id},
                         {"graph", checkpoint.graph_name},
                         {"num_parts", checkpoint.num_parts},
                         {"created", checkpoint.created},
                         {"bytes", checkpoint.bytes},
                         {"tensors", tensors},
                         {"files", checkpoint.files}})
      .dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Manifest DecodeManifest(const std::string& text, const Schema& schema) {
  try {
    const StrictJson json = StrictJson::parse(text);
    if (json.at("format") != kManifestFormat) {
      Throw(ErrorCode::kVersion, "its format is ", json.at("format").dump(), ", not ",
            kManifestFormat);
    }
    Manifest manifest;
    manifest.id = json.at("id");
    Checkpoint& checkpoint = manifest.checkpoint;
    checkpoint.name = json.at("name");
    checkpoint.graph_name = json.at("graph");
    checkpoint.num_parts = json.at("num_parts");
    checkpoint.created = json.at("created");
    checkpoint.bytes = json.at("bytes");
    checkpoint.files = json.at("files").get<std::map<std::string, uint64_t>>();
    // The names become parts of paths. Daemons store a manifest as the client that made the
    // checkpoint has sent it, and may be false themselves.
    store::CheckCheckpointName(checkpoint.name);
    for (const auto& [file, bytes] : checkpoint.files) store::CheckKeptFileName(file);
    if (checkpoint.num_parts < 1) Throw(ErrorCode::kCorrupt, checkpoint.num_parts, " partitions");
    for (const StrictJson& each : json.at("tensors")) {
      const StrictJson& init = each.at("initializer");
      CheckpointTensor tensor;
      TensorSpec& spec = tensor.spec;
      spec.name = each.at("name");
      spec.persistent = true;
      spec.policy = Enumeration<TensorPolicy>(each.at("policy"), kTensorPolicies, "policy");
      spec.type = TypeOf(spec.policy, each.at("type"), schema);
      spec.rows = each.at("rows");
      spec.dtype = DTypeFromName(each.at("dtype"));
      spec.row_shape = each.at("row_shape").get<std::vector<int64_t>>();
      CheckRowShape(spec);
      spec.writers = Enumeration<TensorWriters>(each.at("writers"), kTensorWriters, "writers");
      spec.initializer = {Enumeration<InitKind>(init.at("kind"), kInitKinds, "initialiser"),
                          init.at("a"), init.at("b"), init.at("seed")};
      tensor.state = Enumeration<OptimizerState>(each.at("state"), kOptimizerStates, "state");
      checkpoint.tensors.push_back(std::move(tensor));
    }
    return manifest;
  } catch (const std::exception& error) {
    Throw(ErrorCode::kCorrupt, "the manifest of a checkpoint is damaged: ", error.what());
  }
}

}  // namespace graphd
