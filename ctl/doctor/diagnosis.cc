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

// If the clocks of two machines differ by more than kClockFault seconds, a certificate that has
// just been made on one of them is not valid yet on the other.
constexpr double kClockFault = 60, kClockWarning = 1;
constexpr uint64_t kLeastDescriptors = 4096;
constexpr uint64_t kLeastDisk = uint64_t{64} << 20, kLittleDisk = uint64_t{1} << 30;
constexpr uint64_t kLittleMemoryDir = uint64_t{256} << 20;

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
      if (!host.only_trainers) {
        CheckDirectories(*host.facts);
        CheckServer(host.server, *host.facts);
      }
      CheckReach(*host.facts);
      if (!host.only_trainers) CheckGraph(host.server, *host.facts);
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
    if (host.only_trainers) return;
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
    const bool is_guarded = !server.keys.empty() || !server.secret.empty() || server.insecure;
    // A server for this machine alone listens only at its Unix socket, so it needs no port.
    if (!facts.port_error.empty() && (is_guarded || !facts.is_loopback)) {
      Fault(StrCat("no server can listen at ", HostPort(server.address, server.port), ": ",
                   facts.port_error),
            "give another address or port, or end what is in the way");
    }
    if (server.among_others && facts.is_loopback) {
      Fault(StrCat(server.address,
                   " is a loopback address on this host (see its /etc/hosts), and the other hosts "
                   "can't reach it"),
            "write its address in the network into ip_config");
    } else if (!is_guarded && !facts.is_running && !facts.is_loopback) {
      Fault("nothing says who may connect from other machines, so the daemon refuses to listen",
            "give --keys or --secret (graphctl keys create), or --insecure in a network of your "
            "own");
    }
  }

  // Reports keys that can't be used, and daemons that can't be reached.
  void CheckReach(const HostFacts& facts) {
    if (!facts.keys_error.empty()) {
      Fault(facts.keys_error, "make keys or a secret, and distribute them: see graphctl-keys(1)");
    }
    for (const std::string& peer : facts.unreachable) {
      const bool has_no_address = peer.find("can't be resolved") != std::string::npos;
      Fault(StrCat("it can't reach ", peer),
            has_no_address ? "write addresses into ip_config that every host knows"
                           : "let firewalls and routes between the hosts pass it");
    }
  }

  void CheckGraph(const ServerSpec& server, const HostFacts& facts) {
    if (facts.part_config.empty()) return;
    const std::string copy = "copy the partitions: graphctl copy";
    if (!facts.part_config_error.empty()) {
      return Fault(facts.part_config_error,
                   "give the right --part_config, relative to --workspace, or " + copy);
    }
    if (facts.is_running &&
        (facts.running_graph != facts.graph || facts.running_parts != facts.num_parts)) {
      Fault(StrCat("the server '", server.server_name, "' runs with graph '", facts.running_graph,
                   "' in ", facts.running_parts, " partitions, and ", facts.part_config,
                   " is graph '", facts.graph, "' in ", facts.num_parts),
            "give another --server_name, or stop it: graphctl server stop");
    }
    if (facts.num_parts != server.num_parts) {
      Fault(StrCat(facts.part_config, " has ", facts.num_parts, " partitions, and ip_config ",
                   server.num_parts, " lines"),
            "write a line per partition; lines may name the same daemon");
    }
    for (const PartitionFacts& partition : facts.partitions) {
      if (!partition.error.empty()) Fault(partition.error, copy);
    }
  }

  // Reports hosts whose part config differs from the most frequent one. If several are equally
  // frequent, the hosts are compared with the first host that has one of these.
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
