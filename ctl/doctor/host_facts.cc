// SPDX-License-Identifier: Apache-2.0
#include "ctl/doctor/host_facts.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/directory.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "ctl/doctor/port_check.h"
#include "ctl/hosts/child.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "graph/id_json.h"
#include "tls/key_directory.h"
#include "tls/shared_secret.h"
#include "tls/tls_credentials.h"
#include "wire/ip_config.h"

namespace graphd::ctl {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PartitionFacts, part, bytes, error)

namespace {

namespace fs = std::filesystem;

constexpr const char* kShmemSetting = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
constexpr const char* kDefaultMemoryDir = "/dev/shm";

// Returns the free bytes of the file system that has, or will have, a directory. Sets `error` if
// this user can't write there.
uint64_t FreeBytes(const std::string& directory, std::string& error) {
  fs::path existing = directory;
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  struct statvfs space {};
  if (!fs::is_directory(existing, ignored)) {
    error = StrCat(existing.string(), " is not a directory");
  } else if (::access(existing.c_str(), W_OK | X_OK) != 0) {
    error = StrCat("this user can't write to ", existing.string(), ": ", std::strerror(errno));
  } else if (::statvfs(existing.c_str(), &space) != 0) {
    error = StrCat(existing.string(), ": ", std::strerror(errno));
  }
  return uint64_t{space.f_bavail} * space.f_frsize;
}

// Returns the current value of a kernel setting such as "always [advise] never": the word in
// brackets.
std::string Chosen(const char* path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const size_t begin = text.find('['), end = text.find(']');
  return begin == std::string::npos || end == std::string::npos
             ? ""
             : text.substr(begin + 1, end - begin - 1);
}

void CollectMachine(HostFacts& facts) {
  utsname system{};
  ::uname(&system);
  facts.kernel = system.release;
  facts.cores = static_cast<int>(std::thread::hardware_concurrency());
  facts.memory_total = TotalMemory();
  facts.memory_available = AvailableMemory().bytes;
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  facts.descriptors = descriptors.rlim_max;
}

void CollectDirectories(const ServerSpec& server, HostFacts& facts) {
  facts.shmem_pages = Chosen(kShmemSetting);
  facts.memory_dir = server.memory_dir.empty() ? kDefaultMemoryDir : server.memory_dir;
  facts.memory_dir_free = FreeBytes(facts.memory_dir, facts.memory_dir_error);
  facts.state_dir = server.state_dir.empty() ? DefaultStateDir() : server.state_dir;
  facts.state_dir_free = FreeBytes(facts.state_dir, facts.state_dir_error);
}

// Returns the first line that `program --version` prints. Throws Error if it does not answer in
// time.
std::string VersionOf(const std::string& program) {
  constexpr double kSeconds = 5;
  constexpr size_t kMostBytes = 256;
  const Child child = StartChild({program, "--version"});
  const Clock::time_point start = Clock::now();
  std::string text;
  bool ended = false;
  while (!ended && text.size() < kMostBytes && SecondsSince(start) < kSeconds) {
    pollfd output{child.out.get(), POLLIN, 0};
    if (::poll(&output, 1, 100) <= 0) continue;
    char bytes[kMostBytes];
    const ssize_t got = ::read(child.out.get(), bytes, sizeof bytes);
    ended = got <= 0;
    if (!ended) text.append(bytes, static_cast<size_t>(got));
  }
  if (!ended) ::kill(child.pid, SIGKILL);
  const int status = AwaitChild(child.pid);
  text = text.substr(0, std::min(text.find('\n'), kMostBytes));
  if (text.empty() || (ended && status != 0)) {
    Throw(ErrorCode::kUnavailable, program, " --version ",
          ended ? "fails" : StrCat("does not end within ", kSeconds, " seconds"));
  }
  return text;
}

// Finds the program that the supervisor would start, and asks for its version.
void CollectProgram(const ServerSpec& server, HostFacts& facts) {
  facts.graphd = server.graphd.empty()
                     ? JoinPath(DirName(CanonicalPath("/proc/self/exe")), "graphd")
                     : server.graphd;
  try {
    facts.graphd_version = VersionOf(facts.graphd);
  } catch (const Error& error) {
    facts.graphd_error = error.what();
  }
}

void CollectPort(const ServerSpec& server, HostFacts& facts) {
  facts.is_loopback = IsLoopbackAddress(server.address);
  const std::string socket = FindSocket(server.server_name, server.port, server.runtime_dir);
  try {
    if (FileExists(socket)) {
      constexpr std::chrono::milliseconds kTimeout{2000};
      const auto client = ControlClient::ConnectUnix(socket, kTimeout);
      const ServerStatus status = client->Status();
      facts.is_running = true;
      facts.running_graph = status.graph_name;
      facts.running_parts = status.num_parts;
      return;
    }
  } catch (const Error&) {
    // Nobody listens on this socket: its daemon was killed.
  }
  facts.port_error = WhyNotListen(server.address, server.port);
}

void CollectKeys(const ServerSpec& server, TlsSide side, HostFacts& facts) {
  try {
    if (!server.keys.empty()) {
      ReadTlsCredentials(KeyDirectory(server.keys, server.server_name), server.server_name, side);
    } else if (!server.secret.empty()) {
      SecretFile(server.secret, server.server_name);
    }
  } catch (const Error& error) {
    facts.keys_error = error.what();
  }
}

// Returns a checksum of a part config without the paths of its files, because these paths may
// differ between hosts.
std::string GraphChecksum(const std::string& path) {
  nlohmann::json config = nlohmann::json::parse(ReadTextFile(path));
  for (auto member = config.begin(); member != config.end();) {
    member = member.key().starts_with("part-") ? config.erase(member) : std::next(member);
  }
  const std::string text = config.dump();
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return hex;
}

void CollectGraph(const ServerSpec& server, HostFacts& facts) {
  facts.part_config = server.part_config;
  if (server.part_config.empty()) return;
  try {
    const PartConfig config = LoadPartConfig(server.part_config);
    facts.graph = config.meta->graph_name;
    facts.num_parts = config.meta->book.num_partitions();
    facts.graph_checksum = GraphChecksum(server.part_config);
    for (const PartId part : server.parts) {
      PartitionFacts& found = facts.partitions.emplace_back();
      found.part = part;
      try {
        found.bytes = EstimatePartitionBytes(config, part);
      } catch (const Error& error) {
        found.error = error.what();
      }
    }
  } catch (const std::exception& error) {
    facts.part_config_error = error.what();
  }
}

// Returns seconds since 1970. Must be called after all other facts are collected, because graphctl
// compares the result with its own clock when the answer arrives.
double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

HostFacts CollectHostFacts(const ServerSpec& server, const std::vector<std::string>& peers) {
  HostFacts facts;
  CollectMachine(facts);
  CollectDirectories(server, facts);
  CollectProgram(server, facts);
  CollectPort(server, facts);
  CollectKeys(server, TlsSide::kServer, facts);
  CollectGraph(server, facts);
  facts.unreachable = FindUnreachable(peers);
  facts.clock = Now();
  return facts;
}

HostFacts CollectTrainerFacts(const ServerSpec& server, const std::vector<std::string>& peers) {
  HostFacts facts;
  CollectMachine(facts);
  CollectKeys(server, TlsSide::kClient, facts);
  facts.unreachable = FindUnreachable(peers);
  facts.clock = Now();
  return facts;
}

#define GRAPHD_FACTS                                                                            \
  kernel, cores, memory_total, memory_available, descriptors, shmem_pages, clock, memory_dir,   \
      memory_dir_free, memory_dir_error, state_dir, state_dir_free, state_dir_error, graphd,    \
      graphd_version, graphd_error, is_running, running_graph, running_parts, is_loopback,      \
      port_error, keys_error, part_config, part_config_error, graph, graph_checksum, num_parts, \
      partitions, unreachable

void to_json(nlohmann::json& nlohmann_json_j, const HostFacts& nlohmann_json_t) {
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, GRAPHD_FACTS))
}

void from_json(const nlohmann::json& nlohmann_json_j, HostFacts& nlohmann_json_t) {
  NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, GRAPHD_FACTS))
}

#undef GRAPHD_FACTS

}  // namespace graphd::ctl
