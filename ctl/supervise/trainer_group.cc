// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/trainer_group.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "ctl/supervise/process_tree.h"

namespace graphd::ctl {

TrainerGroup::TrainerGroup(uv_loop_t* loop, Events events, std::function<pid_t()> spared)
    : loop_(loop), events_(std::move(events)), spared_(std::move(spared)) {
  uv_timer_init(loop_, &kill_timer_);
  kill_timer_.data = this;
}

TrainerGroup::~TrainerGroup() = default;

void TrainerGroup::Close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&kill_timer_), nullptr);
  for (auto& member : members_) {
    for (auto& stream : member->streams) {
      uv_close(reinterpret_cast<uv_handle_t*>(&stream->poll), nullptr);
      // This object exists until the loop has closed the handle, which may be as late as the job's
      // end, so the pipe is closed here.
      stream->open = false;
      stream->fd.reset();
    }
  }
}

void TrainerGroup::Start(const HostOrder& order, int master_port, const std::string& ip_config,
                         uint32_t attempt) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  starting_ = true;
  try {
    for (const TrainerPlan& plan : order.trainers) {
      StartedTrainer process =
          StartTrainer(order.job.command, order.job.workspace,
                       TrainerEnvironment(order, plan, master_port, cores, ip_config, attempt));
      auto member = std::make_unique<Member>();
      member->rank = plan.rank;
      member->pid = process.pid;
      member->running = true;
      member->streams[0] = MakeStream(std::move(process.out), plan.rank, 1);
      member->streams[1] = MakeStream(std::move(process.err), plan.rank, 2);
      members_.push_back(std::move(member));
    }
  } catch (...) {
    starting_ = false;
    throw;
  }
  starting_ = false;
  if (members_.empty()) AllEnded();
}

std::unique_ptr<TrainerGroup::Stream> TrainerGroup::MakeStream(UniqueFd fd, int rank, int number) {
  auto stream = std::make_unique<Stream>();
  stream->fd = std::move(fd);
  stream->owner = this;
  stream->rank = rank;
  stream->number = number;
  stream->splitter =
      std::make_unique<LineSplitter>([&lines = stream->lines](std::string_view line) {
        lines += line;
        lines += '\n';
      });
  uv_poll_init(loop_, &stream->poll, stream->fd.get());
  stream->poll.data = stream.get();
  if (!paused_) Watch(*stream);
  return stream;
}

void TrainerGroup::Watch(Stream& stream) {
  uv_poll_start(&stream.poll, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto* self = static_cast<Stream*>(poll->data);
    self->owner->Read(*self, false);
  });
}

void TrainerGroup::Pause(bool pause) {
  paused_ = pause;
  for (auto& member : members_) {
    for (auto& stream : member->streams) {
      if (!stream->open) continue;
      if (pause) {
        uv_poll_stop(&stream->poll);
      } else {
        Watch(*stream);
      }
    }
  }
}

// Reads once or, if `to_the_end`, everything that is available.
void TrainerGroup::Read(Stream& stream, bool to_the_end) {
  char bytes[65536];
  // The number of rounds is bounded, because a trainer that has ended may have left the pipe to a
  // process that writes without end.
  for (int rounds = to_the_end ? 64 : 1; rounds > 0 && stream.open; rounds--) {
    const ssize_t got = ::read(stream.fd.get(), bytes, sizeof bytes);
    if (got > 0) {
      stream.splitter->Feed({bytes, static_cast<size_t>(got)});
      EmitLines(stream);
    } else if (got == 0) {
      stream.splitter->Finish();
      EmitLines(stream);
      stream.open = false;
      uv_poll_stop(&stream.poll);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// Passes on all lines of one read together, so that short lines cost no more than their bytes.
void TrainerGroup::EmitLines(Stream& stream) {
  if (!stream.lines.empty()) events_.on_lines(stream.rank, stream.number, stream.lines);
  stream.lines.clear();
}

std::vector<std::pair<int, pid_t>> TrainerGroup::Running() const {
  std::vector<std::pair<int, pid_t>> running;
  for (const auto& member : members_) {
    if (member->running) running.emplace_back(member->rank, member->pid);
  }
  return running;
}

bool TrainerGroup::AnyRunning() const {
  for (const auto& member : members_) {
    if (member->running) return true;
  }
  return false;
}

bool TrainerGroup::OnChildExit(pid_t pid, int wait_status) {
  for (auto& member : members_) {
    if (!member->running || member->pid != pid) continue;
    member->running = false;
    for (auto& stream : member->streams) Read(*stream, true);
    const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    const int code = signal ? 128 + signal : WEXITSTATUS(wait_status);
    events_.on_exit(member->rank, code, signal, ending_);
    if (!AnyRunning() && !starting_) {
      AllEnded();
    } else if (code != 0 && !ending_) {
      End(false);
    }
    return true;
  }
  return false;
}

void TrainerGroup::End(bool at_once, double grace_seconds) {
  const bool first = !ending_;
  ending_ = true;
  if (!AnyRunning()) return AllEnded();
  for (auto& member : members_) {
    if (member->running && (first || at_once)) ::kill(-member->pid, at_once ? SIGKILL : SIGTERM);
  }
  if (at_once) KillDescendants(spared_(), 0);
  auto grace = static_cast<uint64_t>(grace_seconds * 1000);
  if (grace == 0) grace = kGraceMilliseconds;
  if (!first && uv_timer_get_due_in(&kill_timer_) <= grace) return;
  uv_timer_start(
      &kill_timer_, [](uv_timer_t* timer) { static_cast<TrainerGroup*>(timer->data)->End(true); },
      grace, 100);
}

// Kills the processes that trainers left behind (in the background, in other sessions).
void TrainerGroup::AllEnded() {
  if (ended_) return;
  ended_ = true;
  ending_ = true;
  uv_timer_stop(&kill_timer_);
  KillDescendants(spared_(), 2);
  for (auto& member : members_) {
    for (auto& stream : member->streams) {
      Read(*stream, true);
      if (!stream->open) continue;
      stream->splitter->Finish();
      EmitLines(*stream);
      stream->open = false;
      uv_poll_stop(&stream->poll);
    }
  }
  events_.on_all_ended();
}

}  // namespace graphd::ctl
