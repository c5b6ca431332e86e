// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/partition_summary.h"

#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

double CutShare(const PartitionSummary& summary) {
  const int64_t edges = summary.meta->book.edges().total();
  return edges ? static_cast<double>(summary.edge_cut) / static_cast<double>(edges) : 0;
}

struct Share {
  std::string what;
  double imbalance;
};

// Returns the imbalance of the partitions in the numbers of nodes of each type, edges of each type,
// all edges, and nodes of each class of --balance_ntypes.
std::vector<Share> Shares(const PartitionSummary& summary) {
  const PartitionBook& book = summary.meta->book;
  const Schema& schema = summary.meta->schema;
  std::vector<Share> shares;
  const auto add = [&](const std::string& what, auto&& count_in) {
    std::vector<int64_t> counts;
    for (PartId p = 0; p < book.num_partitions(); p++) counts.push_back(count_in(p));
    shares.push_back({what, Imbalance(counts)});
  };
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    add("nodes " + schema.ntype(t), [&](PartId p) { return book.nodes().count_in(p, t); });
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    add("edges " + schema.etype(e).ToString(),
        [&](PartId p) { return book.edges().count_in(p, e); });
  }
  add("all edges", [&](PartId p) { return book.edges().count_in(p); });
  for (const ClassShares& of_class : summary.classes) {
    shares.push_back({"nodes " + of_class.name, Imbalance(of_class.nodes)});
    if (!of_class.edges.empty()) {
      shares.push_back({"edges " + of_class.name, Imbalance(of_class.edges)});
    }
  }
  return shares;
}

// Returns the peak resident memory of this process in bytes.
uint64_t PeakMemory() {
  // VmHWM is preferred to getrusage, whose peak includes memory that this process had before it
  // executed this program.
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void PrintJson(const PartitionSummary& summary, const PartitionCost& cost) {
  nlohmann::ordered_json root;
  const PartitionBook& book = summary.meta->book;
  root["part_config"] = summary.part_config;
  for (const auto& [ntype, path] : summary.node_names) root["node_names"][ntype] = path;
  if (!summary.label_texts.empty()) root["label_texts"] = summary.label_texts;
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
  for (const Share& share : Shares(summary)) root["balance"][share.what] = share.imbalance;
  root["read_seconds"] = cost.read_seconds;
  root["seconds"] = cost.seconds;
  root["peak_memory_bytes"] = PeakMemory();
  std::printf("%s\n", root.dump(2).c_str());
}

void PrintTable(const PartitionSummary& summary, const PartitionCost& cost) {
  const PartitionBook& book = summary.meta->book;
  std::printf("%9s %14s %14s %12s\n", "partition", "nodes", "edges", "size");
  for (PartId p = 0; p < book.num_partitions(); p++) {
    std::printf("%9d %14lld %14lld %12s\n", int32_t{p},
                static_cast<long long>(book.nodes().count_in(p)),
                static_cast<long long>(book.edges().count_in(p)),
                HumanBytes(summary.bytes[static_cast<size_t>(p)]).c_str());
  }
  std::printf("%9s %14lld %14lld\n", "all", static_cast<long long>(book.nodes().total()),
              static_cast<long long>(book.edges().total()));
  std::printf("edge cut     %lld edges (%.1f %%) join two partitions\n",
              static_cast<long long>(summary.edge_cut), 100 * CutShare(summary));
  std::printf("balance      largest partition over the average:\n");
  for (const Share& share : Shares(summary)) {
    std::printf("             %6.3f  %s\n", share.imbalance, share.what.c_str());
  }
  std::printf("time         %.1f s, %.1f s of it reading\n", cost.seconds, cost.read_seconds);
  std::printf("peak memory  %s\n", HumanBytes(PeakMemory()).c_str());
  std::printf("part config  %s\n", summary.part_config.c_str());
  for (const auto& [ntype, path] : summary.node_names) {
    std::printf("node names   %s\n", path.c_str());
  }
  for (const std::string& path : summary.label_texts) {
    std::printf("label texts  %s\n", path.c_str());
  }
}

}  // namespace

void PrintPartition(const PartitionSummary& summary, const PartitionCost& cost, bool json) {
  if (json) {
    PrintJson(summary, cost);
  } else {
    PrintTable(summary, cost);
  }
}

}  // namespace graphd::ctl
