// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/directory.h"
#include "base/processor.h"
#include "base/strings.h"
#include "daemon/config_error.h"
#include "daemon/metrics/peer_addresses.h"
#include "daemon/serving/log_level.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  graphd --server_name ogb-product --part_config data/ogb-product.json --part_id 0\n"
    "  graphd --config /etc/graphd/ogb-product.conf\n"
    "See graphd(8), graphd.conf(5).";

constexpr uint64_t kLeastPeerMemory = uint64_t{64} << 20;

// Returns both spellings: --part_id, as DGL writes options, and --part-id.
std::string Both(std::string name) {
  std::string flag = "--" + name;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name == flag ? flag : flag + ",--" + name;
}

// Throws unless the text is the address of another server's metrics: host:port.
void CheckPeer(const std::string& text, const std::string& place) {
  const auto is_part_of_host = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
  };
  try {
    const auto [host, port] = ParseHostPort(text);
    const bool names_port = text.ends_with(StrCat(":", port));
    const bool is_address = text.starts_with('[') || host.find(':') == std::string::npos;
    if (names_port && port != 0 && is_address && std::ranges::all_of(host, is_part_of_host)) return;
  } catch (const Error& error) {
    Throw(error.code(), place, "--metrics_peers: ", error.what());
  }
  Throw(ErrorCode::kInvalid, place, "--metrics_peers: '", text,
        "' is not an address of a server's metrics; write host:port, as its --metrics has it, and "
        "brackets around an IPv6 address");
}

// Throws unless the options that protect TCP can be used together.
void CheckGuardOfTcp(const DaemonOptions& options) {
  std::vector<const char*> given;
  if (!options.keys.empty()) given.push_back("--keys");
  if (!options.secret.empty()) given.push_back("--secret");
  if (options.access.insecure) given.push_back("--insecure");
  if (given.size() > 1) {
    Throw(ErrorCode::kInvalid, given[0], " and ", given[1], " exclude each other: --keys admits ",
          "clients with a certificate over TCP, --secret those with the shared secret, and ",
          "--insecure everybody; give one of them");
  }
  if (options.address.empty() && !given.empty()) {
    Throw(ErrorCode::kInvalid, given[0], " says who may come over TCP, and without --listen this ",
          "graphd serves its Unix socket only; give --listen host:port, or leave ", given[0],
          " out");
  }
}

}  // namespace

std::string StoreName(const DaemonOptions& options) {
  std::vector<std::string> parts;
  for (const PartId part : options.parts) parts.push_back(StrCat(part));
  return "part-" + Join(parts, "-");
}

std::string StoreDirectory(const DaemonOptions& options) {
  return StrCat(options.state_dir, "/", options.server_name, "/", StoreName(options));
}

std::string JobsPath(const DaemonOptions& options) { return StoreDirectory(options) + ".jobs"; }

std::string JobRecordsPath(const DaemonOptions& options) {
  return StoreDirectory(options) + ".job-records";
}

std::string SwitchPath(const DaemonOptions& options) {
  return StoreDirectory(options) + ".switched";
}

std::string CheckpointsDirectory(const DaemonOptions& options) {
  return StrCat(options.state_dir, "/", options.server_name, "/checkpoints");
}

std::optional<DaemonOptions> ParseOptions(int argc, char** argv) {
  DaemonOptions options;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  options.compute_threads = cores;
  options.data_threads = std::min<size_t>(cores, 4);
  options.runtime_dir = RuntimeDir();
  if (const char* given = std::getenv("GRAPHD_MEMORY_DIR")) options.memory_dir = given;
  std::string listen, metrics, level = "info";
  options.port = kDefaultPort;

  CLI::App app("graphd: serves partitions of a graph to training jobs, and outlives them");
  app.footer(kFooter);
  app.set_version_flag("--version", "graphd " GRAPHD_VERSION);
  app.set_config("--config", "", "File with any of these options, as name = value lines");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.add_option(Both("server_name"), options.server_name, "Name by which jobs find this server")
      ->required();
  app.add_option(Both("part_config"), options.part_config,
                 "Part config (<graph_name>.json) of the graph")
      ->required();
  app.add_option(Both("part_id"), options.parts, "Partitions to serve, e.g. 0 or 0,1")
      ->required()
      ->delimiter(',');
  app.add_option("--index", options.indexes,
                 "Build a derived array before serving: out:EDGE_TYPE, "
                 "alias:EDGE_TYPE/WEIGHT or order:EDGE_TYPE/FEATURE; repeatable")
      ->allow_extra_args(false);
  CLI::Option* const to_listen = app.add_option(
      "--listen", listen,
      "Serve clients over TCP, too, at this host:port (default: over the Unix socket only)");
  app.add_option("--port", options.port,
                 "Port by which ip_config names this graphd, without TCP: the name of its Unix "
                 "socket")
      ->check(CLI::Range(1, 65535))
      ->excludes(to_listen)
      ->capture_default_str();
  app.add_option(
      "--keys", options.keys,
      "Directory of keys (graphctl keys), or 'default' for /etc/graphd/keys/<server_name> "
      "or ~/.config/graphd/keys/<server_name>: TCP then speaks TLS only, and clients are "
      "known by their certificates");
  app.add_option("--secret", options.secret,
                 "File with a secret that clients over TCP must know, too (graphctl keys create "
                 "--shared_secret), or 'default' for secret.key in the default directory of keys; "
                 "connections are not encrypted");
  app.add_option(Both("runtime_dir"), options.runtime_dir,
                 "Directory of the Unix sockets: <dir>/<server_name>/<port>.sock")
      ->capture_default_str();
  app.add_option(Both("state_dir"), options.state_dir,
                 "Directory of distributed tensors and embeddings: "
                 "<dir>/<server_name>/part-<part_id>, made with the first tensor (default: "
                 "/var/lib/graphd, or .local/state/graphd in a user's home)");
  app.add_option("--durability", options.durability,
                 "What an acknowledged change of a tensor survives: none; process: the "
                 "end of graphd, kill -9 included; power: the loss of power, too")
      ->check(CLI::IsMember({"none", "process", "power"}))
      ->capture_default_str();
  app.add_option(Both("memory_dir"), options.memory_dir,
                 "A tmpfs for the memory of tensors, where the next graphd finds them after "
                 "kill -9; used if durability is process and memory has no limit "
                 "(default: $GRAPHD_MEMORY_DIR, or /dev/shm if it can be written)");
  app.add_option(Both("embedding_memory"), options.embedding_memory,
                 "Memory of tensors and optimisers' state, e.g. 64GiB; the rest is on "
                 "disk only (default: no limit)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option(Both("write_back_seconds"), options.write_back_seconds,
                 "Period of the rounds that write changed rows from memory to disk; after a crash "
                 "the next start replays the changes since the last round (default: 300 if memory "
                 "survives graphd, see --memory_dir; else 30)")
      ->check(CLI::Range(0.01, 86400.0));
  app.add_option(Both("num_servers"), options.compute_threads, "Computing threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option(Both("data_threads"), options.data_threads, "Threads that serve connections")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option(Both("max_connections"), options.max_connections,
                 "Connections beyond this many are refused")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option(Both("write_timeout"), options.write_timeout,
                 "Seconds after which a connection is closed whose client does not read an answer")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option(Both("hang_timeout"), options.hang_timeout,
                 "Seconds after which a thread of a pool or of the store hangs that makes no "
                 "progress with its work; systemd's watchdog then replaces the server")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option(Both("peer_memory"), options.peer_memory,
                 "Memory for requests and answers of all clients, e.g. 8GiB; shared fairly between "
                 "jobs (default: an eighth of the machine's or cgroup's, at least 2GiB, at most "
                 "half)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option(Both("index_memory"), options.index_memory,
                 "Memory for indexes, the arrays that are made from the graph when clients first "
                 "need them, e.g. 8GiB; those unused for a minute make room for others (default: "
                 "what the machine or cgroup has available)")
      ->transform(CLI::AsSizeValue(false));
  const char* const who = "user:NAME, group:NAME, cert:NAME, secret or all; repeatable";
  app.add_option(Both("allow_read"), options.access.readers,
                 StrCat("Who may read the graph and tensors: ", who))
      ->allow_extra_args(false);
  app.add_option(Both("allow_write"), options.access.writers,
                 StrCat("Who may also change tensors and make checkpoints: ", who))
      ->allow_extra_args(false);
  app.add_option(Both("allow_operate"), options.access.operators,
                 StrCat("Who may also restore and delete checkpoints and stop graphd: ", who,
                        " (graphd's own user always, and its group of the same name "
                        "if no list names a user, a group or all)"))
      ->allow_extra_args(false);
  app.add_option(Both("weight"), options.access.weights,
                 "The share of somebody's jobs while several are served: user:NAME=WEIGHT, "
                 "group:NAME=WEIGHT, cert:NAME=WEIGHT or all=WEIGHT; repeatable, the first that "
                 "fits counts (default: 1)")
      ->allow_extra_args(false);
  app.add_flag("--insecure", options.access.insecure,
               "Allow a --listen address beyond loopback, without encryption or authentication; "
               "everyone who reaches the port may do everything but stop graphd");
  CLI::Option* const to_metrics =
      app.add_option("--metrics", metrics,
                     "Serve metrics for Prometheus at http://host:port/metrics (default: nowhere)");
  app.add_flag(Both("metrics_insecure"), options.metrics_insecure,
               "Allow a --metrics address beyond loopback; everyone who reaches the port may read "
               "the metrics")
      ->needs(to_metrics);
  app.add_option(Both("metrics_peers"), options.metrics_peers,
                 "Addresses of other servers' metrics, host:port,...: the page for people at "
                 "http://host:port/ then shows all servers and their jobs")
      ->delimiter(',')
      ->needs(to_metrics);
  app.add_flag(Both("check_config"), options.check_config,
               "Check these options and the headers of the files they name, without loading or "
               "serving; exit with 0 if all is well");
  app.add_flag(Both("end_with_jobs"), options.end_with_jobs,
               "End when the last job has left, or no job has attached for a minute");
  app.add_option(Both("log_file"), options.log_file, "Append the log here (default: stderr)");
  app.add_option(Both("log_level"), level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    Throw(ErrorCode::kInvalid, ExplainParseError(app, error));
  }
  if (const CLI::Option* config = app.get_config_ptr(); config->count() > 0) {
    options.config = config->results().back();
  }
  options.log_level = LogLevelFromName(level).value_or(LogLevel::kInfo);
  if (options.peer_memory != 0 && options.peer_memory < kLeastPeerMemory) {
    Throw(ErrorCode::kInvalid, PlaceOf(options.config, "peer_memory"), "--peer_memory ",
          HumanBytes(options.peer_memory), " is too small to answer clients; give at least ",
          HumanBytes(kLeastPeerMemory));
  }
  CheckServerName(options.server_name);
  CheckVectorBits();
  if (options.state_dir.empty()) options.state_dir = DefaultStateDir();
  const auto parse_address = [&options](const char* name, const std::string& text) {
    try {
      return ParseHostPort(text);
    } catch (const Error& error) {
      throw Error(error.code(),
                  StrCat(PlaceOf(options.config, name), "--", name, ": ", error.what()));
    }
  };
  if (!listen.empty()) std::tie(options.address, options.port) = parse_address("listen", listen);
  if (!metrics.empty()) {
    std::tie(options.metrics_address, options.metrics_port) = parse_address("metrics", metrics);
  }
  if (options.metrics_peers.size() > PeerAddresses::kMost) {
    Throw(ErrorCode::kInvalid, PlaceOf(options.config, "metrics_peers"), "--metrics_peers names ",
          options.metrics_peers.size(), " servers; at most ", PeerAddresses::kMost, " are shown");
  }
  for (const std::string& peer : options.metrics_peers) {
    CheckPeer(peer, PlaceOf(options.config, "metrics_peers"));
  }
  CheckGuardOfTcp(options);
  std::sort(options.parts.begin(), options.parts.end());
  if (std::adjacent_find(options.parts.begin(), options.parts.end()) != options.parts.end()) {
    Throw(ErrorCode::kInvalid, PlaceOf(options.config, "part_id"),
          "--part_id names a partition twice");
  }
  return options;
}

}  // namespace graphd
