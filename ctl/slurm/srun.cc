// SPDX-License-Identifier: Apache-2.0
#include "ctl/slurm/srun.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/hosts/child.h"
#include "ctl/hosts/child_link.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/plan/json_value.h"
#include "ctl/slurm/own_addresses.h"
#include "ctl/slurm/step_variables.h"
#include "ctl/terminal/signals.h"

namespace graphd::ctl {
namespace {

constexpr int kMostNodes = 1 << 16;
constexpr size_t kMostText = 4096;  // the bytes of srun's messages that are kept

std::string Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

// Returns the words of a step with a task on each of `nodes` nodes.
std::vector<std::string> SrunWords(int nodes, double timeout) {
  return {"srun",
          "--overlap",
          "--quiet",
          "--mpi=none",
          StrCat("--nodes=", nodes, "-", nodes),
          StrCat("--ntasks=", nodes),
          "--ntasks-per-node=1",
          StrCat("--immediate=", std::max(1, static_cast<int>(std::ceil(timeout)))),
          "--chdir=/",
          "--export=ALL"};
}

void CheckInJob() {
  if (Variable("SLURM_JOB_ID").empty()) {
    Throw(
        ErrorCode::kInvalid,
        "--launcher slurm: this is not a job of Slurm (SLURM_JOB_ID is not set); run the command "
        "in one, for example by `salloc --nodes=4 graphctl launch ...`, or in a script of sbatch");
  }
}

// The answers of the nodes, and the messages of srun.
struct Answers {
  std::map<int, SlurmNode> nodes;  // by index in the job
  std::string said;                // srun's standard error

  void Take(const nlohmann::json& header) {
    SlurmNode node{ValueOr(header, "name", ""), TextsIn(header, "addresses")};
    if (ValueOr(header, "t", "") == "node") nodes[ValueOr(header, "index", 0)] = std::move(node);
  }
};

// Blocks the signals that would end this process while its step runs. If one has arrived meanwhile,
// it ends this process after the step.
class HeldSignals {
 public:
  HeldSignals() {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before_);
    arrived_ = WatchSignals();
  }
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  int fd() const { return arrived_.get(); }

 private:
  sigset_t before_{};
  UniqueFd arrived_;
};

// A running srun process. The destructor ends it.
class Step {
 public:
  explicit Step(Child child) : child_(std::move(child)) { child_.in.reset(); }
  ~Step() { End(); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  const Child& child() const { return child_; }
  // Ends the process, if it was not ended before. Returns its wait status.
  int End() {
    if (child_.pid > 0) status_ = EndChild(std::exchange(child_.pid, 0));
    return status_;
  }

 private:
  Child child_;
  int status_ = 0;
};

// Reads a step's output until its end. Returns false if `timeout` seconds pass or a signal arrives
// before that.
bool ReadAnswers(const Child& child, int signals, double timeout, Answers& answers) {
  FrameReader frames(
      [&](const nlohmann::json& header, const std::string&) { answers.Take(header); },
      [](const std::string&) {});
  const Clock::time_point start = Clock::now();
  pollfd inputs[3] = {
      {child.out.get(), POLLIN, 0}, {child.err.get(), POLLIN, 0}, {signals, POLLIN, 0}};
  while (inputs[0].fd >= 0 || inputs[1].fd >= 0) {
    const double left = timeout - SecondsSince(start);
    if (left <= 0) return false;
    if (::poll(inputs, 3, static_cast<int>(std::ceil(left * 1000))) <= 0) continue;
    if (inputs[2].revents) return false;
    char bytes[65536];
    for (int i = 0; i < 2; i++) {
      if (!inputs[i].revents) continue;
      const ssize_t got = ::read(inputs[i].fd, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        inputs[i].fd = -1;
      } else if (i == 0) {
        frames.Feed({bytes, static_cast<size_t>(got)});
      } else if (answers.said.size() < kMostText) {
        answers.said.append(bytes, static_cast<size_t>(got));
      }
    }
  }
  return EndsWithin(child.pid, timeout - SecondsSince(start));
}

Child StartSrun(const std::vector<std::string>& words) {
  try {
    return StartChild(words, VariablesWithheldFromSteps());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    Throw(ErrorCode::kNotFound, "--launcher slurm: ", error.what(),
          "; add the folder of Slurm's srun to PATH");
  }
}

}  // namespace

SlurmNodes AskNodes(const std::string& graphctl, double timeout) {
  CheckInJob();
  const int count = static_cast<int>(
      ParseInt(Variable("SLURM_JOB_NUM_NODES"), "SLURM_JOB_NUM_NODES", 1, kMostNodes));
  std::vector<std::string> words = SrunWords(count, timeout);
  words.insert(words.end(), {"--input=none", graphctl, "supervise", "--node"});
  const HeldSignals signals;
  Step step(StartSrun(words));
  Answers answers;
  const bool ended = ReadAnswers(step.child(), signals.fd(), timeout, answers);
  const int status = step.End();
  if (!ended || status != 0 || answers.nodes.size() != static_cast<size_t>(count)) {
    Throw(ErrorCode::kUnavailable, "--launcher slurm: ", answers.nodes.size(), " of ", count,
          " nodes have answered",
          ended ? "" : StrCat(" within ", timeout, " s (--connect_timeout)"), "; each needs ",
          graphctl, " (see --graphctl). ",
          answers.said.empty() ? "srun has said nothing" : "srun says:\n" + answers.said);
  }
  SlurmNodes job{Variable("SLURM_JOB_ID"), {}};
  for (auto& [index, node] : answers.nodes) job.nodes.push_back(std::move(node));
  RemoveSharedAddresses(job);
  return job;
}

void AnswerAsNode() {
  const std::string frame =
      EncodeFrame({{"t", "node"},
                   {"index", ParseInt(Variable("SLURM_NODEID"), "SLURM_NODEID", 0, kMostNodes)},
                   {"name", Variable("SLURMD_NODENAME")},
                   {"addresses", OwnAddresses()}});
  WriteExactly(STDOUT_FILENO, std::as_bytes(std::span(frame)), "standard output");
}

LinkOpener LinksOverSrun(const std::string& graphctl, double connect_timeout) {
  return [=](size_t host, const HostPlan& plan, EventQueue& queue) {
    SupervisorCommand command{.words = SrunWords(1, connect_timeout),
                              .without = VariablesWithheldFromSteps(),
                              .relay = "srun"};
    command.words.insert(command.words.end(),
                         {"--nodelist=" + plan.node, "--input=all", graphctl, "supervise"});
    // These lines of srun only repeat the supervisor's exit code, after the supervisor has reported
    // itself how it ends.
    command.is_useless = [](std::string_view line) {
      return line.starts_with("srun: error: ") &&
             line.find(": task 0: Exited with exit code ") != line.npos;
    };
    command.cannot_start =
        StrCat("srun could not start ", graphctl, " on node ", plan.node,
               "; what it has said is above. Is the program there? (--graphctl names another)");
    return OpenChildLink(host, std::move(command), queue);
  };
}

}  // namespace graphd::ctl
