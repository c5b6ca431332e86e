// SPDX-License-Identifier: Apache-2.0
#include "store/share_record.h"

#include "base/strict_json.h"
#include "graph/id_json.h"

namespace graphd::store {

// Neither the number of the partition nor the tensor's name has a line feed, so different shares
// have different table names, even if a job id has line feeds.
std::string TableName(PartId part, const std::string& job_id, const std::string& name) {
  return StrCat(part, '\n', job_id, '\n', name);
}

std::string EncodeRecord(const ShareRecord& record) {
  return nlohmann::json({{"name", record.spec.name},
                         {"policy", static_cast<int>(record.spec.policy)},
                         {"type", record.spec.type},
                         {"rows", record.spec.rows},
                         {"writers", static_cast<int>(record.spec.writers)},
                         {"part", record.part},
                         {"num_parts", record.num_parts},
                         {"job", record.job_id},
                         {"holder", record.holder},
                         {"filled", record.filled},
                         {"loading", record.loading},
                         {"rows_of", record.rows_of},
                         {"owners", record.owners}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ShareRecord DecodeRecord(const TableSpec& table, const std::string& attributes) {
  try {
    const StrictJson json = StrictJson::parse(attributes);
    ShareRecord record;
    record.spec.name = json.at("name");
    record.spec.policy = Enumeration<TensorPolicy>(json.at("policy"), kTensorPolicies, "policy");
    record.spec.type = json.at("type");
    record.spec.rows = json.at("rows");
    record.spec.writers = Enumeration<TensorWriters>(json.at("writers"), kTensorWriters, "writers");
    record.spec.dtype = table.dtype;
    record.spec.row_shape = table.row_shape;
    record.spec.initializer = table.initializer;
    record.part = json.at("part").get<int32_t>();
    record.num_parts = json.at("num_parts");
    record.job_id = json.at("job");
    record.spec.persistent = record.job_id.empty();
    record.holder = json.at("holder");
    record.filled = json.at("filled");
    record.loading = json.value("loading", false);
    record.rows_of = json.value("rows_of", std::string());
    record.owners = json.value("owners", uint64_t{0});
    return record;
  } catch (const std::exception& error) {
    Throw(ErrorCode::kCorrupt, NamedTable(table.name),
          ": its description as a tensor is damaged: ", error.what());
  }
}

}  // namespace graphd::store
