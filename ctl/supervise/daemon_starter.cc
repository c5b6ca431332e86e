// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/daemon_starter.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/directory.h"
#include "base/strings.h"
#include "format/data_files.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

// The timeout of an attempt to attach. It is short because an attempt blocks the supervisor's loop.
constexpr std::chrono::milliseconds kAttachTimeout{250};
// The timeout for joining a job at a daemon that has reported readiness. It is long because a
// daemon that ends with its last job would end if this process gave up while it slowly joins the
// only job.
constexpr std::chrono::seconds kJoinTimeout{30};
// If a daemon that we started has not sent READY=1 after this time, we try to attach to it
// nevertheless.
constexpr std::chrono::seconds kWithoutNotice{5};

// Returns a datagram socket with a name that the system chooses, and the name ("@...", which is
// sd_notify's form of abstract names).
std::pair<UniqueFd, std::string> MakeNotifySocket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t size = sizeof address.sun_family;
  const bool bound =
      socket && ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0;
  size = sizeof address;
  if (!bound || ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    ThrowErrno("can't create", "a notification socket");
  }
  const size_t length = size - offsetof(sockaddr_un, sun_path);
  return {std::move(socket), "@" + std::string(address.sun_path + 1, length - 1)};
}

// Makes the directory of a server in the runtime directory. Checks the owners of both, because
// below /tmp any user could have created them, with links to files of this user in place of the
// logs.
void MakeRuntimeDirectory(const std::string& runtime_dir, const std::string& directory) {
  MakeDirectories(DirName(runtime_dir));
  if (::mkdir(runtime_dir.c_str(), 0755) != 0 && errno != EEXIST) {
    ThrowErrno("can't create directory", runtime_dir);
  }
  struct stat info {};
  if (::stat(runtime_dir.c_str(), &info) != 0) ThrowErrno("can't stat", runtime_dir);
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    Throw(ErrorCode::kDenied, "runtime directory ", runtime_dir,
          " belongs to another user; remove it, or name another with --runtime_dir");
  }
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    ThrowErrno("can't create directory", directory);
  }
  // With a umask such as 002, a daemon makes a directory that the group can write.
  if (::lstat(directory.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
      info.st_uid == ::geteuid() && (info.st_mode & S_IWGRP) != 0) {
    ::chmod(directory.c_str(), info.st_mode & 07755);
  }
  try {
    OpenOwnDirectory(directory);
  } catch (const Error& error) {
    Throw(error.code(), "the server's directory ", error.what(),
          "; remove it, or name another runtime directory with --runtime_dir");
  }
}

// Returns whether the daemon needs only its Unix socket: its address is a loopback address, so all
// trainers are on its machine, and no option says who may connect by TCP.
bool NeedsNoTcp(const ServerSpec& spec) {
  return !spec.insecure && spec.keys.empty() && spec.secret.empty() &&
         IsLoopbackAddress(spec.address);
}

std::vector<std::string> DaemonArguments(const ServerSpec& spec, const std::string& runtime_dir,
                                         bool ends_with_jobs) {
  std::vector<std::string> parts;
  for (PartId part : spec.parts) parts.push_back(StrCat(part));
  std::vector<std::string> words = {spec.graphd,      "--server_name",  spec.server_name,
                                    "--part_config",  spec.part_config, "--part_id",
                                    Join(parts, ","), "--runtime_dir",  runtime_dir};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  if (NeedsNoTcp(spec)) {
    add("--port", StrCat(spec.port));
  } else {
    add("--listen", HostPort(spec.address, spec.port));
  }
  if (spec.num_servers > 0) add("--num_servers", StrCat(spec.num_servers));
  add("--state_dir", spec.state_dir);
  add("--durability", spec.durability);
  add("--memory_dir", spec.memory_dir);
  if (spec.embedding_memory > 0) add("--embedding_memory", StrCat(spec.embedding_memory));
  if (ends_with_jobs) words.push_back("--end_with_jobs");
  add("--keys", spec.keys);
  add("--secret", spec.secret);
  if (spec.insecure) words.push_back("--insecure");
  return words;
}

// The keys of a part config that identify a server's graph. A member stays empty if its key is
// missing, because another version may write other keys.
struct GraphKeys {
  std::string graph_name;
  int num_parts = 0;
};

GraphKeys ReadGraphKeys(const std::string& part_config) {
  GraphKeys keys;
  const auto json = nlohmann::json::parse(ReadTextFile(part_config), nullptr, false);
  if (!json.is_object()) return keys;
  if (json.contains("graph_name") && json["graph_name"].is_string()) {
    keys.graph_name = json["graph_name"].get<std::string>();
  }
  if (json.contains("num_parts") && json["num_parts"].is_number_integer()) {
    keys.num_parts = json["num_parts"].get<int>();
  }
  return keys;
}

// Returns whether two paths name the same file. Also returns true if this can't be found out: if a
// path is empty, which means unknown, or the files can't be compared.
bool IsSameFile(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || a == b) return true;
  std::error_code error;
  const bool same = std::filesystem::equivalent(a, b, error);
  return same || error;
}

std::string OwnDirectory() {
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) Throw(ErrorCode::kIo, "can't read /proc/self/exe: ", error.message());
  return DirName(path);
}

}  // namespace

DaemonStarter::DaemonStarter(ServerSpec spec, const JobMember* member, bool ends_with_jobs,
                             IfMissing if_missing)
    : spec_(std::move(spec)), ends_with_jobs_(ends_with_jobs), if_missing_(if_missing) {
  CheckServerName(spec_.server_name);
  if (member) member_ = std::make_unique<JobMember>(*member);
  if (spec_.graphd.empty()) spec_.graphd = OwnDirectory() + "/graphd";
  if (spec_.runtime_dir.empty()) spec_.runtime_dir = RuntimeDir();
  directory_ = spec_.runtime_dir + "/" + spec_.server_name;
  socket_path_ = SocketPath(spec_.runtime_dir, spec_.server_name, spec_.port);
  log_path_ = StrCat(directory_, "/", spec_.port, ".log");
}

bool DaemonStarter::Poll() {
  if (exited_) {
    const int code = WIFEXITED(exit_status_) ? WEXITSTATUS(exit_status_) : 0;
    ErrorCode error = ErrorCode::kUnavailable;
    for (ErrorCode known :
         {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kExists, ErrorCode::kOverloaded,
          ErrorCode::kVersion, ErrorCode::kCorrupt, ErrorCode::kDenied, ErrorCode::kIo}) {
      if (code == ExitCode(known)) error = known;
    }
    Throw(error, "the server '", spec_.server_name, "' could not be started: graphd ",
          WIFSIGNALED(exit_status_) ? StrCat("was killed by signal ", WTERMSIG(exit_status_))
                                    : StrCat("ended with code ", code),
          LogTail());
  }
  const Clock::time_point now = Clock::now();
  Attach attach = Attach::kBusy;
  if (NotifiedReady() || now >= next_attempt_) {
    attach = TryAttach();
    // The pause grows with time, because the daemon keeps each attempt in its queue of connections
    // until it has loaded.
    const auto pause = std::chrono::duration_cast<Clock::duration>((now - begin_) / 8);
    next_attempt_ = now + (attach == Attach::kBusy ? pause : Clock::duration::zero());
  }
  is_listening_ = attach != Attach::kNobody;
  const bool may_start = if_missing_ == IfMissing::kStart && pid_ == 0;
  if (attach == Attach::kNobody && may_start && TryLock()) {
    attach = TryAttach();  // the lock's last owner may have started the daemon
    if (attach == Attach::kNobody) Start();
  }
  if (attach == Attach::kDone) {
    lock_.reset();
    return true;
  }
  if (seconds() > spec_.start_timeout) {
    Throw(ErrorCode::kDeadline, "the server '", spec_.server_name, "' was not ready within ",
          spec_.start_timeout, " seconds; increase --start_timeout", LogTail());
  }
  return false;
}

DaemonStarter::Attach DaemonStarter::TryAttach() {
  other_part_config_.clear();
  changed_files_.clear();
  if (!FileExists(socket_path_)) return Attach::kNobody;
  try {
    auto client = ControlClient::ConnectUnix(socket_path_, kAttachTimeout);
    const ServerStatus status = client->Status();
    if (status.state != "ready") return Attach::kBusy;  // the daemon is about to end
    CheckServesSameGraph(status);
    if (started_pid() == 0) CompareFiles(status);
    if (member_) {
      client->SetTimeout(kJoinTimeout);
      client->JoinJob(*member_);
      client->SetTimeout(kAttachTimeout);
    }
    daemon_pid_ = static_cast<pid_t>(status.pid);
    client_ = std::move(client);
    return Attach::kDone;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnavailable) return Attach::kNobody;
    if (error.code() == ErrorCode::kDeadline) return Attach::kBusy;
    throw;
  }
}

// Compares the files that the daemon serves with those that are given.
void DaemonStarter::CompareFiles(const ServerStatus& status) {
  if (!IsSameFile(status.part_config, spec_.part_config)) {
    other_part_config_ = status.part_config;
    return;
  }
  // Nothing can be compared if the host lacks the files, or if an older daemon does not report the
  // graph's version.
  if (spec_.part_config.empty() || !FileExists(spec_.part_config) || status.graphs.empty()) return;
  std::vector<PartId> parts;
  for (const PartitionStatus& partition : status.partitions) parts.push_back(partition.part);
  try {
    const PartConfig config = LoadPartConfig(spec_.part_config);
    const std::string now = Fingerprint(DataHash(StampDataFiles(config, parts)));
    if (now == status.graphs.front().fingerprint) return;
  } catch (const Error& error) {
    // Files that don't exist any more count as changed. Any other error says nothing: this user may
    // not read the files, or somebody may be replacing them at this moment.
    if (error.code() != ErrorCode::kNotFound) return;
  }
  changed_files_ = StrCat("the files of ", spec_.part_config, " have changed since the server '",
                          spec_.server_name, "' has read them, and it serves the graph as it was; ",
                          "`graphctl server switch` makes it serve the new files");
}

void DaemonStarter::CheckServesSameGraph(const ServerStatus& status) const {
  const std::string who = StrCat("the running server '", spec_.server_name, "' at ",
                                 HostPort(spec_.address, spec_.port));
  const char* remedy = "; give another --server_name, or stop it with `graphctl server stop`";
  for (PartId part : spec_.parts) {
    const bool served = std::any_of(status.partitions.begin(), status.partitions.end(),
                                    [part](const PartitionStatus& p) { return p.part == part; });
    if (!served) {
      Throw(ErrorCode::kExists, who, " does not serve partition ", part, " of ip_config", remedy);
    }
  }
  CheckNumParts(status.num_parts);
  if (spec_.part_config.empty() || !FileExists(spec_.part_config)) return;
  const GraphKeys keys = ReadGraphKeys(spec_.part_config);
  const bool same = (keys.graph_name.empty() || keys.graph_name == status.graph_name) &&
                    (keys.num_parts == 0 || keys.num_parts == status.num_parts);
  if (!same) {
    Throw(ErrorCode::kExists, who, " has graph '", status.graph_name, "' in ", status.num_parts,
          " parts, and ", spec_.part_config, " is graph '", keys.graph_name, "' in ",
          keys.num_parts, " parts", remedy);
  }
}

void DaemonStarter::CheckNumParts(int num_parts) const {
  if (spec_.num_parts == num_parts || num_parts == 0) return;
  Throw(ErrorCode::kInvalid, "the graph has ", num_parts, " partitions, and ip_config has ",
        spec_.num_parts,
        " lines; write one line per partition (several may name the same address "
        "and port)");
}

bool DaemonStarter::TryLock() {
  if (lock_) return true;
  if (spec_.part_config.empty()) {
    Throw(ErrorCode::kUnavailable, "no server '", spec_.server_name, "' runs at ",
          HostPort(spec_.address, spec_.port), ", and --part_config is required to start one",
          OtherServersHint(directory_));
  }
  MakeRuntimeDirectory(spec_.runtime_dir, directory_);
  // The file that is locked is not the log, because others may read the log, and could lock it
  // then.
  UniqueFd lock = OpenOwnFile(StrCat(directory_, "/", spec_.port, ".lock"), O_RDWR | O_CREAT);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  lock_ = std::move(lock);
  return true;
}

void DaemonStarter::Start() {
  if (!FileExists(spec_.part_config)) {
    Throw(ErrorCode::kNotFound, "part config ", spec_.part_config,
          " does not exist on this host; copy the partition there, or give the right "
          "--part_config and --workspace");
  }
  CheckNumParts(ReadGraphKeys(spec_.part_config).num_parts);
  if (::access(spec_.graphd.c_str(), X_OK) != 0) {
    Throw(ErrorCode::kNotFound, "the program ", spec_.graphd,
          " can't be run on this host; install it there, or name it with --graphd");
  }
  const bool is_loopback = IsLoopbackAddress(spec_.address);
  if (spec_.among_others && is_loopback) {
    // Debian's /etc/hosts maps the host's own name to 127.0.1.1.
    Throw(ErrorCode::kInvalid, spec_.address,
          " is a loopback address on this host (see /etc/hosts there), and the job's other "
          "machines can't reach it; write the host's IP address into ip_config");
  }
  if (!spec_.insecure && spec_.keys.empty() && spec_.secret.empty() && !is_loopback) {
    Throw(ErrorCode::kDenied, "a server at ", HostPort(spec_.address, spec_.port),
          " would listen beyond loopback to anyone who can reach it; give --keys or "
          "--secret (see graphctl keys) or, if its network is trusted, --insecure");
  }
  const UniqueFd log = OpenOwnFile(log_path_, O_WRONLY | O_CREAT | O_APPEND, 0644);
  log_begin_ = FileSize(log_path_);
  std::tie(notify_socket_, notify_name_) = MakeNotifySocket();
  std::vector<std::string> words = DaemonArguments(spec_, spec_.runtime_dir, ends_with_jobs_);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) ThrowErrno("can't start", spec_.graphd);
  if (pid == 0) RunChild(pointers, log.get());
  pid_ = pid;
  next_attempt_ = Clock::now() + kWithoutNotice;
}

void DaemonStarter::RunChild(const std::vector<char*>& words, int log) {
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::setenv("NOTIFY_SOCKET", notify_name_.c_str(), 1);
  for (const char* ours : {"WATCHDOG_PID", "WATCHDOG_USEC", "JOURNAL_STREAM"}) ::unsetenv(ours);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  if (::chdir("/") == 0) ::execv(words[0], words.data());
  ::dprintf(STDERR_FILENO, "graphctl: can't run '%s': %s\n", words[0], std::strerror(errno));
  ::_exit(127);
}

bool DaemonStarter::NotifiedReady() {
  char text[512];
  while (notify_socket_) {
    const ssize_t size = ::recv(notify_socket_.get(), text, sizeof text, MSG_DONTWAIT);
    if (size < 0) return false;
    if (std::string_view(text, static_cast<size_t>(size)).find("READY=1") != std::string::npos) {
      notify_socket_.reset();
      return true;
    }
  }
  return false;
}

void DaemonStarter::OnExit(int wait_status) {
  exited_ = true;
  exit_status_ = wait_status;
}

void DaemonStarter::Abandon() {
  if (pid_ == 0 || exited_) return;
  ::kill(pid_, SIGTERM);
  const Clock::time_point begin = Clock::now();
  bool killed = false;
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (!killed && SecondsSince(begin) > 3) killed = ::kill(pid_, SIGKILL) == 0;
    ::poll(nullptr, 0, 5);
  }
  exited_ = true;
  // A daemon that ends while it is loading does not remove its socket. The socket can't belong to
  // another daemon, because this process holds the lock.
  ::unlink(socket_path_.c_str());
}

std::string DaemonStarter::LogTail() const {
  constexpr uint64_t kTail = 4096;
  try {
    const uint64_t size = FileSize(log_path_);
    const uint64_t begin = std::max(log_begin_, size > kTail ? size - kTail : 0);
    if (begin >= size) return StrCat("; its log ", log_path_, " is empty");
    std::string text(size - begin, '\0');
    UniqueFd log = OpenFile(log_path_, O_RDONLY);
    ReadExactly(log.get(), begin, std::as_writable_bytes(std::span(text)), log_path_);
    return StrCat("; the end of its log ", log_path_, ":\n", Trim(text));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace graphd::ctl
