// SPDX-License-Identifier: Apache-2.0
#include "format/input/ogb_hetero.h"

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/strings.h"
#include "format/input/ogb_files.h"
#include "format/io/csv_reader.h"

namespace graphd {
namespace {

std::vector<std::string> Cells(const CsvReader& csv) {
  std::vector<std::string> cells;
  for (const std::string& cell : Split(csv.row(), ',')) cells.emplace_back(Trim(cell));
  return cells;
}

// Reads a line of names and a line of their values.
std::vector<std::pair<std::string, std::string>> ReadPairs(CsvReader& csv) {
  if (!csv.NextRow()) csv.Fail("the file is empty, expected a line of node types");
  const std::vector<std::string> names = Cells(csv);
  if (!csv.NextRow())
    csv.Fail("the file ends after its first line, expected a value for each type");
  const std::vector<std::string> values = Cells(csv);
  if (names.size() != values.size()) {
    csv.Fail(values.size(), " values, expected ", names.size(), ", one per type");
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < names.size(); i++) {
    if (names[i].empty() || names[i].find('/') != names[i].npos) {
      csv.Fail("'", names[i], "' is not a valid name of a node type");
    }
    pairs.emplace_back(names[i], values[i]);
  }
  if (csv.NextRow()) csv.Fail("a third line; only data sets of one graph can be partitioned");
  return pairs;
}

// Returns the types for which directory/base says True or False. Empty if the file does not exist.
std::map<std::string, bool> ReadFlags(const std::string& directory, const std::string& base,
                                      const Schema& schema) {
  std::map<std::string, bool> flags;
  const auto path = FindOgbCsv(directory, base);
  if (!path) return flags;
  CsvReader csv(*path);
  for (const auto& [name, value] : ReadPairs(csv)) {
    if (value != "True" && value != "False") {
      csv.Fail("'", value.substr(0, 40), "' for node type '", name, "', expected True or False");
    }
    try {
      schema.NodeTypeIdOf(name);
    } catch (const Error& error) {
      csv.Fail(error.what());
    }
    flags[name] = value == "True";
  }
  return flags;
}

Schema ReadSchema(const std::string& raw, std::vector<RawNodes>& nodes) {
  std::vector<std::string> ntypes;
  {
    CsvReader csv(RequireOgbCsv(raw, "num-node-dict"));
    for (const auto& [name, value] : ReadPairs(csv)) {
      ntypes.push_back(name);
      nodes.emplace_back();
      try {
        nodes.back().count = ParseInt(value, "number of nodes", 0, kMaxRawCount);
      } catch (const Error& error) {
        csv.Fail(error.what());
      }
    }
  }
  std::vector<CanonicalEdgeType> etypes;
  CsvReader csv(RequireOgbCsv(raw, "triplet-list"));
  while (csv.NextRow()) {
    const std::vector<std::string> cells = Cells(csv);
    if (cells.size() != 3) csv.Fail(cells.size(), " columns, expected source,relation,destination");
    for (const std::string& cell : cells) {
      if (cell.empty() || cell.find('/') != cell.npos)
        csv.Fail("'", cell, "' is not a valid name of a type");
    }
    etypes.push_back({cells[0], cells[1], cells[2]});
  }
  if (etypes.empty()) csv.Fail("the file is empty, expected a line for each edge type");
  try {
    return Schema(std::move(ntypes), std::move(etypes));
  } catch (const Error& error) {
    csv.Fail(error.what());
  }
}

// Reads raw/<folder>/<type> for each node type that has it.
void ReadNodeFolder(const std::string& raw, const std::string& folder, const std::string& flag_file,
                    const OgbRawOptions& options, RawGraph& graph) {
  const std::map<std::string, bool> flags = ReadFlags(raw, flag_file, graph.schema);
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    const std::string& type = graph.schema.ntype(t);
    const auto flag = flags.find(type);
    const bool known = flag != flags.end();
    if (known && !flag->second) continue;
    const std::string directory = JoinPath(JoinPath(raw, folder), type);
    if (!std::filesystem::is_directory(directory)) {
      if (!known) continue;
      Throw(ErrorCode::kNotFound, directory, " does not exist, but ", flag_file, " has True for '",
            type, "'");
    }
    RawNodes& nodes = graph.nodes[static_cast<size_t>(t)];
    ReadOgbFeatures(directory, "node", nodes.count, options.progress, nodes.features,
                    options.spill);
  }
}

void ReadSplit(const std::string& split, RawGraph& graph) {
  const std::map<std::string, bool> flags = ReadFlags(split, "nodetype-has-split", graph.schema);
  for (NodeTypeId t = 0; t < graph.schema.num_ntypes(); t++) {
    const std::string& type = graph.schema.ntype(t);
    const auto flag = flags.find(type);
    const std::string directory = JoinPath(split, type);
    const bool wanted =
        flag == flags.end() ? std::filesystem::is_directory(directory) : flag->second;
    if (!wanted) continue;
    RawNodes& nodes = graph.nodes[static_cast<size_t>(t)];
    ReadOgbMasks(directory, nodes.count, nodes.features);
  }
}

}  // namespace

RawGraph ReadOgbHetero(const std::string& directory, const OgbRawOptions& options) {
  const std::string raw = JoinPath(directory, "raw");
  RawGraph graph;
  graph.schema = ReadSchema(raw, graph.nodes);
  for (EdgeTypeId e = 0; e < graph.schema.num_etypes(); e++) {
    const CanonicalEdgeType& type = graph.schema.etype(e);
    const std::string relation =
        JoinPath(raw, "relations/" + type.src + "___" + type.rel + "___" + type.dst);
    const int64_t count = ReadOgbCount(relation, "num-edge-list");
    RawEdges& edges = graph.edges.emplace_back();
    ReadOgbEdges(relation, graph.nodes[static_cast<size_t>(graph.schema.src_type(e))].count,
                 graph.nodes[static_cast<size_t>(graph.schema.dst_type(e))].count, count,
                 options.progress, edges, options.spill);
    ReadOgbFeatures(relation, "edge", count, options.progress, edges.features, options.spill);
  }
  ReadNodeFolder(raw, "node-feat", "nodetype-has-feat", options, graph);
  ReadNodeFolder(raw, "node-label", "nodetype-has-label", options, graph);
  if (const auto split = ChooseOgbSplit(directory, options.split)) ReadSplit(*split, graph);
  return graph;
}

}  // namespace graphd
