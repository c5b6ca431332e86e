// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "ctl/hosts/frame_contents.h"
#include "ctl/plan/json_value.h"
#include "ctl/supervise/free_port.h"
#include "wire/ip_config.h"

namespace graphd::ctl {
namespace {

constexpr uint64_t kDaemonPollMilliseconds = 5;
// The time for which we wait for the end of a daemon that ends with its last job. It is shorter
// than the time for which the launcher waits for its hosts.
constexpr int kDaemonEndMs = 8000;
constexpr double kFirstNotice = 3;  // seconds of waiting for the daemon
// A daemon that fails this often within this time is not started again.
constexpr size_t kMostRestarts = 10;
constexpr double kRestartSeconds = 300;

template <class Handle>
void CloseHandle(Handle& handle) {
  auto* base = reinterpret_cast<uv_handle_t*>(&handle);
  if (base->data && !uv_is_closing(base)) uv_close(base, nullptr);
}

bool IsFileWith(const std::string& path, const std::string& text) {
  try {
    return FileExists(path) && FileSize(path) == text.size() && ReadTextFile(path) == text;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Supervisor::Supervisor(HostOrder order, std::string unread_input, GuardState& guard,
                       UniqueFd detaching)
    : order_(std::move(order)),
      guard_(guard),
      detaching_(std::move(detaching)),
      input_text_(std::move(unread_input)),
      next_notice_(kFirstNotice) {
  uv_loop_init(&loop_);
  output_ = std::make_unique<OutputQueue>(
      &loop_, STDOUT_FILENO, [this](bool room) { trainers_->Pause(!room); },
      [this] { End(/*input_over=*/true); });
  trainers_ = MakeTrainers();
  for (uv_timer_t* timer : {&daemon_timer_, &silence_timer_}) {
    uv_timer_init(&loop_, timer);
    timer->data = this;
  }
  WatchSignals();
}

Supervisor::~Supervisor() {
  for (uv_signal_t& handle : signals_) CloseHandle(handle);
  for (uv_timer_t* timer : {&daemon_timer_, &silence_timer_}) CloseHandle(*timer);
  CloseHandle(input_);
  StopWatchingDaemon();
  part_.reset();
  trainers_->Close();
  output_->Close();
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

int Supervisor::Run() {
  try {
    WatchInput();
    CheckWorkspace();
    if (HostsMeet(order_.job)) part_ = std::make_unique<JobPart>(&loop_, order_, PartActions());
    OpenLogs();
    if (order_.only_trainers) {
      CheckMasterAddress();
      BecomeReady();
    } else {
      StartDaemon(DaemonStarter::IfMissing::kStart);
    }
  } catch (const Error& error) {
    Fail(error.code(), error.what());
  }
  TakeLines();  // lines that arrived together with the order
  while (!HasEnded()) uv_run(&loop_, UV_RUN_ONCE);
  LeaveDaemon();
  if (led_) {
    led_->SetOutcome(exit_code_ != 0 ? exit_code_ : ExitCode(ErrorCode::kUnavailable),
                     why_.empty() ? "graphctl launch has gone" : why_);
    led_->End();
  }
  output_->Flush(1000);
  return exit_code_;
}

void Supervisor::Send(const nlohmann::json& header, std::string_view payload) {
  output_->Write(EncodeFrame(header, payload));
}

// Sends a text to the launcher or, if the job is detached, writes it to the supervisor's log.
void Supervisor::Notice(const std::string& text) {
  if (detached_) return LogInfo("job ", order_.job.job_id, ": ", text);
  Send({{"t", "notice"}, {"text", text}});
}

// Opens the directory and the logs in which the host keeps a record of the job. If they can't be
// made, a job that `graphctl launch` leads from its start to its end continues without them, unless
// the user has named a directory for the logs.
void Supervisor::OpenLogs() {
  const std::string& log_dir = order_.job.log_dir;
  if (!log_dir.empty()) logs_.emplace(log_dir);
  if (order_.job.no_logs) return;
  std::string directory;
  if (part_) {
    directory = part_->directory().path();
  } else {
    try {
      led_ = std::make_unique<LedJob>(order_);
      directory = led_->directory().path();
    } catch (const Error& error) {
      return Notice(StrCat("`graphctl logs` will not know this job: ", error.what()));
    }
  }
  if (log_dir.empty()) logs_.emplace(directory, JobDirectory::kMaxLogBytes);
}

// Appends to the trainer's log. A job continues without its logs, for example on a full disk.
void Supervisor::Log(int rank, std::string_view lines) {
  if (!logs_) return;
  const std::string why = logs_->Append(rank, lines);
  if (why.empty()) return;
  Notice(StrCat("the log of trainer ", rank, " lacks some of its output: ", why));
}

// Reports that the job can't continue. The launcher answers with "end" after it has informed all
// hosts.
void Supervisor::Fail(ErrorCode code, const std::string& text) {
  if (exit_code_ == 0) exit_code_ = ExitCode(code);
  if (why_.empty()) why_ = text;
  if (detached_) LogError("job ", order_.job.job_id, ": ", text);
  Send({{"t", "error"}, {"code", ErrorCodeName(code)}, {"text", text}});
  // A host that joins a running job has no launcher that would answer, so the input counts as over.
  End(/*input_over=*/order_.meeting.joins);
}

void Supervisor::End(bool input_over) {
  input_over_ = input_over_ || input_over;
  uv_timer_stop(&daemon_timer_);
  if (part_) {
    // GiveUp also tells the other hosts, and then ends this host's part.
    return part_->GiveUp(exit_code_ != 0 ? exit_code_ : ExitCode(ErrorCode::kUnavailable),
                         StrCat(order_.meeting.name, ": ",
                                why_.empty() ? "graphctl has ended the job, or has gone" : why_));
  }
  ending_ = true;
  trainers_->End(/*at_once=*/false);
}

// --- Input from the launcher, the system and the user

void Supervisor::WatchSignals() {
  const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
  for (size_t i = 0; i < 4; i++) {
    uv_signal_init(&loop_, &signals_[i]);
    signals_[i].data = this;
    uv_signal_start(
        &signals_[i],
        [](uv_signal_t* handle, int number) {
          auto* self = static_cast<Supervisor*>(handle->data);
          if (number == SIGCHLD) return self->ReapChildren();
          if (number == SIGTERM && !self->guard_.guard_lives() && !self->ending_) {
            self->Fail(ErrorCode::kUnavailable,
                       "its graphd-guard, the process that watches the supervisor, was killed; "
                       "ended the job");
            return self->End(/*input_over=*/true);
          }
          if (number == SIGHUP && self->detached_) return;
          if (!self->ending_) self->Send({{"t", "stopped"}, {"signal", number}});
          self->exit_code_ = 128 + number;
          if (self->why_.empty()) self->why_ = StrCat("received signal ", number);
          self->End(/*input_over=*/true);
        },
        numbers[i]);
  }
}

void Supervisor::WatchInput() {
  ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  if (uv_poll_init(&loop_, &input_, STDIN_FILENO) != 0) {
    Throw(ErrorCode::kInvalid, "supervise: standard input must be a pipe or a socket");
  }
  input_.data = this;
  uv_poll_start(&input_, UV_READABLE | UV_DISCONNECT, [](uv_poll_t* poll, int, int) {
    static_cast<Supervisor*>(poll->data)->ReadInput();
  });
  last_heard_ = uv_now(&loop_);
  if (order_.host_timeout <= 0) return;
  uv_timer_start(
      &silence_timer_,
      [](uv_timer_t* timer) {
        auto* self = static_cast<Supervisor*>(timer->data);
        const double silent = static_cast<double>(uv_now(&self->loop_) - self->last_heard_) / 1e3;
        if (silent > self->order_.host_timeout) self->End(/*input_over=*/true);
      },
      500, 500);
}

void Supervisor::ReadInput() {
  char bytes[4096];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      uv_poll_stop(&input_);
      return End(/*input_over=*/true);
    }
    last_heard_ = uv_now(&loop_);
    input_text_.append(bytes, static_cast<size_t>(got));
  }
  TakeLines();
}

void Supervisor::TakeLines() {
  size_t end;
  while ((end = input_text_.find('\n')) != std::string::npos) {
    const std::string line = input_text_.substr(0, end);
    input_text_.erase(0, end + 1);
    OnLine(line);
  }
}

void Supervisor::OnLine(const std::string& line) {
  // The launcher has been told that the job goes on without it, and may have sent "end" before
  // that.
  if (detached_) return;
  const auto message = ParseJson(line);
  const std::string kind = message.is_object() ? ValueOr(message, "t", "") : "";
  if (kind == "go" && ready_ && !ending_ && !started_) {
    StartTrainers(ValueOr(message, "port", 0));
  } else if (kind == "ping") {
    Send({{"t", "alive"}});
  } else if (kind == "detach") {
    Detach();
  } else if (kind == "outcome") {
    if (led_) led_->SetOutcome(ReadExit(message).code, ValueOr(message, "text", ""));
  } else if (kind == "end") {
    End(/*input_over=*/true);
  } else if (kind == "kill") {
    trainers_->End(/*at_once=*/true);
  }
}

void Supervisor::ReapChildren() {
  int status = 0;
  pid_t pid;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (starter_ && pid == starter_->started_pid()) {
      guard_.set_daemon(0);
      starter_->OnExit(status);
    } else {
      trainers_->OnChildExit(pid, status);  // does nothing for orphans that we adopted
    }
  }
}

// --- The daemon

void Supervisor::CheckWorkspace() const {
  struct stat info {};
  if (::stat(order_.job.workspace.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    Throw(ErrorCode::kNotFound, "workspace ", order_.job.workspace,
          " is not a directory on this host; create it there, or give the right --workspace");
  }
}

void Supervisor::StartDaemon(DaemonStarter::IfMissing if_missing) {
  const JobMember member{order_.job.job_id,
                         JobRole::kLauncher,
                         0,
                         order_.job.world_size,
                         DisplayCommand(order_.job.command),
                         order_.job.secret,
                         attempt_};
  starter_ = std::make_unique<DaemonStarter>(order_.server, &member, !order_.server.keep_alive,
                                             if_missing);
  uv_timer_start(
      &daemon_timer_,
      [](uv_timer_t* timer) { static_cast<Supervisor*>(timer->data)->PollDaemon(); }, 0,
      kDaemonPollMilliseconds);
}

void Supervisor::PollDaemon() {
  try {
    const bool had_started = starter_->started_pid() != 0;
    const bool ready = starter_->Poll();
    if (!had_started && starter_->started_pid() != 0) {
      guard_.set_daemon(starter_->started_pid());
      Notice(StrCat("starting server '", order_.server.server_name, "', log in ",
                    starter_->log_path()));
    }
    if (ready) return OnReady();
    const double grace = order_.server_grace;
    if (ready_ && !starter_->is_listening() && starter_->started_pid() == 0 &&
        SecondsSince(lost_since_) > grace) {
      Throw(ErrorCode::kUnavailable, "the server '", order_.server.server_name,
            "' has ended while the job was running, and has not returned within ", grace,
            " s (--server_grace)", starter_->LogTail());
    }
    if (starter_->seconds() < next_notice_) return;
    Notice(StrCat("waiting for server '", order_.server.server_name, "' for ",
                  static_cast<int>(starter_->seconds()), " s; it ",
                  starter_->started_pid() ? "is loading" : "does not answer yet"));
    next_notice_ *= 2;
  } catch (const Error& error) {
    const std::optional<int> status = starter_->exit_status();
    if (ready_ && status && WIFSIGNALED(*status)) return OnDaemonEnd();  // while it was loading
    Fail(error.code(), error.what());
  }
}

void Supervisor::OnReady() {
  uv_timer_stop(&daemon_timer_);
  client_ = starter_->TakeClient();
  WatchDaemonProcess(starter_->daemon_pid());
  if (ready_) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f s", SecondsSince(lost_since_));
    return Notice(
        StrCat("attached again to server '", order_.server.server_name, "' after ", seconds));
  }
  if (!starter_->changed_files().empty()) Notice(starter_->changed_files());
  BecomeReady();
}

// Throws if the first trainer would listen at a loopback address while other machines have
// trainers. Those would connect to their own machine, and wait for the first trainer in vain.
// (DaemonStarter does the same for hosts with a daemon.)
void Supervisor::CheckMasterAddress() const {
  // Under torchrun, order_.trainers has a single entry for all trainers of this host.
  const bool has_others = order_.job.world_size > order_.trainers_on_machine;
  if (!order_.is_master || !has_others || !IsLoopbackAddress(order_.server.address)) return;
  Throw(ErrorCode::kInvalid, order_.server.address,
        " is a loopback address on this host (see /etc/hosts there), and the job's other machines "
        "can't reach its first trainer there; write the host's IP address into the file of "
        "--trainer_hosts");
}

// Reports that this host's trainers may start.
void Supervisor::BecomeReady() {
  ready_ = true;
  int port = 0;
  if (order_.is_master) port = PrepareTrainers();
  Send({{"t", "ready"},
        {"started", starter_ && starter_->started_pid() != 0},
        {"seconds", starter_ ? starter_->seconds() : 0},
        {"port", port}});
  if (part_) part_->OnReady(port);
  if (!order_.meeting.joins) return;
  Send({{"t", "done"}});
  Detach();
}

// Watches the daemon by a pidfd, which becomes readable when its process ends, even if the process
// is not our child.
void Supervisor::WatchDaemonProcess(pid_t pid) {
  if (pid <= 0) return;
  daemon_pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  // A daemon in another PID namespace can't be watched. The trainers notice its end themselves.
  if (!daemon_pidfd_) return;
  daemon_exit_ = new uv_poll_t{};
  if (uv_poll_init(&loop_, daemon_exit_, daemon_pidfd_.get()) != 0) {
    delete std::exchange(daemon_exit_, nullptr);
    return;
  }
  daemon_exit_->data = this;
  uv_poll_start(daemon_exit_, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Supervisor*>(poll->data)->OnDaemonEnd();
  });
}

void Supervisor::StopWatchingDaemon() {
  if (!daemon_exit_) return;
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(daemon_exit_, nullptr)),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_poll_t*>(handle); });
}

// Called when the daemon has ended. Starts it again, waits until it runs again, or reports that the
// job can't continue.
void Supervisor::OnDaemonEnd() {
  ReapChildren();  // SIGCHLD may not have been handled yet
  StopWatchingDaemon();
  if (ending_) return;
  if (client_) lost_since_ = Clock::now();
  client_.reset();
  const std::optional<int> status = starter_->exit_status();
  std::string text = StrCat("the server '", order_.server.server_name, "' ");
  if (status && WIFSIGNALED(*status)) {
    text += StrCat("was killed by signal ", WTERMSIG(*status));
  } else if (status) {
    text += StrCat("has ended with code ", WEXITSTATUS(*status));
  } else {
    text += "has ended";
  }
  text += " while the job was running";
  if (order_.server_grace <= 0) {
    return Fail(ErrorCode::kUnavailable, StrCat(text, starter_->LogTail()));
  }
  const bool failed = status && !(WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
  if (failed && !MayRestartDaemon()) {
    return Fail(ErrorCode::kUnavailable, StrCat(text, ", ", kMostRestarts, " times within ",
                                                kRestartSeconds, " s", starter_->LogTail()));
  }
  text += failed ? "; starting it again"
                 : StrCat("; waiting up to ", order_.server_grace,
                          " s for its return (--server_grace)");
  Notice(text);
  next_notice_ = kFirstNotice;
  StartDaemon(failed ? DaemonStarter::IfMissing::kStart : DaemonStarter::IfMissing::kWait);
}

// Counts a restart of the daemon. Returns false, and counts nothing, if there were too many lately.
bool Supervisor::MayRestartDaemon() {
  while (!restarts_.empty() && SecondsSince(restarts_.front()) > kRestartSeconds) {
    restarts_.pop_front();
  }
  if (restarts_.size() >= kMostRestarts) return false;
  restarts_.push_back(Clock::now());
  return true;
}

// Leaves the job. If the daemon ends with the job, waits for its end, so that no process remains
// when `graphctl launch` returns.
void Supervisor::LeaveDaemon() {
  if (!starter_) return;
  if (!client_) {
    if (!order_.server.keep_alive) starter_->Abandon();
    return;
  }
  bool ends = false;
  try {
    const ServerStatus status = client_->Status();
    ends = status.ends_with_jobs && status.jobs.size() <= 1;
  } catch (const Error&) {
    // The daemon has already ended.
  }
  client_.reset();
  pollfd exit{daemon_pidfd_.get(), POLLIN, 0};
  if (ends && daemon_pidfd_) ::poll(&exit, 1, kDaemonEndMs);
  if (starter_->started_pid() != 0) ::waitpid(starter_->started_pid(), nullptr, WNOHANG);
}

// --- Trainers

std::unique_ptr<TrainerGroup> Supervisor::MakeTrainers() {
  TrainerGroup::Events events;
  events.on_lines = [this](int rank, int fd, std::string_view lines) {
    Log(rank, lines);
    Send({{"t", "out"}, {"rank", rank}, {"fd", fd}}, lines);
  };
  events.on_exit = [this](int rank, int code, int signal, bool ending) {
    Send({{"t", "exit"}, {"rank", rank}, {"code", code}, {"signal", signal}, {"ending", ending}});
    if (part_) part_->OnExit(rank, code, signal, ending);
    if (led_) led_->OnExit(rank, code, signal);
  };
  events.on_all_ended = [this] { OnAllEnded(); };
  return std::make_unique<TrainerGroup>(&loop_, std::move(events),
                                        [this] { return starter_ ? starter_->started_pid() : 0; });
}

void Supervisor::StartTrainers(int master_port) {
  started_ = true;
  port_holder_.reset();
  try {
    trainers_->Start(order_, master_port, IpConfigPath(), attempt_);
    if (led_) led_->OnTrainers(trainers_->Running());
  } catch (const Error& error) {
    Fail(error.code(), error.what());
  }
}

// Gets ready for an attempt. Returns MASTER_PORT if this host has rank 0, and 0 otherwise.
int Supervisor::PrepareTrainers() {
  if (!order_.is_master) return 0;
  if (order_.job.master_port != 0) return order_.job.master_port;
  auto [holder, number] = HoldFreePort(order_.job.master_addr);
  port_holder_ = std::move(holder);
  return number;
}

void Supervisor::OnAllEnded() {
  if (part_) return part_->OnAllEnded();
  all_ended_ = true;
  Send({{"t", "done"}});
}

// Returns the path of the job's ip_config. If this host does not have the file, or has a different
// one, returns the path of a copy in memory, which exists as long as this process.
std::string Supervisor::IpConfigPath() {
  const std::string& path = order_.job.ip_config;
  if (!path.empty() && IsFileWith(path, order_.job.ip_config_text)) return path;
  ip_config_memory_.reset(static_cast<int>(::syscall(SYS_memfd_create, "ip_config", 1u)));
  if (!ip_config_memory_) ThrowErrno("can't create", "an ip_config in memory");
  WriteExactly(ip_config_memory_.get(), std::as_bytes(std::span(order_.job.ip_config_text)),
               "ip_config");
  return StrCat("/proc/", ::getpid(), "/fd/", ip_config_memory_.get());
}

// --- Hosts that decide together

JobPart::Actions Supervisor::PartActions() {
  JobPart::Actions actions;
  actions.start = [this](int port) {
    StartTrainers(port);
    part_->OnTrainers(trainers_->Running());
    Send({{"t", "started"}});
  };
  actions.end_trainers = [this](bool at_once, double grace) { trainers_->End(at_once, grace); };
  actions.prepare = [this](const HostOrder& order, uint32_t attempt, const std::string& text) {
    order_ = order;
    attempt_ = attempt;
    trainers_->Close();
    earlier_.push_back(std::exchange(trainers_, MakeTrainers()));
    trainers_->Pause(earlier_.back()->paused());  // the launcher's reader may still be slow
    port_holder_.reset();
    if (order_.only_trainers) CheckMasterAddress();
    Notice(StrCat("starting the trainers again ", text));
    for (const TrainerPlan& trainer : order_.trainers) {
      Log(trainer.rank, StrCat("graphctl: started again ", text, "\n"));
    }
    return PrepareTrainers();
  };
  actions.record = [this](const JobRecord& record) {
    if (!client_) return;
    try {
      client_->Report(record, order_.job.secret);
    } catch (const Error&) {
      // The report is sent again within seconds. If the daemon has ended, OnDaemonEnd handles that.
    }
  };
  actions.notice = [this](const std::string& text) { Notice(text); };
  actions.over = [this](int code, const std::string& reason) {
    ending_ = true;
    all_ended_ = true;
    exit_code_ = code;
    uv_timer_stop(&daemon_timer_);
    Send({{"t", "over"}, {"code", code}, {"text", reason}});
    Send({{"t", "done"}});
  };
  return actions;
}

// Continues without the launcher: from here on, nobody reads what this process sends.
void Supervisor::Detach() {
  if (!part_ || !order_.job.detach || detached_ || input_over_) return;
  Send({{"t", "detached"}, {"directory", part_->directory().path()}});
  output_->Flush(2000);
  output_->Discard();
  uv_poll_stop(&input_);
  uv_timer_stop(&silence_timer_);
  trainers_->Pause(false);
  const UniqueFd nothing = OpenFile("/dev/null", O_RDWR);
  const UniqueFd log =
      OpenFile(part_->directory().path() + "/supervisor.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(nothing.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  detached_ = true;
  input_over_ = true;
  part_->OnDetached();
  detaching_.reset();
}

bool Supervisor::HasEnded() const {
  return all_ended_ && input_over_ && (!part_ || part_->may_leave());
}

}  // namespace graphd::ctl
