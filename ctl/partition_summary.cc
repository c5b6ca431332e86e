// SPDX-License-Identifier: Apache-2.0
#include "ctl/partition_summary.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

double CutShare(const PartitionSummary& summary) {
  const int64_t edges = summary.meta->book.edges().total();
  return edges ? static_cast<double>(summary.edge_cut) / static_cast<double>(edges) : 0;
}

}  // namespace

void PrintPartitionJson(const PartitionSummary& summary, const PartitionCost& cost) {
  nlohmann::ordered_json root;
  const PartitionBook& book = summary.meta->book;
  root["part_config"] = summary.part_config;
  root["graph_name"] = summary.meta->graph_name;
  root["part_method"] = summary.meta->part_method;
  root["num_nodes"] = book.nodes().total();
  root["num_edges"] = book.edges().total();
  root["edge_cut"] = summary.edge_cut;
  root["edge_cut_share"] = CutShare(summary);
  for (PartId p = 0; p < book.num_partitions(); p++) {
    root["parts"].push_back({{"nodes", book.nodes().count_in(p)},
                             {"edges", book.edges().count_in(p)},
                             {"bytes", summary.bytes[static_cast<size_t>(p)]}});
  }
  root["read_seconds"] = cost.read_seconds;
  root["seconds"] = cost.seconds;
  root["peak_memory_bytes"] = cost.peak_bytes;
  std::printf("%s\n", root.dump(2).c_str());
}

void PrintPartitionTable(const PartitionSummary& summary, const PartitionCost& cost) {
  const PartitionBook& book = summary.meta->book;
  std::printf("%9s %14s %14s %12s\n", "partition", "nodes", "edges", "size");
  for (PartId p = 0; p < book.num_partitions(); p++) {
    std::printf("%9d %14lld %14lld %12s\n", p, static_cast<long long>(book.nodes().count_in(p)),
                static_cast<long long>(book.edges().count_in(p)),
                HumanBytes(summary.bytes[static_cast<size_t>(p)]).c_str());
  }
  std::printf("%9s %14lld %14lld\n", "all", static_cast<long long>(book.nodes().total()),
              static_cast<long long>(book.edges().total()));
  std::printf("edge cut     %lld edges (%.1f %%) join two partitions\n",
              static_cast<long long>(summary.edge_cut), 100 * CutShare(summary));
  std::printf("time         %.1f s, %.1f s of it reading\n", cost.seconds, cost.read_seconds);
  std::printf("peak memory  %s\n", HumanBytes(cost.peak_bytes).c_str());
  std::printf("part config  %s\n", summary.part_config.c_str());
}

}  // namespace graphd::ctl
