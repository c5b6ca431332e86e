// SPDX-License-Identifier: Apache-2.0
#include "graphd/initialize.h"

#include <cstdlib>

#include "base/strings.h"
#include "client/graph_access.h"
#include "format/load.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int EnvInt(const char* name, int otherwise, int min, int max) {
  const std::string text = Env(name);
  return text.empty() ? otherwise : static_cast<int>(ParseInt(text, name, min, max));
}

class SessionImpl final : public Session {
 public:
  SessionImpl(Options options, std::shared_ptr<GraphAccess> access)
      : Session(std::move(options)), access_(std::move(access)) {}
  void Barrier() override { access_->Barrier(); }
  const std::shared_ptr<GraphAccess>& access() const noexcept override { return access_; }

 private:
  std::shared_ptr<GraphAccess> access_;
};

template <class Features>
void CollectFeatures(const Partition& partition, Features& nodes, Features& edges) {
  const Schema& schema = partition.meta().schema;
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) nodes.push_back(partition.node_features(t));
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) edges.push_back(partition.edge_features(e));
}

std::shared_ptr<GraphAccess> OpenStandalone(const Options& options) {
  if (options.part_config.empty()) {
    Throw(ErrorCode::kInvalid, "neither a server name (GRAPHD_SERVER_NAME) nor a part config ",
          "(GRAPHD_PART_CONFIG) is given; run under graphctl launch, or give one of them");
  }
  const PartConfig config = LoadPartConfig(options.part_config);
  std::vector<std::shared_ptr<const Partition>> partitions;
  for (PartId p = 0; p < config.meta->book.num_partitions(); p++) {
    partitions.push_back(LoadPartition(config, p));
  }
  std::vector<std::vector<FeatureInfo>> node_features, edge_features;
  CollectFeatures(*partitions[0], node_features, edge_features);
  std::vector<std::shared_ptr<DaemonLink>> no_links(partitions.size());
  return std::make_shared<GraphAccess>(config.meta, std::move(node_features),
                                       std::move(edge_features), std::move(partitions),
                                       std::move(no_links), options.timeout);
}

// Daemons must serve one graph between them: the same, cut the same way.
void CheckSameGraph(const GraphMeta& a, const GraphMeta& b, const std::string& peer_a,
                    const std::string& peer_b) {
  if (a.graph_name == b.graph_name && a.schema == b.schema &&
      a.book.nodes().ranges() == b.book.nodes().ranges() &&
      a.book.edges().ranges() == b.book.edges().ranges() &&
      a.book.num_partitions() == b.book.num_partitions()) {
    return;
  }
  Throw(ErrorCode::kInvalid, "the graphd at ", peer_a, " serves '", a.graph_name, "' (",
        a.book.nodes().total(), " nodes), the one at ", peer_b, " '", b.graph_name, "' (",
        b.book.nodes().total(), " nodes), or the same cut differently; start both with the same ",
        "part config");
}

std::shared_ptr<GraphAccess> Connect(const Options& options) {
  if (options.ip_config.empty()) {
    Throw(ErrorCode::kInvalid, "no ip_config given (GRAPHD_IP_CONFIG) to find server '",
          options.server_name, "'");
  }
  CheckServerName(options.server_name);
  const std::vector<HostLine> hosts = ReadIpConfig(options.ip_config);
  auto thread = std::make_shared<RpcThread>();
  auto buffers = BufferPool::Create();
  std::vector<std::shared_ptr<DaemonLink>> links(hosts.size());
  std::vector<std::shared_ptr<const Partition>> mapped(hosts.size());
  std::shared_ptr<DaemonLink> first;
  AttachInfo graph;
  for (const DaemonAddress& address : DaemonsOf(hosts)) {
    auto link = std::make_shared<DaemonLink>(thread, buffers, options, address);
    AttachInfo info = link->Attach();
    if (static_cast<size_t>(info.meta->book.num_partitions()) != hosts.size()) {
      Throw(ErrorCode::kInvalid, "graph '", info.meta->graph_name, "' has ",
            info.meta->book.num_partitions(), " partitions, ", options.ip_config, " ", hosts.size(),
            " lines; write one line per partition (lines may name the same daemon)");
    }
    for (PartId part : address.parts) {
      if (std::find(info.parts.begin(), info.parts.end(), part) == info.parts.end()) {
        Throw(ErrorCode::kNotFound, "the graphd at ", link->peer(), " does not serve partition ",
              part, "; check --part_id there and the order of lines in ", options.ip_config);
      }
      links[static_cast<size_t>(part)] = link;
    }
    for (const auto& partition : info.mapped) {
      mapped[static_cast<size_t>(partition->id())] = partition;
    }
    if (first) {
      CheckSameGraph(*graph.meta, *info.meta, first->peer(), link->peer());
    } else {
      first = link;
      graph = std::move(info);
    }
  }
  return std::make_shared<GraphAccess>(graph.meta, std::move(graph.node_features),
                                       std::move(graph.edge_features), std::move(mapped),
                                       std::move(links), options.timeout);
}

}  // namespace

Options Options::FromEnvironment() {
  Options options;
  options.server_name = Env("GRAPHD_SERVER_NAME");
  options.ip_config = Env("GRAPHD_IP_CONFIG");
  options.part_config = Env("GRAPHD_PART_CONFIG");
  options.job_id = Env("GRAPHD_JOB_ID");
  options.world_size = EnvInt("WORLD_SIZE", 1, 1, 1 << 20);
  options.rank = EnvInt("RANK", 0, 0, options.world_size - 1);
  options.local_rank = EnvInt("LOCAL_RANK", 0, 0, 1 << 20);
  options.local_world_size = EnvInt("LOCAL_WORLD_SIZE", 1, 1, 1 << 20);
  options.part = EnvInt("GRAPHD_PART_ID", 0, 0, 1 << 20);
  options.num_samplers = EnvInt("GRAPHD_NUM_SAMPLERS", 0, 0, 1024);
  options.timeout = std::chrono::seconds(EnvInt("GRAPHD_TIMEOUT", 30, 1, 86400));
  const std::string transport = Env("GRAPHD_TRANSPORT");
  if (transport == "unix") {
    options.transport = Transport::kUnix;
  } else if (transport == "tcp") {
    options.transport = Transport::kTcp;
  } else if (!transport.empty() && transport != "auto") {
    Throw(ErrorCode::kInvalid, "GRAPHD_TRANSPORT '", transport, "': use auto, unix or tcp");
  }
  return options;
}

std::shared_ptr<Session> Initialize(Options options) {
  auto access = options.server_name.empty() ? OpenStandalone(options) : Connect(options);
  return std::make_shared<SessionImpl>(std::move(options), std::move(access));
}

}  // namespace graphd
