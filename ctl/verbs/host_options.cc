// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/host_options.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/ssh/ssh_link.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

// Returns the path of a file that is looked for first relative to the workspace, as DGL's launcher
// does, and then relative to the working directory. For the message if there is none, `what` says
// which file it is, and `lines` what its lines must contain.
std::string FindForReading(const std::string& path, const std::string& workspace, const char* what,
                           const char* lines) {
  std::string first = JoinPath(workspace, path);
  if (FileExists(first)) return first;
  std::string second = std::filesystem::absolute(path).string();
  if (FileExists(second)) return second;
  Throw(ErrorCode::kNotFound, what, " ", path, " does not exist (looked for ", first,
        first == second ? "" : " and " + second, "); it must have a line ", lines);
}

void OnEvent(const HostEvent& event, const HostPlan& host, HostAnswer& answer, bool& closed) {
  if (event.kind == HostEvent::Kind::kNoise) {
    std::fprintf(stderr, "[%s] %s\n", host.name.c_str(), event.text.c_str());
  } else if (event.kind == HostEvent::Kind::kClosed) {
    closed = true;
    if (!answer.ok && answer.error.empty()) {
      answer.code = event.code;
      answer.error = event.text.empty() ? "its graphctl ended without an answer" : event.text;
    }
  } else {
    const std::string kind = ValueOr(event.header, "t", "");
    if (kind == "done") {
      answer.ok = answer.error.empty();
    } else if (kind == "error") {
      answer.code = ErrorCodeFromName(ValueOr(event.header, "code", ""));
      answer.error = ValueOr(event.header, "text", "it failed");
    } else if (kind == "notice") {
      std::fprintf(stderr, "graphctl: %s: %s\n", host.name.c_str(),
                   ValueOr(event.header, "text", "").c_str());
    } else if (kind == "hello") {
      if (ValueOr(event.header, "version", "?") == GRAPHD_VERSION) return;
      answer.code = ErrorCode::kVersion;
      answer.error =
          StrCat("it has graphctl ", ValueOr(event.header, "version", "?"),
                 ", and this machine has ", GRAPHD_VERSION, "; install the same version on both");
    } else {
      answer.frames.push_back(event.header);
      answer.clock =
          std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
              .count();
    }
  }
}

}  // namespace

std::string OwnPath() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) Throw(ErrorCode::kIo, "can't read /proc/self/exe: ", error.message());
  return path;
}

void AddServerName(CLI::App& verb, HostOptions& options) {
  verb.add_option(Flags("server_name"), options.server.server_name,
                  "Name of the server; jobs with the same name share it")
      ->default_val("default");
}

void AddHostOptions(CLI::App& verb, HostOptions& options) {
  verb.add_option(Flags("ip_config"), options.ip_config,
                  "File with a line 'address [port [trainers]]' per partition; relative to the "
                  "workspace");
  verb.add_option(Flags("workspace"), options.workspace,
                  "Directory of the job's files on every host; trainers run in it (default: the "
                  "working directory)");
  verb.add_option(Flags("runtime_dir"), options.server.runtime_dir,
                  "Directory of sockets and logs on every host (default: $GRAPHD_RUNTIME_DIR, else "
                  "/run/graphd or the user's own)");
  AddSshOptions(verb, options.graphctl, options.ssh);
}

void AddTrainerHostsOption(CLI::App& verb, HostOptions& options) {
  verb.add_option(Flags("trainer_hosts"), options.trainer_hosts,
                  "File with a line 'address [trainers]' per host that serves no partition and "
                  "only runs trainers; relative to the workspace");
}

void AddSshOptions(CLI::App& verb, std::string& graphctl, SshOptions& ssh) {
  const CLI::Range seconds(0.1, 86400.0);
  verb.add_option(Flags("graphctl"), graphctl,
                  "Path of graphctl on remote hosts (default: the same as here)");
  verb.add_option(Flags("ssh_port"), ssh.port,
                  "Port of the hosts' sshd (default: as in ssh_config)")
      ->check(CLI::Range(1, 65535));
  verb.add_option(Flags("ssh_username"), ssh.username,
                  "User on the hosts (default: as in ssh_config)");
  verb.add_option(Flags("ssh_config"), ssh.config_file,
                  "Configuration to use instead of ~/.ssh/config and /etc/ssh/ssh_config");
  verb.add_flag(Flags("ssh_accept_new"), ssh.accept_new,
                "Add unknown hosts to known_hosts (a changed key is always rejected)");
  verb.add_option(Flags("connect_timeout"), ssh.connect_timeout, "Seconds to wait for a connection")
      ->default_val(10)
      ->check(seconds);
  verb.add_option(Flags("host_timeout"), ssh.host_timeout,
                  "Seconds of silence until a remote host, or its launcher on that host, is lost")
      ->default_val(20)
      ->check(seconds);
}

void AddServerStartOptions(CLI::App& verb, HostOptions& options) {
  ServerSpec& server = options.server;
  verb.add_option(Flags("part_config"), server.part_config,
                  "Part config (<graph>.json) on every host; relative to the workspace");
  verb.add_option(Flags("num_servers"), server.num_servers,
                  "Worker threads of each daemon (default: the daemon's choice)")
      ->check(CLI::Range(1, 4096));
  verb.add_option(Flags("state_dir"), server.state_dir,
                  "Directory of tensors and embeddings on every host (default: "
                  "/var/lib/graphd, or ~/.local/state/graphd)");
  verb.add_option("--durability", server.durability,
                  "Failures that changes of tensors survive: none, process (kill -9 of the daemon; "
                  "the default) or power (loss of power, too)")
      ->check(CLI::IsMember({"none", "process", "power"}));
  verb.add_option(
      Flags("memory_dir"), server.memory_dir,
      "The tmpfs, on every host, for tensor memory that survives a killed daemon (default: the "
      "daemon's choice)");
  verb.add_option(Flags("embedding_memory"), server.embedding_memory,
                  "Memory for tensors and optimisers' state of each daemon, e.g. 64GiB (default: "
                  "no limit)")
      ->transform(CLI::AsSizeValue(false));
  verb.add_option(Flags("graphd"), server.graphd,
                  "Path of graphd on every host (default: beside graphctl)");
  verb.add_option("--keys", server.keys,
                  "Directory of keys on every host (graphctl keys), or 'default' for that of the "
                  "server's name: daemons and trainers speak TLS over TCP");
  verb.add_option(
          "--secret", server.secret,
          "File of a shared secret on every host (graphctl keys create --shared_secret), or "
          "'default' for secret.key of the server's name: daemons and trainers prove over "
          "TCP that they know it, without encryption")
      ->excludes("--keys");
  verb.add_flag(Flags("insecure"), server.insecure,
                "Let daemons listen beyond loopback, to anyone who can reach them");
  verb.add_option(Flags("start_timeout"), server.start_timeout,
                  "Seconds that a daemon may take to load its partitions")
      ->default_val(600)
      ->check(CLI::Range(0.001, 1e9, "POSITIVE"));
}

void Resolve(HostOptions& options) {
  options.own_path = OwnPath();
  if (options.graphctl.empty()) options.graphctl = options.own_path;
  options.workspace = std::filesystem::absolute(options.workspace.empty() ? "." : options.workspace)
                          .lexically_normal()
                          .string();
  if (options.workspace.size() > 1 && options.workspace.back() == '/') options.workspace.pop_back();
  ServerSpec& server = options.server;
  CheckServerName(server.server_name);
  // If no path is given, each host runs the graphd beside its own graphctl.
  if (!server.graphd.empty()) server.graphd = std::filesystem::absolute(server.graphd).string();
  if (server.runtime_dir.empty()) {
    if (const char* given = std::getenv("GRAPHD_RUNTIME_DIR")) server.runtime_dir = given;
  }
  if (!server.runtime_dir.empty()) {
    server.runtime_dir = std::filesystem::absolute(server.runtime_dir).string();
  }
  if (!server.state_dir.empty()) {
    server.state_dir = std::filesystem::absolute(server.state_dir).string();
  }
  if (!server.memory_dir.empty()) {
    server.memory_dir = std::filesystem::absolute(server.memory_dir).string();
  }
  if (!server.keys.empty() && server.keys != "default") {
    server.keys = std::filesystem::absolute(server.keys).string();
  }
  if (!server.secret.empty() && server.secret != "default") {
    server.secret = std::filesystem::absolute(server.secret).string();
  }
  if (!server.part_config.empty()) {
    const std::string in_workspace = JoinPath(options.workspace, server.part_config);
    const std::string here = std::filesystem::absolute(server.part_config).string();
    // It can't be checked from here whether other hosts have the file. They should have it in their
    // workspace.
    server.part_config = !FileExists(in_workspace) && FileExists(here) ? here : in_workspace;
  }
  if (!options.trainer_hosts.empty()) {
    const std::string file =
        FindForReading(options.trainer_hosts, options.workspace, "--trainer_hosts",
                       "'address [trainers]' for each host without a partition");
    options.trainers_only = ReadTrainerHosts(file);
    options.trainer_hosts = file;
  }
  if (options.ip_config.empty()) return;
  const std::string found = FindForReading(options.ip_config, options.workspace, "ip_config",
                                           "'address [port [trainers]]' for each partition");
  options.ip_config_text = ReadTextFile(found, size_t{1} << 20);
  options.lines = ParseIpConfig(options.ip_config_text, found);
  options.ip_config = found;
}

std::vector<HostAnswer> AskHosts(
    const std::vector<HostPlan>& hosts, const HostOptions& options,
    const std::function<void(size_t host, const nlohmann::json& frame)>& on_progress,
    const std::function<void()>& on_wait) {
  ::signal(SIGPIPE, SIG_IGN);
  EventQueue queue;
  const LinkOpener open_link = LinksOverSsh(options.own_path, options.graphctl, options.ssh);
  std::vector<std::unique_ptr<HostLink>> links;
  for (size_t i = 0; i < hosts.size(); i++) {
    HostOrder order = hosts[i].order;
    order.version = GRAPHD_VERSION;
    links.push_back(open_link(i, hosts[i], queue));
    links.back()->Send(EncodeOrder(order));
  }
  std::vector<HostAnswer> answers(hosts.size());
  size_t open = hosts.size(), prepared = 0;
  bool is_decided = false;
  // Sends all hosts the line by which they complete a switch of the graph (kCommitLine), because
  // all have prepared it, or give it up (kAbortLine).
  const auto decide = [&](const char* line) {
    if (is_decided) return;
    is_decided = true;
    for (const auto& link : links) link->Send(line);
  };
  while (open > 0) {
    pollfd ready{queue.fd(), POLLIN, 0};
    ::poll(&ready, 1, on_wait ? 100 : 1000);
    if (on_wait) on_wait();
    for (const HostEvent& event : queue.TakeAll()) {
      if (event.kind == HostEvent::Kind::kFrame &&
          ValueOr(event.header, "t", std::string()) == "progress") {
        if (on_progress) on_progress(event.host, event.header);
        continue;
      }
      if (event.kind == HostEvent::Kind::kFrame &&
          ValueOr(event.header, "t", std::string()) == "prepared") {
        if (++prepared == hosts.size()) decide(kCommitLine);
        continue;
      }
      bool closed = false;
      OnEvent(event, hosts[event.host], answers[event.host], closed);
      open -= closed ? 1 : 0;
      const bool failed = closed || !answers[event.host].error.empty();
      if (failed && hosts[event.host].order.control.verb == ControlVerb::kSwitch) {
        decide(kAbortLine);
      }
    }
  }
  return answers;
}

}  // namespace graphd::ctl
