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
#include <thread>

#include "base/strings.h"
#include "ctl/supervise/free_port.h"
#include "ctl/supervise/process_tree.h"

namespace graphd::ctl {
namespace {

constexpr uint64_t kDaemonPollMilliseconds = 20;

template <class Handle>
void CloseHandle(Handle& handle) {
  auto* base = reinterpret_cast<uv_handle_t*>(&handle);
  if (base->data && !uv_is_closing(base)) uv_close(base, nullptr);
}

}  // namespace

Supervisor::Supervisor(HostOrder order, std::string unread_input, GuardedState& guard)
    : order_(std::move(order)), guard_(guard), input_text_(std::move(unread_input)) {
  uv_loop_init(&loop_);
  output_ = std::make_unique<OutputQueue>(
      &loop_, STDOUT_FILENO, [this](bool room) { PauseStreams(!room); },
      [this] {
        input_closed_ = true;
        EndTrainers(false);
      });
  for (uv_timer_t* timer : {&daemon_timer_, &kill_timer_, &silence_timer_}) {
    uv_timer_init(&loop_, timer);
    timer->data = this;
  }
  const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
  for (size_t i = 0; i < 4; i++) {
    uv_signal_init(&loop_, &signals_[i]);
    signals_[i].data = this;
    uv_signal_start(
        &signals_[i],
        [](uv_signal_t* handle, int number) {
          auto* self = static_cast<Supervisor*>(handle->data);
          if (number == SIGCHLD) return self->ReapChildren();
          if (!self->ending_) self->Send({{"t", "stopped"}, {"signal", number}});
          self->exit_code_ = 128 + number;
          self->input_closed_ = true;  // nobody needs to tell us any more
          self->EndTrainers(false);
        },
        numbers[i]);
  }
}

Supervisor::~Supervisor() {
  for (auto& trainer : trainers_) {
    for (auto& stream : trainer->streams) {
      if (stream) CloseHandle(stream->poll);
    }
  }
  for (uv_signal_t& handle : signals_) CloseHandle(handle);
  for (uv_timer_t* timer : {&daemon_timer_, &kill_timer_, &silence_timer_}) CloseHandle(*timer);
  CloseHandle(input_);
  CloseHandle(daemon_exit_);
  output_->Close();
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

int Supervisor::Run() {
  try {
    WatchInput();
    struct stat info {};
    if (::stat(order_.job.workspace.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      Throw(ErrorCode::kNotFound, "workspace ", order_.job.workspace,
            " is not a directory on this host; make it there, or give the right --workspace");
    }
    const JobMember member{order_.job.job_id, JobRole::kLauncher, 0, order_.job.world_size,
                           DisplayCommand(order_.job.command)};
    starter_ = std::make_unique<DaemonStarter>(order_.server, &member, !order_.server.keep_alive);
    uv_timer_start(
        &daemon_timer_,
        [](uv_timer_t* timer) { static_cast<Supervisor*>(timer->data)->PollDaemon(); }, 0,
        kDaemonPollMilliseconds);
  } catch (const Error& error) {
    Fail(error.code(), error.what());
  }
  TakeLines();  // what came together with the order
  while (!finished_) uv_run(&loop_, UV_RUN_ONCE);
  LeaveDaemon();
  output_->Flush(1000);
  return exit_code_;
}

void Supervisor::Send(const nlohmann::json& header, std::string_view payload) {
  output_->Write(EncodeFrame(header, payload));
}

// The job can't go on. Its launcher is told, and closes our input when it has ended the others.
void Supervisor::Fail(ErrorCode code, const std::string& text) {
  if (exit_code_ == 0) exit_code_ = ExitCode(code);
  Send({{"t", "error"}, {"code", ErrorCodeName(code)}, {"text", text}});
  EndTrainers(false);
}

// --- What the launcher says

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
  if (order_.host_timeout > 0) {
    uv_timer_start(
        &silence_timer_,
        [](uv_timer_t* timer) {
          auto* self = static_cast<Supervisor*>(timer->data);
          const double silent = static_cast<double>(uv_now(&self->loop_) - self->last_heard_) / 1e3;
          if (silent <= self->order_.host_timeout || self->input_closed_) return;
          self->input_closed_ = true;
          self->EndTrainers(false);
        },
        500, 500);
  }
}

void Supervisor::ReadInput() {
  char bytes[4096];
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      uv_poll_stop(&input_);
      input_closed_ = true;
      EndTrainers(false);
      return;
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
  const auto message = nlohmann::json::parse(line, nullptr, false);
  const std::string kind = message.is_object() ? message.value("t", "") : "";
  if (kind == "go" && ready_ && !ending_ && !started_) {
    StartTrainers(message.value("port", 0));
  } else if (kind == "end") {
    input_closed_ = true;
    EndTrainers(false);
  } else if (kind == "kill") {
    EndTrainers(true);
  }
}

// --- The daemon

void Supervisor::PollDaemon() {
  try {
    const bool had_started = starter_->started_pid() != 0;
    const bool ready = starter_->Poll();
    if (!had_started && starter_->started_pid() != 0) {
      guard_.set_daemon(starter_->started_pid());
      Send({{"t", "notice"},
            {"text", StrCat("starting server '", order_.server.server_name, "', log in ",
                            starter_->log_path())}});
    }
    if (ready) OnReady();
  } catch (const Error& error) {
    uv_timer_stop(&daemon_timer_);
    Fail(error.code(), error.what());
  }
}

void Supervisor::OnReady() {
  uv_timer_stop(&daemon_timer_);
  client_ = starter_->TakeClient();
  ready_ = true;
  WatchDaemonProcess(starter_->daemon_pid());
  int port = 0;
  if (order_.is_master) {
    auto [holder, number] = HoldFreePort(order_.job.master_addr);
    port_holder_ = std::move(holder);
    port = number;
  }
  Send({{"t", "ready"},
        {"started", starter_->started_pid() != 0},
        {"seconds", starter_->seconds()},
        {"port", port}});
}

// A pidfd becomes readable when its process ends, whoever's child it is.
void Supervisor::WatchDaemonProcess(pid_t pid) {
  if (pid <= 0) return;
  daemon_pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!daemon_pidfd_) return;  // a server in another PID namespace: its trainers notice
  if (uv_poll_init(&loop_, &daemon_exit_, daemon_pidfd_.get()) != 0) return;
  daemon_exit_.data = this;
  uv_poll_start(&daemon_exit_, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto* self = static_cast<Supervisor*>(poll->data);
    uv_poll_stop(poll);
    if (self->ending_ || self->input_closed_) return;
    self->Fail(ErrorCode::kUnavailable,
               StrCat("the server '", self->order_.server.server_name,
                      "' has ended while the job was running", self->starter_->LogTail()));
  });
}

// Leaves the job, and waits for the end of a daemon that ends with it, so that nothing is left when
// `graphctl launch` returns.
void Supervisor::LeaveDaemon() {
  if (!starter_) return;
  bool ends = false;
  const pid_t started = starter_->started_pid();
  if (!ready_ && started != 0 && !order_.server.keep_alive) {
    ends = ::kill(started, SIGTERM) == 0;  // it was still loading, for nobody now
    daemon_pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, started, 0)));
  }
  try {
    if (client_) {
      const ServerStatus status = client_->Status();
      ends = status.ends_with_jobs && status.jobs.size() <= 1;
    }
  } catch (const Error&) {
    ends = false;  // it has ended already
  }
  client_.reset();
  if (!ends || !daemon_pidfd_) return;
  pollfd exit{daemon_pidfd_.get(), POLLIN, 0};
  if (::poll(&exit, 1, 3000) == 0 && !ready_) ::kill(started, SIGKILL);
  if (started != 0) ::waitpid(started, nullptr, ready_ ? WNOHANG : 0);
  // Stopped in the midst of starting, it may not have come to removing its socket. Nobody else's is
  // there: we hold the lock.
  if (!ready_) ::unlink(starter_->socket_path().c_str());
}

// --- Trainers

// The file's path, or, where the host has no such file, that of a copy in memory that lives as
// long as this process.
std::string Supervisor::IpConfigPath() {
  if (FileExists(order_.job.ip_config)) return order_.job.ip_config;
  ip_config_memory_.reset(static_cast<int>(::syscall(SYS_memfd_create, "ip_config", 1u)));
  if (!ip_config_memory_) ThrowErrno("can't make", "an ip_config in memory");
  WriteExactly(ip_config_memory_.get(), std::as_bytes(std::span(order_.job.ip_config_text)),
               "ip_config");
  return StrCat("/proc/", ::getpid(), "/fd/", ip_config_memory_.get());
}

void Supervisor::StartTrainers(int master_port) {
  started_ = true;
  port_holder_.reset();
  try {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const std::string ip_config = IpConfigPath();
    for (const TrainerPlan& plan : order_.trainers) {
      auto trainer = std::make_unique<Trainer>();
      trainer->plan = plan;
      StartedTrainer process =
          StartTrainer(order_.job.command, order_.job.workspace,
                       TrainerEnvironment(order_, plan, master_port, cores, ip_config));
      trainer->pid = process.pid;
      trainer->running = true;
      trainer->streams[0] = MakeStream(std::move(process.out), plan.rank, 1);
      trainer->streams[1] = MakeStream(std::move(process.err), plan.rank, 2);
      trainers_.push_back(std::move(trainer));
    }
  } catch (const Error& error) {
    Fail(error.code(), error.what());
  }
  if (trainers_.empty() && !ending_) AllTrainersEnded();
}

std::unique_ptr<Supervisor::Stream> Supervisor::MakeStream(UniqueFd fd, int rank, int number) {
  auto stream = std::make_unique<Stream>();
  stream->fd = std::move(fd);
  stream->owner = this;
  stream->lines = std::make_unique<LineSplitter>([this, rank, number](std::string_view line) {
    Send({{"t", "out"}, {"rank", rank}, {"fd", number}},
         line.data() ? line : std::string_view("", 0));
  });
  uv_poll_init(&loop_, &stream->poll, stream->fd.get());
  stream->poll.data = stream.get();
  uv_poll_start(&stream->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto* s = static_cast<Stream*>(poll->data);
    s->owner->ReadStream(*s, false);
  });
  return stream;
}

// Reads once, or all there is. Lines are sent on as they are complete.
void Supervisor::ReadStream(Stream& stream, bool to_the_end) {
  char bytes[65536];
  // A trainer that has ended may have left the pipe to a writer that never stops.
  for (int rounds = to_the_end ? 64 : 1; rounds > 0 && stream.open; rounds--) {
    const ssize_t got = ::read(stream.fd.get(), bytes, sizeof bytes);
    if (got > 0) {
      stream.lines->Feed({bytes, static_cast<size_t>(got)});
    } else if (got == 0) {
      stream.lines->Finish();
      stream.open = false;
      uv_poll_stop(&stream.poll);
    } else if (errno != EINTR) {
      return;
    }
  }
}

void Supervisor::PauseStreams(bool pause) {
  for (auto& trainer : trainers_) {
    for (auto& stream : trainer->streams) {
      if (!stream || !stream->open) continue;
      if (pause) {
        uv_poll_stop(&stream->poll);
      } else {
        uv_poll_start(&stream->poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
          auto* s = static_cast<Stream*>(poll->data);
          s->owner->ReadStream(*s, false);
        });
      }
    }
  }
}

void Supervisor::ReapChildren() {
  int status = 0;
  pid_t pid;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (starter_ && pid == starter_->started_pid()) {
      guard_.set_daemon(0);
      starter_->OnExit(status);
      continue;
    }
    for (auto& trainer : trainers_) {
      if (trainer->running && trainer->pid == pid) OnTrainerExit(*trainer, status);
    }
  }
}

void Supervisor::OnTrainerExit(Trainer& trainer, int status) {
  trainer.running = false;
  for (auto& stream : trainer.streams) ReadStream(*stream, true);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + signal;
  Send({{"t", "exit"},
        {"rank", trainer.plan.rank},
        {"code", code},
        {"signal", signal},
        {"ending", ending_}});
  bool running = false;
  for (const auto& other : trainers_) running = running || other->running;
  if (running && code != 0) EndTrainers(false);
  if (!running && trainers_.size() == order_.trainers.size()) AllTrainersEnded();
}

// --- The end

void Supervisor::EndTrainers(bool at_once) {
  const bool first = !ending_;
  ending_ = true;
  uv_timer_stop(&daemon_timer_);
  bool running = false;
  for (auto& trainer : trainers_) {
    if (!trainer->running) continue;
    running = true;
    if (first || at_once) ::kill(-trainer->pid, at_once ? SIGKILL : SIGTERM);
  }
  if (!running) return AllTrainersEnded();
  if (at_once) KillDescendants(starter_ ? starter_->started_pid() : 0, 0);
  if (!first) return;
  uv_timer_start(
      &kill_timer_,
      [](uv_timer_t* timer) { static_cast<Supervisor*>(timer->data)->EndTrainers(true); },
      kGraceMilliseconds, 100);
}

// What they left behind (helpers in the background, in sessions of their own) goes now.
void Supervisor::AllTrainersEnded() {
  if (!ended_) {
    ended_ = true;
    ending_ = true;
    uv_timer_stop(&kill_timer_);
    KillDescendants(starter_ ? starter_->started_pid() : 0, 2);
    for (auto& trainer : trainers_) {
      for (auto& stream : trainer->streams) {
        ReadStream(*stream, true);
        if (stream->open) stream->lines->Finish();
        if (stream->open) uv_poll_stop(&stream->poll);
        stream->open = false;
      }
    }
    Send({{"t", "done"}});
  }
  MaybeFinish();
}

void Supervisor::MaybeFinish() {
  if (ended_ && input_closed_) finished_ = true;
}

}  // namespace graphd::ctl
