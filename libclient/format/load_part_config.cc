// SPDX-License-Identifier: Apache-2.0
#include "format/load_part_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/strings.h"
#include "format/dgl/relations.h"
#include "format/io/byte_reader.h"
#include "format/io/json_field.h"
#include "format/io/npy_file.h"

namespace graphd {
namespace {

using Range = IdMap::Range;

// Limits the number of types, because Schema looks names up one by one; a file with more is
// damaged.
constexpr size_t kMaxTypes = 4096;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string FirstThatExists(const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    if (FileExists(candidate)) return candidate;
  }
  return candidates.front();
}

// Returns the type names by id: {"a": 1, "b": 0} -> b, a.
std::vector<std::string> TypeNames(const JsonField& root, const char* key, const char* absent) {
  if (!root.Has(key)) return {absent};
  const JsonField types = root[key];
  const std::vector<std::string> keys = types.keys();
  if (keys.empty() || keys.size() > kMaxTypes) types.Fail(StrCat("1 to ", kMaxTypes, " types"));
  std::vector<std::string> names(keys.size());
  for (const std::string& name : keys) {
    const JsonField field = types[name];
    std::string& slot = names[static_cast<size_t>(field.Int(0, std::ssize(keys) - 1))];
    if (!slot.empty()) field.Fail("an id that no other type has");
    if (name.empty()) field.Fail("a name that is not empty");
    slot = name;
  }
  return names;
}

// Reads one type's ranges: [[begin, end], ...] or [end, ...].
std::vector<Range> ReadRanges(const JsonField& list, size_t num_parts) {
  if (list.size() != num_parts) list.Fail(StrCat("one range per partition (", num_parts, ")"));
  std::vector<Range> ranges(num_parts);
  int64_t end_before = 0;
  for (size_t p = 0; p < num_parts; p++) {
    const JsonField field = list[p];
    if (field.is_array()) {
      if (field.size() != 2) field.Fail("[begin, end]");
      ranges[p].begin = field[0].Int(0, INT64_MAX);
      ranges[p].end = field[1].Int(ranges[p].begin, INT64_MAX);
    } else {
      ranges[p] = {end_before, field.Int(end_before, INT64_MAX)};
    }
    end_before = ranges[p].end;
  }
  return ranges;
}

// Returns the member of a map for type `name`. Edge types may be written in full in one place and
// as a bare relation in another.
JsonField FindType(const JsonField& map, const std::string& name) {
  if (map.Has(name)) return map[name];
  const std::vector<std::string> pieces = Split(name, ':');
  if (pieces.size() == 3 && map.Has(pieces[1])) return map[pieces[1]];
  return map[name];
}

IdMap ReadOwners(const char* what, const JsonField& field, int32_t num_parts) {
  const std::string named = field.String();
  const std::string path = FindMapFile(field.file(), named);
  if (!FileExists(path)) {
    Throw(ErrorCode::kNotFound, field.file(), ": ", field.name(), " is ", named,
          ", expected that file, or ", JoinPath(DirName(field.file()), BaseName(named)));
  }
  const NpyFile file(path);
  if (file.shape().size() != 1 || !IsInteger(file.dtype())) {
    Throw(ErrorCode::kCorrupt, file.path(), ": holds ", DTypeName(file.dtype()), " in ",
          file.shape().size(), " dimensions, expected whole numbers in one");
  }
  std::vector<int32_t> owner(static_cast<size_t>(file.num_elements()));
  VisitIntegers(file.dtype(), file.data(), [&](auto ids) {
    for (size_t i = 0; i < ids.size(); i++) {
      if (!std::in_range<int32_t>(ids[i])) {
        Throw(ErrorCode::kCorrupt, file.path(), ": element ", i, " is ", +ids[i],
              ", expected a partition in 0..", num_parts - 1);
      }
      owner[i] = static_cast<int32_t>(ids[i]);
    }
  });
  return IdMap::FromOwners(what, std::move(owner), num_parts);
}

IdMap ReadMap(const char* what, const JsonField& root, const std::vector<std::string>& types,
              int32_t num_parts) {
  const std::string key = std::string(what) + "_map";
  const JsonField map = root[key];
  if (!map.is_object() && types.size() != 1) {
    map.Fail(StrCat("an object with the ", types.size(), " ", what, " types"));
  }
  IdMap ids;
  try {
    if (map.is_string()) {
      ids = ReadOwners(what, map, num_parts);
    } else {
      std::vector<std::vector<Range>> ranges;
      for (const std::string& type : types) {
        const JsonField list = map.is_object() ? FindType(map, type) : map;
        ranges.push_back(ReadRanges(list, static_cast<size_t>(num_parts)));
      }
      if (map.is_object() && map.keys().size() != types.size()) {
        map.Fail(StrCat("exactly the ", types.size(), " ", what, " types"));
      }
      ids = IdMap::FromRanges(what, std::move(ranges));
    }
  } catch (const Error& error) {
    if (std::string(error.what()).rfind(what, 0) != 0) throw;
    Throw(error.code(), root.file(), ": ", error.what());  // IdMap does not know the file
  }
  const JsonField total = root[std::string("num_") + what + "s"];
  if (total.Int(0, INT64_MAX) != ids.total()) {
    total.Fail(StrCat(ids.total(), ", which is what ", key, " holds"));
  }
  return ids;
}

PartFiles ReadFiles(const JsonField& root, size_t part, PartFormat format) {
  const JsonField field = root[StrCat("part-", part)];
  if (!field.Has("part_graph") && field.Has("part_graph_graphbolt")) {
    Throw(ErrorCode::kInvalid, root.file(), ": ", field.name(),
          ": GraphBolt's partitions are not supported; partition the graph with DGL's "
          "use_graphbolt=False, or with graphctl partition");
  }
  const auto resolve = [&](const char* key) {
    const std::string named = field[key].String();
    if (BaseName(named).empty()) field[key].Fail("the path of a file");
    return FindPartFile(root.file(), static_cast<PartId>(part), named);
  };
  PartFiles files;
  files.part_graph = resolve("part_graph");
  if (format == PartFormat::kDgl || field.Has("node_feats"))
    files.node_feats = resolve("node_feats");
  if (format == PartFormat::kDgl || field.Has("edge_feats"))
    files.edge_feats = resolve("edge_feats");
  return files;
}

PartFormat ReadFormat(const JsonField& root) {
  if (!root.Has("format")) return PartFormat::kDgl;
  const std::string format = root["format"].String();
  if (format == "graphd-1") return PartFormat::kNative;
  Throw(ErrorCode::kVersion, root.file(), ": format is '", format,
        "', this build knows graphd-1 and DGL's (which has no such key); update graphd, or "
        "partition again");
}

// Finds the ends of edge types that are named by a bare relation, from the partitions on this
// machine.
std::vector<std::optional<RelationEnds>> FindRelationEnds(const PartConfig& config,
                                                          const PartitionBook& book) {
  std::vector<std::optional<RelationEnds>> ends(static_cast<size_t>(book.edges().num_types()));
  if (config.format != PartFormat::kDgl) return ends;
  for (size_t p = 0; p < config.parts.size(); p++) {
    const bool complete = std::all_of(ends.begin(), ends.end(), [](auto& e) { return !!e; });
    if (complete || !FileExists(config.parts[p].part_graph)) continue;
    DeriveRelationEnds(config.parts[p].part_graph, book, static_cast<PartId>(p), ends);
  }
  return ends;
}

std::vector<CanonicalEdgeType> ReadEdgeTypes(const PartConfig& config, const JsonField& root,
                                             const PartitionBook& book,
                                             const std::vector<std::string>& ntypes,
                                             const std::vector<std::string>& names) {
  std::vector<CanonicalEdgeType> etypes;
  std::optional<std::vector<std::optional<RelationEnds>>> found;
  for (size_t e = 0; e < names.size(); e++) {
    const std::vector<std::string> pieces = Split(names[e], ':');
    if (pieces.size() == 3) {
      etypes.push_back({pieces[0], pieces[1], pieces[2]});
    } else if (pieces.size() != 1) {
      root["etypes"][names[e]].Fail("to be named src:rel:dst");
    } else if (ntypes.size() == 1) {
      etypes.push_back({ntypes[0], names[e], ntypes[0]});
    } else {
      if (!found) found = FindRelationEnds(config, book);
      const auto& ends = (*found)[e];
      if (!ends) {
        root["etypes"][names[e]].Fail(
            "to be named src:rel:dst, as no local partition has an edge that shows its node types; "
            "rename it in etypes and edge_map");
      }
      etypes.push_back({ntypes[static_cast<size_t>(ends->src)], names[e],
                        ntypes[static_cast<size_t>(ends->dst)]});
    }
  }
  return etypes;
}

}  // namespace

std::string FindPartFile(const std::string& config_path, PartId part, const std::string& named) {
  const std::string directory = DirName(config_path);
  const std::string beside = StrCat(PartDirectoryName(part), "/", BaseName(named));
  return FirstThatExists({JoinPath(directory, named), JoinPath(directory, beside), named});
}

std::string FindMapFile(const std::string& config_path, const std::string& named) {
  const std::string directory = DirName(config_path);
  return FirstThatExists({named, JoinPath(directory, named), JoinPath(directory, BaseName(named))});
}

PartConfig LoadPartConfig(const std::string& path) {
  const nlohmann::json document = ParseJsonFile(path);
  const JsonField root(document, path);
  PartConfig config;
  config.path = path;
  config.format = ReadFormat(root);

  const auto num_parts = static_cast<int32_t>(root["num_parts"].Int(1, kMaxPartitions));
  const std::vector<std::string> keys = root.keys();
  const auto listed = std::count_if(
      keys.begin(), keys.end(), [](const std::string& key) { return key.rfind("part-", 0) == 0; });
  if (listed != num_parts) root["num_parts"].Fail(StrCat(listed, ", the number of part-<i>"));
  for (PartId p = 0; p < num_parts; p++) {
    config.parts.push_back(ReadFiles(root, static_cast<size_t>(p), config.format));
  }

  auto meta = std::make_shared<GraphMeta>();
  meta->graph_name = root["graph_name"].String();
  meta->part_method = root.Has("part_method") ? root["part_method"].String() : "metis";
  meta->halo_hops = root.Has("halo_hops") ? static_cast<int>(root["halo_hops"].Int(0, 1 << 20)) : 1;
  const std::vector<std::string> ntypes = TypeNames(root, "ntypes", "_N");
  const std::vector<std::string> etypes = TypeNames(root, "etypes", "_N:_E:_N");
  IdMap nodes = ReadMap("node", root, ntypes, num_parts);
  IdMap edges = ReadMap("edge", root, etypes, num_parts);
  for (const char* key : {"node_map", "edge_map"}) {
    if (root[key].is_string()) config.maps.push_back(FindMapFile(path, root[key].String()));
  }
  meta->book = PartitionBook(std::move(nodes), std::move(edges));
  try {
    meta->schema = Schema(ntypes, ReadEdgeTypes(config, root, meta->book, ntypes, etypes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCorrupt) throw;
    Throw(ErrorCode::kCorrupt, path, ": etypes: ", error.what());
  }
  config.meta = std::move(meta);
  return config;
}

}  // namespace graphd
