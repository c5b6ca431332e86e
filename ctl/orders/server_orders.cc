// SPDX-License-Identifier: Apache-2.0
#include "ctl/orders/server_orders.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <vector>

#include "base/strings.h"
#include "client/link/control.h"
#include "ctl/doctor/host_facts.h"
#include "ctl/hosts/server_status.h"
#include "ctl/keys/key_bundle.h"
#include "ctl/orders/answer.h"
#include "ctl/orders/control_orders.h"
#include "ctl/orders/job_orders.h"
#include "ctl/supervise/daemon_starter.h"
#include "ctl/supervise/job_directory.h"
#include "ctl/supervise/job_process.h"
#include "wire/connection.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5000};
constexpr std::chrono::milliseconds kStatusTimeout{2000};
constexpr double kReportSeconds = 0.25;  // between two reports about servers that stop
constexpr int kSilentSeconds = 60;       // a stop fails after this time without progress

std::string SocketOf(const ServerSpec& server) {
  return FindSocket(server.server_name, server.port, server.runtime_dir);
}

std::unique_ptr<ControlClient> Connect(const ServerSpec& server) {
  const std::string socket = SocketOf(server);
  if (!FileExists(socket)) {
    Throw(ErrorCode::kUnavailable, "no server '", server.server_name, "' runs at ",
          HostPort(server.address, server.port), " (there is no ", socket, OtherSocketsHint(socket),
          "); if it is not there, start it with `graphctl server start`; if it was started with ",
          "another --runtime_dir, give that");
  }
  return ControlClient::ConnectUnix(socket, kConnectTimeout);
}

nlohmann::json StatusOf(const ServerSpec& server, bool operations) {
  if (auto loading = LoadingStatusOf(SocketOf(server))) return *std::move(loading);
  return StatusToJson(Connect(server)->Status(), operations);
}

// Returns the user of the process that listens on the socket.
uid_t UserOf(const std::string& socket) {
  const UniqueFd fd = ConnectUnix(socket, static_cast<int>(kConnectTimeout.count()));
  ucred listener{};
  socklen_t length = sizeof listener;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0) {
    ThrowErrno("can't see who listens on", socket);
  }
  return listener.uid;
}

// Returns whether somebody listens on a Unix socket, without connecting to it.
bool IsListening(const std::string& path) {
  constexpr uint32_t kAccepts = 1 << 16;  // __SO_ACCEPTCON
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    // Num RefCount Protocol Flags Type St Inode Path
    std::istringstream fields(line);
    std::string number, references, protocol, type, state, inode, name;
    uint32_t flags = 0;
    fields >> number >> references >> protocol >> std::hex >> flags >> type >> state >> inode;
    std::getline(fields >> std::ws, name);
    if (name == path && (flags & kAccepts) != 0) return true;
  }
  return false;
}

// Waits until `condition` holds, at most for `max_seconds`.
bool WaitUntil(double max_seconds, const std::function<bool()>& condition) {
  const Clock::time_point start = Clock::now();
  while (!condition()) {
    if (SecondsSince(start) > max_seconds) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

void AwaitReady(DaemonStarter& starter, GuardState& guard) {
  while (!starter.Poll()) {
    guard.set_daemon(starter.started_pid());
    int status = 0;
    if (starter.started_pid() != 0 &&
        ::waitpid(starter.started_pid(), &status, WNOHANG) == starter.started_pid()) {
      guard.set_daemon(0);
      starter.OnExit(status);
    }
    if (!PauseWhileAsked(10)) {
      Throw(ErrorCode::kUnavailable, "graphctl ended while the server was starting");
    }
  }
  guard.set_daemon(starter.started_pid());
}

void StartServer(const HostOrder& order, GuardState& guard) {
  DaemonStarter starter(order.server, nullptr, /*ends_with_jobs=*/false);
  try {
    AwaitReady(starter, guard);
  } catch (const Error&) {
    starter.Abandon();  // otherwise, a daemon that nobody knows about would stay
    throw;
  }
  SendFrame({{"t", "ready"},
             {"started", starter.started_pid() != 0},
             {"part_config", starter.other_part_config()},
             {"changed_files", starter.changed_files()},
             {"seconds", starter.seconds()},
             {"port", 0}});
}

// The progress of a server that stops.
struct Stop {
  double timeout = -1;  // seconds from `start`; negative: none
  StoreStatus store;    // the latest that the server has reported
  bool writes = false;  // a report of the server showed that write-back had begun
  Clock::time_point start = Clock::now(), moved = start;
};

// Reads the progress of a server that is stopping, and sends it. Resets `client` if the server has
// ended.
void ReadStore(std::unique_ptr<ControlClient>& client, Stop& stop) {
  try {
    const StoreStatus now = client->Status().store.value_or(StoreStatus());
    if (now.written_bytes != stop.store.written_bytes) stop.moved = Clock::now();
    stop.writes |= now.written_bytes < now.changed_bytes;
    stop.store = now;
    SendFrame({{"t", "progress"}, {"done", now.written_bytes}, {"total", now.changed_bytes}});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDeadline) client.reset();
  }
}

// Returns whether a server that has ended may have left rows that are not written back.
bool MayHaveLeftRows(const Stop& stop) {
  // The server removes this directory once all rows are on the disk.
  if (!stop.store.memory.empty()) return FileExists(stop.store.memory);
  const bool timed = stop.timeout >= 0;
  if (stop.writes) {
    return stop.store.written_bytes < stop.store.changed_bytes &&
           (timed || !stop.store.trouble.empty());
  }
  const bool has_tensors = !stop.store.directory.empty();
  return has_tensors && timed && SecondsSince(stop.start) >= stop.timeout;
}

void StopServer(const HostOrder& order) {
  auto client = Connect(order.server);
  const ServerStatus before = client->Status();
  const auto pid = static_cast<pid_t>(before.pid);
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Stop stop{order.stop_timeout, before.store.value_or(StoreStatus())};
  client->Shutdown(order.force, order.stop_timeout);
  client->SetTimeout(kStatusTimeout);
  const std::string socket = SocketOf(order.server);
  const auto gone = [&] {
    if (!process) return !FileExists(socket);
    pollfd ended{process.get(), POLLIN, 0};  // readable once the process has ended, reaped or not
    return ::poll(&ended, 1, 0) == 1;
  };
  while (!WaitUntil(kReportSeconds, gone)) {
    if (client) ReadStore(client, stop);
    if (SecondsSince(stop.moved) < kSilentSeconds) continue;
    Throw(ErrorCode::kDeadline, "the server '", order.server.server_name, "' (pid ", pid,
          ") has not ended, and has not written changed rows back for ", kSilentSeconds, " seconds",
          stop.store.trouble.empty() ? "" : ": ", stop.store.trouble,
          "; see its log, or stop it with --timeout 0");
  }
  const auto notice = [](const std::string& text) {
    SendFrame({{"t", "notice"}, {"text", "it has ended" + text}});
  };
  if (MayHaveLeftRows(stop)) notice(": " + WhatIsNotWritten(stop.store));
  const auto jobs = std::ranges::count_if(
      before.jobs, [](const JobStatus& job) { return !job.job_id.starts_with(kToolJobPrefix); });
  if (jobs > 0) {
    notice(StrCat(" while ", jobs, jobs == 1 ? " job was" : " jobs were", " attached; a job fails ",
                  "unless the server is started again in time (--server_grace of graphctl launch, ",
                  "GRAPHD_TIMEOUT)"));
  }
  // A daemon removes its socket's file when it ends, unless a socket unit of systemd has made it.
  if (FileExists(socket) && IsListening(socket)) {
    const std::string unit = StrCat("graphd@", order.server.server_name);
    notice(StrCat(", and the next client will start it again, because ", unit,
                  ".socket listens; to end both: systemctl stop ", unit, ".socket ", unit,
                  ".service"));
  }
}

// Returns the processes that receive a job's signal: its supervisors or, if it has none, its
// trainers.
std::set<pid_t> ProcessesToSignal(const JobStatus& job) {
  std::set<pid_t> launchers, others;
  for (const MemberStatus& member : job.members) {
    if (member.pid <= 0) continue;
    (member.role == JobRole::kLauncher ? launchers : others).insert(static_cast<pid_t>(member.pid));
  }
  return launchers.empty() ? others : launchers;
}

void StopJobs(const HostOrder& order) {
  const uint16_t port = order.server.port;
  // A detached job is stopped by asking its supervisor, which tells the other hosts and can give
  // the trainers a longer grace period.
  if (!order.stop_job.empty() && StopJob(order.stop_job, port, order.stop_grace)) {
    return SendFrame({{"t", "stopped_job"}, {"job", order.stop_job}});
  }
  const bool had_ended = HasEnded(order.stop_job, port);
  const nlohmann::json ended = {{"t", "ended_job"}, {"job", order.stop_job}};
  // If the job's supervisor only waits for the other hosts, it is left alone. If there is no
  // supervisor, other processes that somebody has started under the job's id may still be attached.
  if (had_ended && JobDirectory::Open(order.stop_job, port).IsLive()) return SendFrame(ended);
  std::unique_ptr<ControlClient> client;
  ServerStatus status;
  uid_t server_user = 0;
  try {
    client = Connect(order.server);
    status = client->Status();
    server_user = UserOf(SocketOf(order.server));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    if (had_ended) return SendFrame(ended);
    return SendFrame({{"t", "no_server"}, {"text", error.what()}});  // maybe it ended with its job
  }
  std::set<std::string> jobs;
  std::vector<JobProcess> signalled;
  for (const JobStatus& job : status.jobs) {
    if (!order.stop_job.empty() && job.job_id != order.stop_job) continue;
    jobs.insert(job.job_id);
    if (StopJob(job.job_id, port, order.stop_grace)) continue;
    for (const pid_t pid : ProcessesToSignal(job)) {
      try {
        signalled.emplace_back(pid, server_user);
        signalled.back().Signal(SIGTERM);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotFound) throw;  // it has ended by itself
      }
    }
  }
  const auto left = [&] {
    try {
      for (const JobStatus& job : client->Status().jobs) {
        if (jobs.count(job.job_id)) return false;
      }
    } catch (const Error& error) {
      // If the server is unavailable, it has ended with its last job. Any other error means that it
      // is only slow.
      return error.code() == ErrorCode::kUnavailable;
    }
    return true;
  };
  if (!WaitUntil(5, left)) {
    // Killing a supervisor is enough: its guard process (RunGuarded) then ends the trainers.
    for (const JobProcess& process : signalled) process.Signal(SIGKILL);
    if (!WaitUntil(5, left)) {
      Throw(ErrorCode::kDeadline, "jobs of server '", order.server.server_name,
            "' are still attached 10 seconds after their launchers received SIGTERM");
    }
  }
  if (jobs.empty() && had_ended) return SendFrame(ended);
  for (const std::string& job : jobs) SendFrame({{"t", "stopped_job"}, {"job", job}});
}

}  // namespace

int CarryOutServerOrder(const HostOrder& order, const std::string& input, GuardState& guard) {
  try {
    CheckServerName(order.server.server_name);
    switch (order.action) {
      case HostAction::kStart:
        StartServer(order, guard);
        break;
      case HostAction::kStopServer:
        StopServer(order);
        break;
      case HostAction::kStopJobs:
        StopJobs(order);
        break;
      case HostAction::kStatus:
        SendFrame({{"t", "status"}, {"status", StatusOf(order.server, order.operations)}});
        break;
      case HostAction::kControl:
        SendFrame(CarryOutControl(
            order.control, *Connect(order.server), [](const auto& header) { SendFrame(header); },
            input));
        break;
      case HostAction::kInstallKeys:
        InstallKeys(KeyDirectory(order.server.keys, order.server.server_name), order.key_files);
        break;
      case HostAction::kExamine:
        SendFrame({{"t", "facts"},
                   {"facts", order.only_trainers ? CollectTrainerFacts(order.server, order.peers)
                                                 : CollectHostFacts(order.server, order.peers)}});
        break;
      case HostAction::kRun:
      case HostAction::kFollowJob:
      case HostAction::kTellJobOrder:
      case HostAction::kRestartJob:
      case HostAction::kServerLogs:
        Throw(ErrorCode::kInternal, "this is not a server order");
    }
    SendFrame({{"t", "done"}});
    return 0;
  } catch (const Error& error) {
    return SendError(error);
  }
}

}  // namespace graphd::ctl
