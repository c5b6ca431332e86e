// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/statistics_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "ctl/statistics/balance.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

using nlohmann::ordered_json;

double Share(uint64_t part, uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

ordered_json OrNull(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json NumberJson(const std::optional<Number>& number) {
  if (!number) return nullptr;
  return std::visit([](auto value) { return ordered_json(value); }, *number);
}

void AddValues(const ValueSummary& values, ordered_json& out) {
  out["count"] = values.count;
  out["nan"] = values.nan;
  out["nan_share"] = Share(values.nan, values.count);
  out["infinite"] = values.infinite;
  out["zeros"] = values.zeros;
  out["zero_share"] = Share(values.zeros, values.count);
  out["min"] = NumberJson(values.min);
  out["max"] = NumberJson(values.max);
  out["mean"] = values.finite() > 0 ? ordered_json(values.mean) : ordered_json(nullptr);
  out["std"] = values.finite() > 0 ? ordered_json(values.Deviation()) : ordered_json(nullptr);
}

ordered_json DegreesJson(const DegreeSummary& degrees) {
  return {{"nodes", degrees.nodes},
          {"zero", degrees.zero},
          {"min", degrees.min},
          {"median", degrees.median},
          {"mean", degrees.mean},
          {"max", degrees.max},
          {"log2_histogram", degrees.log2_histogram}};
}

ordered_json FeatureJson(const FeatureStatistics& feature) {
  ordered_json out{{"name", feature.name},
                   {"dtype", DTypeName(feature.encoding.dtype)},
                   {"stored_as", DTypeName(feature.encoding.stored)},
                   {"row_shape", feature.row_shape}};
  AddValues(feature.values, out);
  if (!feature.histogram.counts.empty()) {
    out["histogram"] = {{"low", feature.histogram.low},
                        {"high", feature.histogram.high},
                        {"sampled", feature.histogram.sampled},
                        {"counts", feature.histogram.counts}};
  }
  if (!feature.classes) return out;
  out["classes"] = ordered_json::array();
  for (const FeatureClass& of_value : *feature.classes) {
    ordered_json entry{{"value", of_value.value}, {"count", of_value.count}};
    if (of_value.text) entry["text"] = *of_value.text;
    out["classes"].push_back(std::move(entry));
  }
  return out;
}

ordered_json FeaturesJson(const std::vector<FeatureStatistics>& features) {
  ordered_json list = ordered_json::array();
  for (const FeatureStatistics& feature : features) list.push_back(FeatureJson(feature));
  return list;
}

ordered_json FeaturesInPart(const std::vector<FeatureStatistics>& features, size_t i) {
  ordered_json list = ordered_json::array();
  for (const FeatureStatistics& feature : features) {
    ordered_json entry{{"name", feature.name}};
    AddValues(feature.by_part[i], entry);
    list.push_back(std::move(entry));
  }
  return list;
}

ordered_json PartJson(const GraphStatistics& statistics, size_t i) {
  ordered_json out{{"part", statistics.parts[i]},       {"nodes", statistics.nodes_in(i)},
                   {"edges", statistics.edges_in(i)},   {"bytes", statistics.bytes[i]},
                   {"cut_edges", statistics.cut_in(i)}, {"halo_nodes", statistics.halo_in(i)}};
  if (!statistics.edges_from.empty()) out["edges_from"] = statistics.edges_from[i];
  for (const NodeTypeStatistics& type : statistics.ntypes) {
    out["ntypes"].push_back({{"name", type.name},
                             {"nodes", type.by_part[i]},
                             {"halo_nodes", type.halo_by_part[i]},
                             {"features", FeaturesInPart(type.features, i)}});
  }
  for (const EdgeTypeStatistics& type : statistics.etypes) {
    out["etypes"].push_back({{"name", type.name},
                             {"edges", type.by_part[i]},
                             {"cut_edges", type.cut_by_part[i]},
                             {"in_degrees", DegreesJson(type.in_degrees_by_part[i])},
                             {"features", FeaturesInPart(type.features, i)}});
  }
  return out;
}

}  // namespace

ordered_json StatisticsToJson(const GraphStatistics& statistics) {
  ordered_json root{{"missing_parts", statistics.missing},
                    {"nodes", statistics.nodes()},
                    {"edges", statistics.edges()},
                    {"cut_edges", statistics.cut()},
                    {"cut_share", Share(static_cast<uint64_t>(statistics.cut()),
                                        static_cast<uint64_t>(statistics.edges()))},
                    {"balance",
                     {{"nodes", OrNull(NodeBalance(statistics))},
                      {"edges", OrNull(EdgeBalance(statistics))},
                      {"bytes", OrNull(ByteBalance(statistics))}}}};
  root["ntypes"] = ordered_json::array();
  for (const NodeTypeStatistics& type : statistics.ntypes) {
    root["ntypes"].push_back(
        {{"name", type.name},
         {"nodes", type.nodes},
         {"isolated", type.isolated ? ordered_json(*type.isolated) : ordered_json(nullptr)},
         {"balance", OrNull(TypeBalance(statistics, type.by_part))},
         {"features", FeaturesJson(type.features)}});
  }
  root["etypes"] = ordered_json::array();
  for (const EdgeTypeStatistics& type : statistics.etypes) {
    ordered_json entry{{"name", type.name},
                       {"edges", type.edges},
                       {"cut_edges", type.cut},
                       {"balance", OrNull(TypeBalance(statistics, type.by_part))},
                       {"in_degrees", DegreesJson(type.in_degrees)}};
    if (type.out_degrees) entry["out_degrees"] = DegreesJson(*type.out_degrees);
    entry["features"] = FeaturesJson(type.features);
    root["etypes"].push_back(std::move(entry));
  }
  root["parts"] = ordered_json::array();
  for (size_t i = 0; i < statistics.parts.size(); i++) {
    root["parts"].push_back(PartJson(statistics, i));
  }
  return root;
}

}  // namespace graphd::ctl
