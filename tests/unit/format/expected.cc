// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/format/expected.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/strings.h"
#include "format/io/byte_reader.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::test {
namespace {

using nlohmann::json;

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

double BrainToDouble(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <class T, class ToDouble>
double SumAs(std::span<const std::byte> bytes, ToDouble to_double) {
  double sum = 0;
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + i, sizeof(T));
    sum += to_double(value);
  }
  return sum;
}

double Sum(DType dtype, std::span<const std::byte> bytes) {
  const auto cast = [](auto value) { return static_cast<double>(value); };
  switch (dtype) {
    case DType::kFloat16:
      return SumAs<uint16_t>(bytes, HalfToDouble);
    case DType::kBFloat16:
      return SumAs<uint16_t>(bytes, BrainToDouble);
    case DType::kFloat32:
      return SumAs<float>(bytes, cast);
    case DType::kFloat64:
      return SumAs<double>(bytes, cast);
    default:
      return VisitIntegers(dtype, bytes, [](auto values) {
        double sum = 0;
        for (size_t i = 0; i < values.size(); i++) sum += static_cast<double>(values[i]);
        return sum;
      });
  }
}

// Replaces NaN and Infinity, which Python writes but JSON does not have, by null outside of
// strings.
std::string WithoutNaN(std::string text) {
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '"') in_string = !in_string;
    if (text[i] == '\\') i++;
    if (in_string) continue;
    for (const std::string word : {"NaN", "-Infinity", "Infinity"}) {
      if (text.compare(i, word.size(), word) == 0) text.replace(i, word.size(), "null");
    }
  }
  return text;
}

// Returns a list of answers, or null if DGL raised an error ("ERROR ...") or was not asked.
const json* Answers(const json& asked, const std::string& name) {
  const auto found = asked.find(name);
  return found != asked.end() && (found->is_array() || found->is_object()) ? &*found : nullptr;
}

class Comparer {
 public:
  explicit Comparer(const std::string& folder)
      : expected_(json::parse(WithoutNaN(ReadAll(folder + "/expected.json")))),
        config_(LoadPartConfig(folder + "/" + expected_["config"].get<std::string>())) {}

  Comparison Run() {
    const PartitionBook& book = config_.meta->book;
    Same("number of partitions", book.num_partitions(), expected_["num_parts"].get<int>());
    Same("number of nodes", book.nodes().total(), expected_["num_nodes"].get<int64_t>());
    Same("number of edges", book.edges().total(), expected_["num_edges"].get<int64_t>());
    for (PartId p = 0; p < book.num_partitions(); p++) {
      const auto index = static_cast<size_t>(p);
      CompareBook(expected_["books"][index]);
      partition_ = LoadPartition(config_, p);
      part_ = &expected_["parts"][index];
      Same("estimate is enough", partition_->bytes() <= EstimatePartitionBytes(config_, p), true);
      CompareTypes();
      CompareInEdges();
      CompareFeatures(true);
      CompareFeatures(false);
      result_.partitions++;
    }
    return std::move(result_);
  }

 private:
  template <class A, class B>
  bool Same(const std::string& what, const A& ours, const B& theirs) {
    if (ours == theirs) return true;
    if (result_.mismatches.size() < 20) {
      result_.mismatches.push_back(StrCat(what, ": graphd says ", ours, ", DGL ", theirs));
    }
    return false;
  }

  void Answer(const std::string& what, int64_t asked, int64_t ours, int64_t theirs) {
    result_.answers++;
    Same(StrCat(what, "(", asked, ")"), ours, theirs);
  }

  // Compares the answers for homogeneous ids. `kind` is "n" or "e", as in nid2partid.
  void CompareHomogeneous(const json& asked, const IdMap& map, char kind, const json& columns) {
    const std::string id = std::string(1, kind) + "id";
    const json& ids = asked["ids"];
    const std::string typed_name = StrCat("map_to_per_", kind, "type");
    const json* owners = Answers(asked, id + "2partid");
    const json* typed = Answers(asked, typed_name);
    for (size_t i = 0; i < ids.size(); i++) {
      const auto h = ids[i].get<int64_t>();
      if (owners) Answer(id + "2partid", h, map.OwnerOfHomo(h), (*owners)[i]);
      const auto [type, x] = map.ToTyped(h);
      if (typed) {
        Answer(typed_name + " type", h, type, (*typed)["type_ids"][i]);
        Answer(typed_name + " id", h, x, (*typed)["per_type_ids"][i]);
      }
      Answer(id + " and back", h, map.ToHomo(type, x), h);
    }
    const json* locals = Answers(asked, StrCat(id, "2local", id));
    if (!locals) return;
    const json& local_ids = asked["local_ids_asked"];
    for (size_t i = 0; i < local_ids.size(); i++) {
      const auto h = local_ids[i].get<int64_t>();
      const auto local = (*locals)[i].get<int64_t>();
      if (map.is_range()) {
        Answer(id + "2localid", h, map.LocalHomo(h), local);
      } else {
        // DGL answers with the row in its file; graphd's row differs, but must be that of the same
        // object.
        const auto row = columns["_ID"]["values"][static_cast<size_t>(local)].get<int64_t>();
        Answer(id + " at DGL's local id", local, h, row);
        Answer(id + " by local row", h, map.FromLocalRow(map.OwnerOfHomo(h), 0, map.LocalHomo(h)),
               h);
      }
    }
  }

  void CompareTyped(const json& asked, const IdMap& map, int32_t type, char kind) {
    const std::string id = std::string(1, kind) + "id";
    Answer("count of type", type, map.count(type), asked["total"].get<int64_t>());
    const json* owners = Answers(asked, id + "2partid");
    const json* homogeneous = Answers(asked, "map_to_homo_" + id);
    const json* locals = Answers(asked, StrCat(id, "2local", id));
    for (size_t i = 0; i < asked["ids"].size(); i++) {
      const auto x = asked["ids"][i].get<int64_t>();
      if (owners) Answer("typed " + id + "2partid", x, map.Owner(type, x), (*owners)[i]);
      if (homogeneous) Answer("map_to_homo_" + id, x, map.ToHomo(type, x), (*homogeneous)[i]);
      Answer("typed " + id + " and back", x, map.ToTyped(map.ToHomo(type, x)).second, x);
    }
    for (size_t i = 0; locals && i < asked["local_ids_asked"].size(); i++) {
      const auto x = asked["local_ids_asked"][i].get<int64_t>();
      const int64_t row = map.LocalRow(type, x);
      Answer("typed " + id + "2localid", x, row, (*locals)[i]);
      Answer("typed local row and back", row, map.FromLocalRow(map.Owner(type, x), type, row), x);
    }
    const json* ends = Answers(asked, StrCat("partid2", kind, "ids_first_last"));
    for (PartId p = 0; ends && p < map.num_parts(); p++) {
      const json& pair = (*ends)[static_cast<size_t>(p)];
      const std::vector<int64_t> ids = map.IdsOf(p, type);
      if (!pair.is_array() || pair.empty() || !pair[0].is_number()) {
        Answer("owned of type", type, std::ssize(ids), 0);
        continue;
      }
      Answer("first of type", type, ids.empty() ? -1 : ids.front(), pair[0]);
      Answer("last of type", type, ids.empty() ? -1 : ids.back(), pair[1]);
    }
  }

  // Compares {type: [[begin, end], ...]}; the position of an empty range has no meaning.
  void CompareRanges(const json& asked, const IdMap& map, int32_t type) {
    for (size_t p = 0; p < asked.size(); p++) {
      const IdMap::Range& range = map.ranges()[static_cast<size_t>(type)][p];
      const auto begin = asked[p][0].get<int64_t>(), end = asked[p][1].get<int64_t>();
      Answer("size of range", static_cast<int64_t>(p), range.size(), end - begin);
      if (begin < end) Answer("begin of range", static_cast<int64_t>(p), range.begin, begin);
    }
  }

  void ComparePartitionLists(const json& asked, const IdMap& map, char kind) {
    for (PartId p = 0; p < map.num_parts(); p++) {
      const auto index = static_cast<size_t>(p);
      Answer("owned by", p, map.count_in(p), asked[StrCat("partid2", kind, "ids_count")][index]);
      const json& pair = asked[StrCat("partid2", kind, "ids_first_last")][index];
      if (!pair.is_array() || pair.empty() || !pair[0].is_number()) continue;
      if (map.is_range()) {
        const int64_t first = map.ranges()[0][index].begin;
        Answer("first owned by", p, first, pair[0]);
        Answer("last owned by", p, first + map.count_in(p) - 1, pair[1]);
      } else {
        Answer("owner of DGL's first", pair[0], map.OwnerOfHomo(pair[0]), p);
        Answer("owner of DGL's last", pair[1], map.OwnerOfHomo(pair[1]), p);
      }
    }
  }

  void CompareBook(const json& asked) {
    const PartitionBook& book = config_.meta->book;
    const Schema& schema = config_.meta->schema;
    const json& part = expected_["parts"][asked["part_id"].get<size_t>()];
    Same("kind of book", book.nodes().is_range(), asked["cls"] == "RangePartitionBook");
    CompareHomogeneous(asked["homo_nodes"], book.nodes(), 'n', part["ndata"]);
    CompareHomogeneous(asked["homo_edges"], book.edges(), 'e', part["edata"]);
    ComparePartitionLists(asked["partid2"], book.nodes(), 'n');
    ComparePartitionLists(asked["partid2"], book.edges(), 'e');
    for (const auto& [name, typed] : asked["typed_nodes"].items()) {
      CompareTyped(typed, book.nodes(), schema.NodeTypeIdOf(name), 'n');
    }
    for (const auto& [name, typed] : asked["typed_edges"].items()) {
      CompareTyped(typed, book.edges(), schema.EdgeTypeIdOf(name), 'e');
    }
    for (const auto& [name, ranges] : asked["typed_nid_range"].items()) {
      CompareRanges(ranges, book.nodes(), schema.NodeTypeIdOf(name));
    }
    for (const auto& [name, ranges] : asked["typed_eid_range"].items()) {
      CompareRanges(ranges, book.edges(), schema.EdgeTypeIdOf(name));
    }
    for (size_t p = 0; p < asked["metadata"].size(); p++) {
      const json& machine = asked["metadata"][p];
      const auto id = static_cast<PartId>(p);
      Answer("nodes of machine", id, book.nodes().count_in(id), machine["num_nodes"]);
      Answer("edges of machine", id, book.edges().count_in(id), machine["num_edges"]);
    }
  }

  void CompareTypes() {
    const Schema& schema = config_.meta->schema;
    const json& part = *part_;
    Same("graph name", config_.meta->graph_name, part["graph_name"].get<std::string>());
    Same("node types", schema.num_ntypes(), static_cast<int>(part["ntypes"].size()));
    Same("edge types", schema.num_etypes(), static_cast<int>(part["etypes"].size()));
    for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
      Same("node type", schema.ntype(t), part["ntypes"][static_cast<size_t>(t)].get<std::string>());
    }
    // DGL 0.9's bare relations are listed by name, not by id; only the edges' _TYPE gives the ids.
    std::set<std::string> ours, theirs;
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      const auto name = part["etypes"][static_cast<size_t>(e)].get<std::string>();
      const bool whole = name.find(':') != name.npos;
      if (whole) Same("edge type", schema.etype(e).ToString(), name);
      ours.insert(whole ? name : schema.etype(e).rel);
      theirs.insert(name);
    }
    if (ours != theirs) Same("edge types", std::string("others"), part["etypes"].dump());
    const IdMap& nodes = config_.meta->book.nodes();
    const IdMap& edges = config_.meta->book.edges();
    Same("inner nodes", nodes.count_in(partition_->id()), part["num_inner_nodes"].get<int64_t>());
    Same("inner edges", edges.count_in(partition_->id()), part["num_inner_edges"].get<int64_t>());
  }

  // Sorted tuples of edge type, homogeneous id of the source, homogeneous id of the edge.
  using InEdges = std::vector<std::tuple<int32_t, int64_t, int64_t>>;

  InEdges OurInEdges(NodeTypeId type, int64_t row) const {
    const Schema& schema = config_.meta->schema;
    const PartitionBook& book = config_.meta->book;
    InEdges found;
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      if (schema.dst_type(e) != type) continue;
      const Csc& csc = partition_->csc(e);
      const auto index = static_cast<size_t>(row);
      for (uint64_t at = csc.indptr[index]; at < csc.indptr[index + 1]; at++) {
        const auto edge_row = static_cast<int64_t>(csc.edge_rows ? (*csc.edge_rows)[at] : at);
        const int64_t edge = book.edges().FromLocalRow(partition_->id(), e, edge_row);
        found.emplace_back(
            e, book.nodes().ToHomo(schema.src_type(e), static_cast<int64_t>(csc.indices[at])),
            book.edges().ToHomo(e, edge));
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void CompareInEdges() {
    const json& part = *part_;
    const IdMap& nodes = config_.meta->book.nodes();
    const auto column = [](const json& frame, const char* name) {
      return frame.contains(name) ? frame[name]["values"].get<std::vector<int64_t>>()
                                  : std::vector<int64_t>();
    };
    const auto node_id = column(part["ndata"], "_ID"), edge_id = column(part["edata"], "_ID");
    const auto node_type = column(part["ndata"], "_TYPE"),
               edge_type = column(part["edata"], "_TYPE");
    const auto inner = column(part["ndata"], "inner_node");
    const auto indptr = part["csc"]["indptr"].get<std::vector<size_t>>();
    const auto indices = part["csc"]["indices"].get<std::vector<size_t>>();
    const auto edge_ids = part["csc"]["edge_ids"].get<std::vector<size_t>>();
    const Schema& schema = config_.meta->schema;
    int64_t inner_nodes = 0, inner_edges = 0;
    for (size_t local = 0; local < node_id.size(); local++) {
      if (!inner[local]) continue;
      inner_nodes++;
      const auto [type, x] = nodes.ToTyped(node_id[local]);
      Same("type of a node", type, node_type.empty() ? 0 : node_type[local]);
      InEdges theirs;
      for (size_t at = indptr[local]; at < indptr[local + 1]; at++) {
        const size_t edge = edge_ids[at];
        const auto etype = static_cast<EdgeTypeId>(edge_type.empty() ? 0 : edge_type[edge]);
        theirs.emplace_back(etype, node_id[indices[at]], edge_id[edge]);
        if (!node_type.empty()) {
          Same("type of a source", schema.src_type(etype), node_type[indices[at]]);
        }
      }
      std::sort(theirs.begin(), theirs.end());
      const InEdges ours = OurInEdges(type, nodes.LocalRow(type, x));
      inner_edges += static_cast<int64_t>(ours.size());
      if (ours != theirs)
        Same(StrCat("in-edges of node ", node_id[local]), std::string("others"), "these");
    }
    result_.edges += static_cast<uint64_t>(inner_edges);
    Same("inner nodes with in-edges", inner_nodes, part["num_inner_nodes"].get<int64_t>());
    Same("in-edges of all inner nodes", inner_edges, part["num_inner_edges"].get<int64_t>());
  }

  // Returns graphd's rows in the order of DGL's file: the inner objects of a type by local id.
  std::vector<std::byte> InFileOrder(const Tensor& tensor, bool is_node, int32_t type) const {
    const IdMap& map = config_.meta->book.map(!is_node);
    const json& frame = (*part_)[is_node ? "ndata" : "edata"];
    const json& ids = frame["_ID"]["values"];
    std::vector<std::byte> bytes;
    for (size_t local = 0; local < ids.size(); local++) {
      const auto h = ids[local].get<int64_t>();
      const auto [t, x] = map.ToTyped(h);
      if (t != type || map.OwnerOfHomo(h) != partition_->id()) continue;
      const std::byte* row =
          tensor.data() + static_cast<size_t>(map.LocalRow(t, x)) * tensor.row_bytes();
      bytes.insert(bytes.end(), row, row + tensor.row_bytes());
    }
    return bytes;
  }

  void CompareFeatures(bool is_node) {
    const Schema& schema = config_.meta->schema;
    const json& theirs = (*part_)[is_node ? "node_feats" : "edge_feats"];
    size_t ours = 0;
    const int32_t types = is_node ? schema.num_ntypes() : schema.num_etypes();
    for (int32_t t = 0; t < types; t++) {
      ours += (is_node ? partition_->node_features(t) : partition_->edge_features(t)).size();
    }
    Same("number of features", ours, theirs.size());
    for (const auto& [key, feature] : theirs.items()) {
      const std::string type_name = key.substr(0, key.find('/'));
      const std::string name = key.substr(key.find('/') + 1);
      const int32_t type = is_node ? int32_t{schema.NodeTypeIdOf(type_name)}
                                   : int32_t{schema.EdgeTypeIdOf(type_name)};
      const Tensor tensor =
          (is_node ? partition_->node_feature(type, name) : partition_->edge_feature(type, name))
              .ReadAll();
      Same(key + " dtype", DTypeName(tensor.dtype()), feature["dtype"].get<std::string>());
      if (tensor.shape() != feature["shape"].get<std::vector<int64_t>>()) {
        Same(key + " shape", std::string("another"), feature["shape"].dump());
      }
      Same(key + " bytes", tensor.num_bytes(), feature["nbytes"].get<size_t>());
      const std::vector<std::byte> bytes = InFileOrder(tensor, is_node, type);
      Same(key + " sha256", Sha256(bytes), feature["sha256"].get<std::string>());
      result_.features++;
      if (!feature["sum"].is_number()) continue;  // not a number
      const double sum = Sum(tensor.dtype(), bytes), wanted = feature["sum"].get<double>();
      if (!(std::abs(sum - wanted) <= 1e-9 * (1 + std::abs(wanted))))
        Same(key + " sum", sum, wanted);
    }
  }

  json expected_;
  PartConfig config_;
  Comparison result_;
  std::shared_ptr<const Partition> partition_;
  const json* part_ = nullptr;
};

}  // namespace

Comparison CompareWithDgl(const std::string& folder) { return Comparer(folder).Run(); }

}  // namespace graphd::test
