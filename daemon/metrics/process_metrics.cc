// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/directory.h"
#include "base/strings.h"
#include "wire/graphd.capnp.h"

namespace graphd {
namespace {

// The fields of /proc/self/stat that are shown.
struct ProcessStat {
  double user = 0, system = 0, start = 0;  // ticks; `start` since the boot
  double threads = 0, virtual_bytes = 0, resident_pages = 0;
};

bool ReadStat(ProcessStat& out) {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // The second field, the program's name in parentheses, may contain anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  constexpr int kState = 3, kUser = 14, kThreads = 20, kStart = 22;
  for (int field = kState; field < kUser; field++) fields >> skipped;
  fields >> out.user >> out.system;
  for (int field = kUser + 2; field < kThreads; field++) fields >> skipped;
  fields >> out.threads >> skipped >> out.start >> out.virtual_bytes >> out.resident_pages;
  static_assert(kStart == kThreads + 2);
  return static_cast<bool>(fields);
}

// Returns the time at which the machine was started, in seconds since 1970; 0 if it is unknown.
double BootTime() {
  std::ifstream file("/proc/stat");
  std::string name;
  double seconds = 0;
  while (file >> name) {
    if (name == "btime" && file >> seconds) return seconds;
    std::getline(file, name);
  }
  return 0;
}

}  // namespace

void AddProcessMetrics(FamilyBuilder& to) {
  to.Gauge("graphd_build_info", "The version of graphd and of its protocol; always 1.")
      .Sample(
          1, {{"version", GRAPHD_VERSION}, {"protocol", StrCat(uint32_t{wire::PROTOCOL_VERSION})}});
  ProcessStat stat;
  if (ReadStat(stat)) {
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    to.Counter("process_cpu_seconds_total", "Processor time of the daemon.")
        .Sample((stat.user + stat.system) / ticks);
    if (const double boot = BootTime(); boot > 0) {
      to.Gauge("process_start_time_seconds", "Start of the daemon, in seconds since 1970.")
          .Sample(boot + stat.start / ticks);
    }
    to.Gauge("process_threads", "Threads of the daemon.").Sample(stat.threads);
    to.Gauge("process_virtual_memory_bytes", "Address space of the daemon.")
        .Sample(stat.virtual_bytes);
    to.Gauge("process_resident_memory_bytes",
             "Resident memory of the daemon, with the graph and the tensors that it shares.")
        .Sample(stat.resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  if (const size_t descriptors = ListReadable("/proc/self/fd").size(); descriptors > 0) {
    to.Gauge("process_open_fds", "Open file descriptors of the daemon.")
        .Sample(static_cast<double>(descriptors));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    to.Gauge("process_max_fds", "File descriptors that the daemon may open.")
        .Sample(static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace graphd
