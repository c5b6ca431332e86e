// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/job_runner.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/strings.h"
#include "ctl/hosts/frame_contents.h"
#include "ctl/plan/json_value.h"
#include "ctl/terminal/signals.h"

namespace graphd::ctl {
namespace {

constexpr std::chrono::seconds kEndTimeout{10};  // time for hosts to report that nothing remains

// The maximum amount of output that may wait for its reader while the job ends; more is dropped.
constexpr size_t kMostAtEnd = size_t{16} << 20;

}  // namespace

JobRunner::JobRunner(LaunchPlan plan, LinkOpener open_link, double connect_timeout,
                     double host_timeout)
    : plan_(std::move(plan)),
      open_link_(std::move(open_link)),
      connect_timeout_(connect_timeout),
      host_timeout_(host_timeout),
      hosts_(plan_.hosts.size()),
      labels_(static_cast<size_t>(plan_.world_size)),
      master_port_(plan_.master_port),
      hosts_meet_(HostsMeet(plan_.hosts[0].order.job)) {
  for (size_t i = 0; i < hosts_.size(); i++) {
    hosts_[i].trainers_left = static_cast<int>(plan_.hosts[i].order.trainers.size());
    for (const TrainerPlan& trainer : plan_.hosts[i].order.trainers) {
      labels_[static_cast<size_t>(trainer.rank)] = "[" + trainer.label + "] ";
    }
  }
}

int JobRunner::Run() {
  const UniqueFd signals = WatchSignals();
  OpenLinks();
  while (!AllClosed() || (!console_.empty() && signals_ == 0)) {
    // If the reader of our output is slow, no more events are taken, so that the trainers have to
    // wait, unless the job is ending.
    const bool take = ending_ || !console_.full();
    pollfd inputs[3] = {{take ? queue_.fd() : -1, POLLIN, 0},
                        {signals.get(), POLLIN, 0},
                        {console_.fd(), POLLOUT, 0}};
    ::poll(inputs, 3, 250);
    signalfd_siginfo info{};
    while (::read(signals.get(), &info, sizeof info) == sizeof info) {
      OnSignal(static_cast<int>(info.ssi_signo));
    }
    if (take) {
      for (const HostEvent& event : queue_.TakeAll()) Handle(event);
      NoticeSilence();
    } else {
      for (Host& host : hosts_) host.heard = Clock::now();  // frames were not read
    }
    console_.WriteSome();
    if (console_.out_is_broken())
      End(128 + SIGPIPE, "nobody reads the output any more", "; ended the job");
    SendPings();
    if (ending_ && !AllClosed() && Clock::now() > end_deadline_) GiveUp();
  }
  Finish();
  return exit_code_;
}

// Writes the remaining output, and drops what its reader does not accept immediately.
void JobRunner::Finish() {
  if (dropped_) PrintMessage("some output at the job's end was dropped, because nobody read it");
  console_.WriteOrDrop();
}

// Exits the process without waiting for the threads of the links.
void JobRunner::GiveUp() {
  for (size_t i = 0; i < hosts_.size(); i++) {
    if (!hosts_[i].closed) {
      hosts_[i].link->Abandon();
      PrintMessage(StrCat(plan_.hosts[i].name,
                          " has not confirmed that nothing of the job remains; ",
                          "check with `graphctl ps`"));
    }
  }
  Finish();
  ::_exit(exit_code_ == 0 ? ExitCode(ErrorCode::kUnavailable) : exit_code_);
}

void JobRunner::OpenLinks() {
  for (size_t i = 0; i < hosts_.size(); i++) {
    const HostPlan& host = plan_.hosts[i];
    hosts_[i].link = open_link_(i, host, queue_);
    hosts_[i].heard = Clock::now();
    hosts_[i].link->Send(EncodeOrder(host.order));
  }
}

void JobRunner::Handle(const HostEvent& event) {
  const std::string& name = plan_.hosts[event.host].name;
  switch (event.kind) {
    case HostEvent::Kind::kFrame:
      hosts_[event.host].answered = true;
      hosts_[event.host].heard = Clock::now();
      OnFrame(event.host, event);
      break;
    case HostEvent::Kind::kNoise:
      console_.Add(STDERR_FILENO, StrCat("[", name, "] ", event.text, "\n"));
      break;
    case HostEvent::Kind::kClosed:
      hosts_[event.host].closed = true;
      if (hosts_[event.host].detached) break;
      if (!ending_ || !event.text.empty()) {
        const std::string& where = plan_.hosts[event.host].where;
        End(ExitCode(event.code),
            StrCat(name, where.empty() ? "" : StrCat(" (", where, ")"), ": ",
                   event.text.empty() ? "its supervisor has ended" : event.text));
      }
      break;
  }
}

void JobRunner::OnFrame(size_t index, const HostEvent& event) {
  const std::string& name = plan_.hosts[index].name;
  const std::string kind = ValueOr(event.header, "t", "");
  if (kind == "out") {
    // Other verbs show all the output of a detached job.
    if (!plan_.hosts[index].order.job.detach) PrintLines(event.header, event.text);
  } else if (kind == "hello") {
    const std::string version = ValueOr(event.header, "version", "?");
    if (version != GRAPHD_VERSION) {
      End(ExitCode(ErrorCode::kVersion),
          StrCat(name, " has graphctl ", version, ", and this machine has ", GRAPHD_VERSION,
                 "; install the same version on both, or name another with --graphctl"));
    }
  } else if (kind == "notice") {
    PrintMessage(StrCat(name, ": ", ValueOr(event.header, "text", "")));
  } else if (kind == "ready") {
    OnReady(index, event.header);
  } else if (kind == "exit") {
    OnExit(index, event.header);
  } else if (kind == "started") {
    OnStarted(index);
  } else if (kind == "detached") {
    hosts_[index].detached = true;
  } else if (kind == "done") {
    hosts_[index].done = true;
  } else if (kind == "over") {
    OnOver(event.header);
  } else if (kind == "stopped") {
    End(128 + ReadStopped(event.header), StrCat("the job was stopped on ", name));
  } else if (kind == "error") {
    End(ExitCode(ErrorCodeFromName(ValueOr(event.header, "code", ""))),
        StrCat(name, ": ", ValueOr(event.header, "text", "it failed")));
  }
}

void JobRunner::OnReady(size_t index, const nlohmann::json& header) {
  Host& host = hosts_[index];
  const HostPlan& plan = plan_.hosts[index];
  host.ready = true;
  const ReadyFrame ready = ReadReady(header);
  if (plan.order.is_master && master_port_ == 0) master_port_ = ready.port;
  if (plan.order.only_trainers) {
    PrintMessage(StrCat(plan.name, ": is ready, without a server"));
  } else {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f s", ready.seconds);
    PrintMessage(StrCat(plan.name, ": ", ready.started ? "started" : "attached to", " server '",
                        plan.order.server.server_name, "' in ", seconds));
  }
  const bool all = std::all_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.ready; });
  if (!all || started_ || ending_ || hosts_meet_) return;
  started_ = true;
  if (!plan_.hosts[0].order.job.no_logs) {
    PrintMessage(StrCat("job ", plan_.job_id, " begins; `graphctl logs ", plan_.job_id,
                        "` shows its output again later"));
  }
  const std::string go = nlohmann::json({{"t", "go"}, {"port", master_port_}}).dump();
  for (Host& each : hosts_) each.link->Send(go);
}

void JobRunner::OnExit(size_t index, const nlohmann::json& header) {
  hosts_[index].trainers_left--;
  const auto [rank, code, signal, ending] = ReadExit(header);
  if (ending_ || hosts_meet_) return;
  if (code != 0 && !ending) {
    const std::string how =
        signal ? StrCat("was killed by signal ", signal) : StrCat("exited with code ", code);
    return End(code,
               StrCat(TrainerName(plan_.hosts[index].order, rank), " on ", plan_.hosts[index].name,
                      " ", how),
               StrCat("; ended the job", WhereLogsAre(index, rank)));
  }
  int left = 0;
  for (const Host& host : hosts_) left += host.trainers_left;
  if (left == 0) End(0, "");
}

// Returns the end of a message about a trainer, which says where its output can be read again.
std::string JobRunner::WhereLogsAre(size_t index, int rank) const {
  const JobSpec& job = plan_.hosts[index].order.job;
  if (!job.log_dir.empty()) {
    return StrCat(". Its output is in ", job.log_dir, "/trainer-", rank, ".log on that host");
  }
  if (job.no_logs) return {};
  return StrCat("; `graphctl logs ", plan_.job_id,
                "` with the same options shows its output again");
}

// Lets the hosts continue without this process when all of them have started their trainers.
void JobRunner::OnStarted(size_t index) {
  hosts_[index].started = true;
  const bool all =
      std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.started; });
  if (!all || ending_ || detaching_ || !plan_.hosts[0].order.job.detach) return;
  detaching_ = true;
  for (Host& host : hosts_) host.link->Send("{\"t\":\"detach\"}");
}

void JobRunner::OnOver(const nlohmann::json& header) {
  const std::string why = ValueOr(header, "text", "");
  const std::string hint =
      plan_.hosts[0].order.job.detach
          ? StrCat("; `graphctl logs ", plan_.job_id, "` with the same options shows its output")
          : "";
  End(ReadExit(header).code, why.empty() ? "" : StrCat(why, "; ended the job", hint));
}

void JobRunner::OnSignal(int number) {
  signals_++;
  if (signals_ == 1 && detaching_) {
    // Run's caller says whether the job has ended, because the hosts may go on already.
    return End(128 + number, StrCat("received signal ", number, " while the hosts were detached"));
  }
  if (signals_ == 1) {
    return number == SIGINT
               ? End(128 + number, "interrupted", "; ending the job (interrupt again to kill it)")
               : End(128 + number, StrCat("received signal ", number), "; ending the job");
  }
  for (Host& host : hosts_) {
    if (!host.closed && host.link) host.link->Send("{\"t\":\"kill\"}");
  }
  end_deadline_ = std::min(end_deadline_, Clock::now() + std::chrono::seconds(2));
}

void JobRunner::End(int code, const std::string& why, const std::string& advice) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = code;
  if (!why.empty()) PrintMessage(why + advice);
  end_deadline_ = Clock::now() + kEndTimeout;
  const std::string outcome = nlohmann::json({{"t", "outcome"}, {"code", code}, {"text", why}})
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (Host& host : hosts_) {
    if (!host.link) continue;
    host.link->Send(outcome);
    host.link->End();
  }
}

void JobRunner::PrintLines(const nlohmann::json& header, std::string_view lines) {
  if (ending_ && console_.size() > kMostAtEnd) {
    dropped_ = true;
    return;
  }
  const OutFrame out = ReadOut(header);
  const int fd = out.is_error ? STDERR_FILENO : STDOUT_FILENO;
  const std::string& label = LabelOf(out.rank);
  std::string labelled;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1);
    labelled.append(label).append(lines.substr(0, end + 1));
    lines.remove_prefix(end + 1);
  }
  console_.Add(fd, labelled);
}

void JobRunner::PrintMessage(const std::string& text) {
  console_.Add(STDERR_FILENO, "graphctl: " + text + "\n");
}

void JobRunner::SendPings() {
  if (SecondsSince(last_ping_) < host_timeout_ / 4) return;
  last_ping_ = Clock::now();
  for (size_t i = 0; i < hosts_.size(); i++) {
    // While the job ends, pings are only sent to nodes of Slurm, whose answers show that they are
    // not lost.
    const bool listens = ending_ ? !plan_.hosts[i].node.empty() && !hosts_[i].done
                                 : plan_.hosts[i].order.host_timeout > 0;
    if (listens && !hosts_[i].closed) hosts_[i].link->Send("{\"t\":\"ping\"}");
  }
}

void JobRunner::NoticeSilence() {
  for (size_t i = 0; i < hosts_.size(); i++) {
    Host& host = hosts_[i];
    const std::string& node = plan_.hosts[i].node;
    const double limit = host_timeout_ + (host.answered ? 0 : connect_timeout_);
    // Until the job ends, its trainers on other hosts need the daemon of a host whose trainers are
    // done.
    if (node.empty() || host.closed || (host.done && ending_) || host.lost) continue;
    if (SecondsSince(host.heard) <= limit) continue;
    host.lost = true;
    const std::string why =
        host.answered
            ? StrCat(" has been silent for ", limit,
                     " s (--host_timeout); it is lost, and its trainers end by themselves")
            : StrCat(" has not answered within ", limit, " s (--connect_timeout, --host_timeout)");
    const std::string text = StrCat(plan_.hosts[i].name, ": node ", node, why);
    if (ending_) PrintMessage(text);
    End(ExitCode(ErrorCode::kUnavailable), text);
    host.link->Abandon();
  }
}

bool JobRunner::is_detached() const {
  return std::any_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.detached; });
}

bool JobRunner::AllClosed() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& h) { return h.closed; });
}

const std::string& JobRunner::LabelOf(int rank) const {
  static const std::string unknown = "[?] ";
  const auto index = static_cast<size_t>(rank);
  return rank >= 0 && index < labels_.size() ? labels_[index] : unknown;
}

}  // namespace graphd::ctl
