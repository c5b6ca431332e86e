// SPDX-License-Identifier: Apache-2.0
#include "graphd/initialize.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "base/fork.h"
#include "base/log.h"
#include "base/processor.h"
#include "base/rng.h"
#include "base/secret.h"
#include "base/strings.h"
#include "client/environment.h"
#include "client/job_environment.h"
#include "client/link/link_port.h"
#include "client/machine_role.h"
#include "client/routing/graph_access.h"
#include "client/tensors/local_port.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr std::chrono::seconds kLongestTimeout{86400};

// Returns whether GRAPHD_TRAINER names another process that is the trainer of this rank.
bool IsWorker(const Options& options) {
  const std::string mine = StrCat(":", options.rank, ":", options.job_id);
  const std::string trainer = EnvironmentText("GRAPHD_TRAINER");
  const size_t colon = trainer.find(':');
  return !options.job_id.empty() && colon != std::string::npos && trainer.substr(colon) == mine &&
         trainer.substr(0, colon) != StrCat(::getpid());
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

PartitionFeatures FeaturesOf(const Partition& partition) {
  const Schema& schema = partition.meta().schema;
  PartitionFeatures features;
  features.part = partition.id();
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    features.nodes.push_back(partition.node_features(t));
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    features.edges.push_back(partition.edge_features(e));
  }
  return features;
}

// Merges one partition's features of a type, which must be the same in all partitions that own an
// object of the type.
void Merge(const std::vector<FeatureInfo>& of_part, PartId part, int64_t rows,
           const std::string& type, std::vector<FeatureInfo>& merged, bool first) {
  if (rows == 0) return;
  const auto describe = [](const FeatureInfo& info) {
    std::string text = DTypeName(info.dtype);
    for (int64_t extent : info.row_shape) text += StrCat(" x ", extent);
    return text;
  };
  for (const FeatureInfo& info : of_part) {
    auto same = [&](const FeatureInfo& other) { return other.name == info.name; };
    auto found = std::find_if(merged.begin(), merged.end(), same);
    if (found == merged.end()) {
      if (!first) {
        Throw(ErrorCode::kCorrupt, "feature '", info.name, "' of ", type, " is in partition ", part,
              " but not in those before it; partition the graph again");
      }
      merged.push_back(info);
    } else if (found->dtype != info.dtype || found->row_shape != info.row_shape) {
      Throw(ErrorCode::kCorrupt, "feature '", info.name, "' of ", type, " has rows of ",
            describe(info), " in partition ", part, ", of ", describe(*found),
            " in those before it; partition the graph again");
    }
  }
  if (of_part.size() != merged.size()) {
    Throw(ErrorCode::kCorrupt, "partition ", part, " has ", of_part.size(), " features of ", type,
          ", those before it ", merged.size(), "; partition the graph again");
  }
}

// Returns the features of the whole graph. All partitions must have the same features, because
// reading rows relies on this.
PartitionFeatures MergeFeatures(const GraphMeta& meta, std::vector<PartitionFeatures> partitions) {
  const Schema& schema = meta.schema;
  PartitionFeatures merged;
  merged.nodes.resize(static_cast<size_t>(schema.num_ntypes()));
  merged.edges.resize(static_cast<size_t>(schema.num_etypes()));
  std::sort(partitions.begin(), partitions.end(),
            [](const auto& a, const auto& b) { return a.part < b.part; });
  const auto merge_kind = [&](const IdMap& map, auto member, auto name_of) {
    for (size_t t = 0; t < (merged.*member).size(); t++) {
      const auto type = static_cast<int32_t>(t);
      bool first = true;
      for (const PartitionFeatures& features : partitions) {
        const int64_t rows = map.count_in(features.part, type);
        Merge((features.*member)[t], features.part, rows, name_of(type), (merged.*member)[t],
              first);
        first = first && rows == 0;
      }
    }
  };
  merge_kind(meta.book.nodes(), &PartitionFeatures::nodes,
             [&](int32_t t) { return "node type '" + schema.ntype(t) + "'"; });
  merge_kind(meta.book.edges(), &PartitionFeatures::edges,
             [&](int32_t e) { return "edge type '" + schema.etype(e).ToString() + "'"; });
  return merged;
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
  std::vector<PartitionFeatures> features;
  for (const auto& partition : partitions) features.push_back(FeaturesOf(*partition));
  PartitionFeatures merged = MergeFeatures(*config.meta, std::move(features));
  std::vector<std::shared_ptr<DaemonLink>> no_links(partitions.size());
  std::vector<std::shared_ptr<TensorPort>> ports(partitions.size(),
                                                 MakeLocalPort(config.meta, options));
  return std::make_shared<GraphAccess>(
      config.meta, std::move(merged.nodes), std::move(merged.edges), std::move(partitions),
      std::move(no_links), std::move(ports), std::make_shared<Traffic>(), options.timeout);
}

// Returns the object through which calls share the rows of partitions that are not mapped; null if
// all partitions are mapped. Joins the row cache of this machine if the options ask for one. If a
// daemon does not say which data it has, warns and uses no cache.
std::unique_ptr<SharedRows> ShareRows(const Options& options, const GraphMeta& meta,
                                      const PartitionFeatures& merged,
                                      const std::vector<std::shared_ptr<DaemonLink>>& links,
                                      const std::vector<std::shared_ptr<const Partition>>& mapped,
                                      const std::vector<uint64_t>& data_ids) {
  uint64_t data = 0, cache_bytes = options.row_cache;
  std::vector<bool> is_remote(links.size());
  for (const char c : meta.graph_name) data = CombineKeys(data, static_cast<unsigned char>(c));
  for (size_t p = 0; p < links.size(); p++) {
    data = CombineKeys(data, data_ids[p]);
    is_remote[p] = mapped[p] == nullptr;
    if (is_remote[p] && data_ids[p] == 0 && cache_bytes != 0) {
      LogWarning("the graphd at ", links[p]->peer(), " does not say which data it has, so that no ",
                 "rows are cached: it is older than this client, or a file changed while it was ",
                 "loaded, which its log says; upgrade it, or load the graph again");
      cache_bytes = 0;
    }
  }
  if (std::ranges::none_of(is_remote, std::identity())) return nullptr;
  return std::make_unique<SharedRows>(cache_bytes, data, meta.book, is_remote, merged.nodes,
                                      merged.edges);
}

std::shared_ptr<GraphAccess> Connect(const Options& options) {
  if (options.ip_config.empty()) {
    Throw(ErrorCode::kInvalid, "no ip_config given (GRAPHD_IP_CONFIG) to find server '",
          options.server_name, "'");
  }
  CheckServerName(options.server_name);
  const std::vector<HostLine> hosts = ReadIpConfig(options.ip_config);
  const std::vector<DaemonAddress> daemons = DaemonsOf(hosts);
  CheckMachineRole(options, daemons);
  auto thread = MakeAbandonedInChildren<RpcThread>();
  auto buffers = BufferPool::Create();
  auto traffic = std::make_shared<Traffic>();
  std::vector<std::shared_ptr<DaemonLink>> links(hosts.size());
  std::vector<std::shared_ptr<const Partition>> mapped(hosts.size());
  std::vector<std::shared_ptr<TensorPort>> ports(hosts.size());
  std::shared_ptr<DaemonLink> first;
  std::shared_ptr<const GraphMeta> meta;
  std::optional<std::string> version;  // the graph's, which the first daemon decides
  std::vector<PartitionFeatures> features;
  std::vector<uint64_t> data_ids(hosts.size());
  for (const DaemonAddress& address : daemons) {
    auto link = MakeAbandonedInChildren<DaemonLink>(thread, buffers, traffic, options, address);
    const auto port = MakeLinkPort(link);
    AttachInfo info = link->Attach(meta, version);
    if (static_cast<size_t>(info.meta->book.num_partitions()) != hosts.size()) {
      Throw(ErrorCode::kInvalid, "graph '", info.meta->graph_name, "' has ",
            info.meta->book.num_partitions(), " partitions, ", options.ip_config, " ", hosts.size(),
            " lines; write one line per partition (lines may name the same daemon)");
    }
    for (PartId part : address.parts) {
      auto serves = [part](const PartitionFeatures& served) { return served.part == part; };
      auto found = std::find_if(info.partitions.begin(), info.partitions.end(), serves);
      if (found == info.partitions.end()) {
        Throw(ErrorCode::kNotFound, "the graphd at ", link->peer(), " does not serve partition ",
              part, "; check --part_id there and the order of lines in ", options.ip_config);
      }
      links[static_cast<size_t>(part)] = link;
      ports[static_cast<size_t>(part)] = port;
      data_ids[static_cast<size_t>(part)] = found->data_id;
      features.push_back(std::move(*found));
    }
    for (const auto& partition : info.mapped) {
      mapped[static_cast<size_t>(partition->id())] = partition;
    }
    if (first) {
      CheckSameGraph(*meta, *info.meta, first->peer(), link->peer());
    } else {
      first = link;
      meta = info.meta;
      version = info.version;
    }
  }
  PartitionFeatures merged = MergeFeatures(*meta, std::move(features));
  auto shared = ShareRows(options, *meta, merged, links, mapped, data_ids);
  return std::make_shared<GraphAccess>(meta, std::move(merged.nodes), std::move(merged.edges),
                                       std::move(mapped), std::move(links), std::move(ports),
                                       std::move(traffic), options.timeout, std::move(shared));
}

// Returns a partition of this machine or, if this machine has none, any partition.
PartId NearestPartition(const Options& options, const GraphAccess& access) {
  std::vector<PartId> here;
  const PartId parts = access.meta().book.num_partitions();
  for (PartId p = 0; p < parts; p++) {
    if (access.is_mapped(p)) here.push_back(p);
  }
  if (here.empty()) return static_cast<PartId>(options.rank % parts);
  return here[static_cast<size_t>(options.local_rank) % here.size()];
}

}  // namespace

Options Options::FromEnvironment() {
  Options options;
  options.server_name = EnvironmentText("GRAPHD_SERVER_NAME");
  options.ip_config = EnvironmentText("GRAPHD_IP_CONFIG");
  options.part_config = EnvironmentText("GRAPHD_PART_CONFIG");
  options.state_dir = EnvironmentText("GRAPHD_STATE_DIR");
  options.job_secret = EnvironmentText("GRAPHD_JOB_SECRET");
  options.keys = EnvironmentText("GRAPHD_KEYS");
  options.secret_file = EnvironmentText("GRAPHD_SECRET");
  JobEnvironment job = ReadJobEnvironment();
  options.job_id = std::move(job.job_id);
  options.rank = job.rank;
  options.world_size = job.world_size;
  options.local_rank = job.local_rank;
  options.local_world_size = job.local_world_size;
  options.role = ParseMachineRole(EnvironmentText("GRAPHD_ROLE"), "GRAPHD_ROLE");
  options.remote_trainers = EnvironmentInt("GRAPHD_REMOTE_TRAINERS", 0, 0, 1 << 20);
  options.part = EnvironmentInt("GRAPHD_PART_ID", -1, 0, 1 << 20);
  options.row_cache = EnvironmentBytes("GRAPHD_ROW_CACHE");
  options.num_samplers = EnvironmentInt("GRAPHD_NUM_SAMPLERS", 0, 0, 1024);
  options.timeout = std::chrono::seconds(
      EnvironmentInt("GRAPHD_TIMEOUT", 30, 1, static_cast<int>(kLongestTimeout.count())));
  const std::string transport = EnvironmentText("GRAPHD_TRANSPORT");
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
  CheckVectorBits();
  const auto check = [](const char* what, int value, int64_t most, const char* variables) {
    if (value < 0 || value > most) {
      Throw(ErrorCode::kInvalid, what, " ", value, " is outside 0..", most, "; see ", variables);
    }
  };
  check("rank", options.rank, int64_t{options.world_size} - 1, "RANK and WORLD_SIZE");
  check("local rank", options.local_rank, int64_t{options.local_world_size} - 1,
        "LOCAL_RANK and LOCAL_WORLD_SIZE");
  check("number of remote trainers", options.remote_trainers, options.world_size,
        "GRAPHD_REMOTE_TRAINERS and WORLD_SIZE");
  // Calls of the system take timeouts as int milliseconds, which end at 24 days.
  if (options.timeout.count() < 0 || options.timeout > kLongestTimeout) {
    Throw(ErrorCode::kInvalid, "timeout of ", options.timeout.count(), " ms: expected 0 to ",
          kLongestTimeout.count(), " s; see GRAPHD_TIMEOUT");
  }
  options.is_worker = options.is_worker || IsWorker(options);
  if (options.job_id.empty() && !options.server_name.empty()) {
    if (options.world_size > 1) {
      Throw(
          ErrorCode::kInvalid, "this is one of ", options.world_size,
          " trainers (WORLD_SIZE), and nothing says of which job; set GRAPHD_JOB_ID to any text, ",
          "the same for all of them, or give a job_id to initialize, or start them with graphctl ",
          "launch, torchrun or srun");
    }
    // Both connections of a trainer must name the same job.
    std::random_device random;
    options.job_id = StrCat("anonymous-", std::hex, random(), random());
    options.job_secret = NewSecret();
  }
  auto access = options.server_name.empty() ? OpenStandalone(options) : Connect(options);
  if (options.part < 0) options.part = NearestPartition(options, *access);
  check("partition", options.part, access->meta().book.num_partitions() - 1, "GRAPHD_PART_ID");
  return std::make_shared<SessionImpl>(std::move(options), std::move(access));
}

}  // namespace graphd
