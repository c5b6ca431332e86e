// SPDX-License-Identifier: Apache-2.0
#include "store/rows/table_spec.h"

#include "base/strict_json.h"
#include "graph/array_shape.h"
#include "store/rows/initializer.h"

namespace graphd::store {

size_t TableSpec::row_elements() const noexcept {
  size_t elements = 1;
  for (const int64_t extent : row_shape) elements *= static_cast<size_t>(extent);
  return elements;
}

void TableSpec::Check() const {
  if (name.empty() || name.size() > 1000) {
    Throw(ErrorCode::kInvalid, "a table's name has 1 to 1000 bytes, not ", name.size());
  }
  if (rows < 0) Throw(ErrorCode::kInvalid, NamedTable(name), " can't have ", rows, " rows");
  if (first_id < -1) Throw(ErrorCode::kInvalid, NamedTable(name), ": first id ", first_id);
  if (row_shape.size() > 8) {
    Throw(ErrorCode::kInvalid, NamedTable(name), ": at most 8 extents, not ", row_shape.size());
  }
  if (ArrayBytes(dtype, row_shape, uint64_t{1} << 24).value_or(0) == 0) {
    Throw(ErrorCode::kInvalid, NamedTable(name),
          ": a row's dimensions must be positive and a row at most 16 MiB");
  }
  if (state != OptimizerState::kNone && dtype != DType::kFloat32) {
    Throw(ErrorCode::kInvalid, NamedTable(name), ": optimisers are for float32, not ",
          DTypeName(dtype));
  }
  CheckInitializer(initializer, dtype);
}

std::string NamedTable(const std::string& name) {
  return StrCat("table '", name.substr(name.rfind('\n') + 1), "'");
}

std::string EncodeSpec(const TableSpec& spec) {
  const nlohmann::json json = {{"name", spec.name},
                               {"dtype", DTypeName(spec.dtype)},
                               {"row_shape", spec.row_shape},
                               {"rows", spec.rows},
                               {"first_id", spec.first_id},
                               {"state", static_cast<int>(spec.state)},
                               {"attributes", spec.attributes},
                               {"initializer",
                                {{"kind", static_cast<int>(spec.initializer.kind)},
                                 {"a", spec.initializer.a},
                                 {"b", spec.initializer.b},
                                 {"seed", spec.initializer.seed}}}};
  return json.dump();
}

TableSpec DecodeSpec(const std::string& text) {
  try {
    const StrictJson json = StrictJson::parse(text);
    const StrictJson& init = json.at("initializer");
    TableSpec spec;
    spec.name = json.at("name");
    spec.dtype = DTypeFromName(json.at("dtype"));
    spec.row_shape = json.at("row_shape").get<std::vector<int64_t>>();
    spec.rows = json.at("rows");
    spec.first_id = json.at("first_id");
    spec.attributes = json.value("attributes", "");
    const int state = json.at("state");
    const int kind = init.at("kind");
    if (state < 0 || state >= kOptimizerStates || kind < 0 || kind >= kInitKinds) {
      Throw(ErrorCode::kCorrupt, "unknown optimiser state ", state, " or initialiser kind ", kind);
    }
    spec.state = static_cast<OptimizerState>(state);
    spec.initializer = {static_cast<InitKind>(kind), init.at("a"), init.at("b"), init.at("seed")};
    spec.Check();
    return spec;
  } catch (const std::exception& error) {
    Throw(ErrorCode::kCorrupt, "the description of a table is damaged: ", error.what());
  }
}

}  // namespace graphd::store
