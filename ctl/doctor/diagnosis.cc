// SPDX-License-Identifier: Apache-2.0
#include "ctl/doctor/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

// A clock that is wrong by more makes certificates invalid that have just been made.
constexpr double kClockFault = 60, kClockWarning = 1;
constexpr uint64_t kLeastDescriptors = 4096;
constexpr uint64_t kLeastDisk = uint64_t{64} << 20, kLittleDisk = uint64_t{1} << 30;
constexpr uint64_t kLittleMemoryDir = uint64_t{256} << 20;

bool IsLoopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

// Returns major * 1000 + minor of a kernel's release; 0 if it has another form.
int KernelVersion(const std::string& release) {
  int major = 0, minor = 0;
  return std::sscanf(release.c_str(), "%d.%d", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

class Examiner {
 public:
  explicit Examiner(const std::vector<ExaminedHost>& hosts) : hosts_(hosts) {}

  std::vector<Finding> Run() {
    for (host_ = 0; host_ < hosts_.size(); host_++) {
      const ExaminedHost& host = hosts_[host_];
      if (!host.facts) {
        Fault(host.error, "");
        continue;
      }
      CheckMachine(host, *host.facts);
      CheckDirectories(*host.facts);
      CheckServer(host.server, *host.facts);
      CheckGraph(host.server, *host.facts);
    }
    CompareGraphs();
    CheckMemory();
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.host < b.host; });
    return std::move(findings_);
  }

 private:
  void Add(Finding::Severity severity, std::string text, std::string remedy) {
    findings_.push_back({severity, host_, std::move(text), std::move(remedy)});
  }
  void Fault(std::string text, std::string remedy) {
    Add(Finding::Severity::kFault, std::move(text), std::move(remedy));
  }
  void Warn(std::string text, std::string remedy) {
    Add(Finding::Severity::kWarning, std::move(text), std::move(remedy));
  }

  void CheckMachine(const ExaminedHost& host, const HostFacts& facts) {
    const double apart = std::fabs(host.clock_ahead);
    if (apart > kClockWarning) {
      Add(apart > kClockFault ? Finding::Severity::kFault : Finding::Severity::kWarning,
          StrCat("its clock is ", Seconds(apart), host.clock_ahead > 0 ? " ahead" : " behind"),
          "let both machines follow a time server: `timedatectl set-ntp true`, or chrony");
    }
    if (facts.descriptors < kLeastDescriptors) {
      Fault(StrCat("a process may have ", facts.descriptors, " descriptors at most"),
            StrCat("raise the hard limit to ", kLeastDescriptors,
                   " or more: LimitNOFILE= of the unit, or /etc/security/limits.conf"));
    }
    const bool collapses = KernelVersion(facts.kernel) >= 6001;
    if (facts.shmem_pages == "deny" || (facts.shmem_pages == "never" && !collapses)) {
      Warn(StrCat("its kernel (", facts.kernel, ") gives shared memory no huge pages, as ",
                  "shmem_enabled is '", facts.shmem_pages, "'; reading rows takes longer"),
           "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled");
    }
  }

  void CheckDirectories(const HostFacts& facts) {
    if (!facts.state_dir_error.empty()) {
      Fault(StrCat("--state_dir ", facts.state_dir, ": ", facts.state_dir_error),
            "give another --state_dir, or let this user write there");
    } else if (facts.state_dir_free < kLittleDisk) {
      Add(facts.state_dir_free < kLeastDisk ? Finding::Severity::kFault
                                            : Finding::Severity::kWarning,
          StrCat("--state_dir ", facts.state_dir, " has ", HumanBytes(facts.state_dir_free),
                 " free, for tensors, embeddings and checkpoints"),
          "free disk space, or give a --state_dir on another disk");
    }
    if (!facts.memory_dir_error.empty()) {
      Fault(StrCat("--memory_dir ", facts.memory_dir, ": ", facts.memory_dir_error),
            "give a tmpfs that this user can write to");
    } else if (facts.memory_dir_free < kLittleMemoryDir) {
      Warn(StrCat("the tmpfs ", facts.memory_dir, " has ", HumanBytes(facts.memory_dir_free),
                  " free, for the rows of tensors and embeddings"),
           StrCat("enlarge it: `mount -o remount,size=50% ", facts.memory_dir,
                  "`, or remove what lies there"));
    }
  }

  void CheckServer(const ServerSpec& server, const HostFacts& facts) {
    if (!facts.graphd_error.empty()) {
      Fault(facts.graphd_error, "install graphd beside graphctl there, or give its path: --graphd");
    } else if (facts.graphd_version != "graphd " GRAPHD_VERSION) {
      Fault(StrCat(facts.graphd, " is '", facts.graphd_version, "', and this is graphctl ",
                   GRAPHD_VERSION),
            "install the same version on all machines");
    }
    if (!facts.port_error.empty()) {
      Fault(StrCat("no server can listen at ", HostPort(server.address, server.port), ": ",
                   facts.port_error),
            "correct the line in ip_config, or end what is in the way");
    }
    if (!facts.keys_error.empty()) {
      Fault(facts.keys_error, "distribute the keys: graphctl keys distribute");
    }
    const bool is_guarded = !server.keys.empty() || !server.secret.empty() || server.insecure;
    if (server.among_others && IsLoopback(server.address)) {
      Fault(StrCat(server.address, " is a loopback address, which the other hosts can't reach"),
            "write its address in the network into ip_config");
    } else if (!is_guarded && !facts.is_running && !IsLoopback(server.address)) {
      Fault("nothing says who may connect from other machines, so the daemon refuses to listen",
            "give --keys or --secret (graphctl keys create), or --insecure in a network of your "
            "own");
    }
    for (const std::string& peer : facts.unreachable) {
      Fault(StrCat("it can't reach ", peer), "let firewalls and routes between the hosts pass it");
    }
  }

  void CheckGraph(const ServerSpec& server, const HostFacts& facts) {
    if (facts.part_config.empty()) return;
    const std::string copy = "copy the partitions: graphctl copy";
    if (!facts.part_config_error.empty()) return Fault(facts.part_config_error, copy);
    if (facts.num_parts != server.num_parts) {
      Fault(StrCat(facts.part_config, " has ", facts.num_parts, " partitions, and ip_config ",
                   server.num_parts, " lines"),
            "write a line per partition; lines may name the same daemon");
    }
    for (const PartitionFacts& partition : facts.partitions) {
      if (!partition.error.empty()) Fault(partition.error, copy);
    }
  }

  // Reports hosts whose part config differs from that of most hosts, or else the first one's.
  void CompareGraphs() {
    std::map<std::string, size_t> counts;
    for (const ExaminedHost& host : hosts_) {
      if (host.facts && !host.facts->graph_checksum.empty()) counts[host.facts->graph_checksum]++;
    }
    const ExaminedHost* usual = nullptr;
    for (const ExaminedHost& host : hosts_) {
      if (!host.facts || host.facts->graph_checksum.empty()) continue;
      if (!usual || counts[host.facts->graph_checksum] > counts[usual->facts->graph_checksum]) {
        usual = &host;
      }
    }
    for (host_ = 0; usual && host_ < hosts_.size(); host_++) {
      const auto& facts = hosts_[host_].facts;
      if (!facts || facts->graph_checksum.empty()) continue;
      if (facts->graph_checksum == usual->facts->graph_checksum) continue;
      Fault(StrCat(facts->part_config, " describes another graph, '", facts->graph,
                   "', than that of ", usual->name, ", '", usual->facts->graph, "'"),
            "copy the partitions of one partitioning to all hosts: graphctl copy");
    }
  }

  // Compares the memory of each machine with what all of its daemons need.
  void CheckMemory() {
    std::map<std::string, uint64_t> needed;
    for (const ExaminedHost& host : hosts_) {
      if (!host.facts || host.facts->is_running) continue;
      for (const PartitionFacts& partition : host.facts->partitions) {
        needed[host.server.address] += partition.bytes;
      }
    }
    for (host_ = 0; host_ < hosts_.size(); host_++) {
      const ExaminedHost& host = hosts_[host_];
      const uint64_t bytes = needed[host.server.address];
      if (!host.facts || bytes <= host.facts->memory_available) continue;
      Fault(StrCat("its partitions need ", HumanBytes(bytes), " of memory, and it has ",
                   HumanBytes(host.facts->memory_available), " available of ",
                   HumanBytes(host.facts->memory_total)),
            "free memory, use more machines, or store features in fewer bytes (graphctl partition "
            "--store_as)");
      needed[host.server.address] = 0;  // once per machine
    }
  }

  const std::vector<ExaminedHost>& hosts_;
  size_t host_ = 0;  // the host that is being examined
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Diagnose(const std::vector<ExaminedHost>& hosts) {
  return Examiner(hosts).Run();
}

}  // namespace graphd::ctl
