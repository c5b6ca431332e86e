// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/control_service.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "daemon/serving/log_level.h"
#include "daemon/serving/memory_use_of.h"
#include "wire/connection.h"

namespace graphd {
namespace {

// The longest name and reason that an operator may give; they are kept, logged and shown.
constexpr size_t kMostText = 256;
// The maximum number of requests in one answer, which graphctl passes on as one line of at most 2
// MiB.
constexpr size_t kMostRequests = 2000;
// The maximum numbers of arrays and of tensors in one answer, for the same reason.
constexpr size_t kMostArrays = 2000;

constexpr size_t kMostPath = 4096;

constexpr const char* kSwitch = "switch the graph";

// The interface of a switch that an operator prepares. If the interface or the connection ends
// before the switch is committed, the switch is given up.
class GraphSwitchService final : public wire::GraphSwitch::Server {
 public:
  GraphSwitchService(std::shared_ptr<GraphSwitch> prepared, OperatorCalls calls)
      : prepared_(std::move(prepared)), calls_(std::move(calls)) {}

 protected:
  kj::Promise<void> progress(ProgressContext context) override {
    return AsKj([&]() -> kj::Promise<void> {
      calls_.Begin(kSwitch);
      const SwitchProgress progress = prepared_->Progress();
      context.getResults().setReady(progress.ready);
      context.getResults().setDone(progress.done);
      context.getResults().setTotal(progress.total);
      return kj::READY_NOW;
    });
  }
  // The call is answered by the switcher's thread, which waits for the disk.
  kj::Promise<void> commit(CommitContext context) override {
    return AsKj([&]() -> kj::Promise<void> {
      calls_.Begin(kSwitch);
      auto pair = kj::newPromiseAndCrossThreadFulfiller<Switched>();
      // The fulfiller is behind a shared pointer, because std::function requires that it can be
      // copied.
      auto fulfiller = std::make_shared<decltype(pair.fulfiller)>(kj::mv(pair.fulfiller));
      prepared_->Commit([fulfiller](const Switched& switched, const Error* error) {
        if (error != nullptr) {
          (*fulfiller)->reject(ToKj(*error));
        } else {
          (*fulfiller)->fulfill(Switched(switched));
        }
      });
      return pair.promise.then([context](Switched&& switched) mutable {
        auto results = context.getResults();
        results.setPartConfig(switched.part_config);
        results.setFingerprint(switched.fingerprint);
        results.setJobs(switched.jobs);
      });
    });
  }

 private:
  const std::shared_ptr<GraphSwitch> prepared_;
  const OperatorCalls calls_;
};

std::string CheckedText(const char* what, capnp::Text::Reader text) {
  std::string checked(text.begin(), text.size());
  if (checked.size() > kMostText) {
    Throw(ErrorCode::kInvalid, "the ", what, " has ", checked.size(), " bytes; at most ", kMostText,
          " are allowed");
  }
  if (!IsUtf8(checked)) Throw(ErrorCode::kInvalid, "the ", what, " is not UTF-8");
  for (const char byte : checked) {
    if (static_cast<unsigned char>(byte) < ' ' || byte == '\x7f') {
      Throw(ErrorCode::kInvalid, "the ", what, " has a control character; write it as one line");
    }
  }
  return checked;
}

std::string InParentheses(const std::string& reason) {
  return reason.empty() ? reason : StrCat(" (", reason, ")");
}

}  // namespace

template <class Call>
kj::Promise<void> ControlService::IfOperator(const char* action, Call&& call) {
  try {
    calls_.Begin(action);
    return call();
  } catch (const Error& error) {
    return ToKj(error);
  }
}

std::string ControlService::NameOf(capnp::Text::Reader by) const {
  const std::string name = CheckedText("operator's name", by);
  const std::string user =
      calls_.peer().uid ? StrCat("uid ", *calls_.peer().uid) : "an unknown user";
  return name.empty() ? user : StrCat(name, " (", user, ")");
}

kj::Promise<void> ControlService::drain(DrainContext context) {
  return IfOperator("drain this server", [&]() -> kj::Promise<void> {
    const auto params = context.getParams();
    const std::string by = NameOf(params.getBy());
    const std::string reason = CheckedText("reason", params.getReason());
    std::optional<DrainStatus> drained;
    if (params.getOn()) drained = {by, reason};
    const bool changed = context_.jobs.SetDrained(std::move(drained));
    context.getResults().setChanged(changed);
    if (changed) {
      LogInfo({.peer = calls_.peer().LogName(), .op = "drain"}, by,
              params.getOn() ? " drains this server: new jobs are refused"
                             : " ends the drain: new jobs are taken again",
              InParentheses(reason));
    }
    return kj::READY_NOW;
  });
}

kj::Promise<void> ControlService::endJob(EndJobContext context) {
  return IfOperator("end jobs", [&]() -> kj::Promise<void> {
    const auto params = context.getParams();
    const std::string job(params.getJobId().begin(), params.getJobId().size());
    const std::string why = StrCat("job ", job, " was ended by ", NameOf(params.getBy()),
                                   InParentheses(CheckedText("reason", params.getReason())));
    const size_t members = context_.jobs.End(job, why);
    LogInfo({job, calls_.peer().LogName(), "end_job"}, why, "; it had ", members,
            " connections here");
    context.getResults().setMembers(static_cast<uint32_t>(members));
    return kj::READY_NOW;
  });
}

kj::Promise<void> ControlService::setLogLevel(SetLogLevelContext context) {
  return IfOperator("set the log level", [&]() -> kj::Promise<void> {
    const auto params = context.getParams();
    const std::string name(params.getLevel().begin(), params.getLevel().size());
    const std::optional<LogLevel> level = LogLevelFromName(name);
    if (!level) {
      Throw(ErrorCode::kInvalid, "the log level is '", CheckedText("log level", params.getLevel()),
            "'; give debug, info, warning or error");
    }
    if (!info_.set_log_level) Throw(ErrorCode::kUnavailable, "this graphd has no log level to set");
    const std::string by = NameOf(params.getBy());
    // The old level may hide the first line; the second one is then written under the new level.
    const LogFields fields{.peer = calls_.peer().LogName(), .op = "set_log_level"};
    LogInfo(fields, by, " sets the log level to ", name);
    const LogLevel before = info_.set_log_level(*level);
    if (before > LogLevel::kInfo) {
      LogInfo(fields, by, " has set the log level from ", LogLevelName(before), " to ", name);
    }
    context.getResults().setBefore(LogLevelName(before));
    return kj::READY_NOW;
  });
}

kj::Promise<void> ControlService::reload(ReloadContext context) {
  return IfOperator("reload the configuration", [&]() -> kj::Promise<void> {
    if (!info_.reload) {
      Throw(ErrorCode::kUnavailable, "this graphd has no configuration to read again");
    }
    return info_.reload(NameOf(context.getParams().getBy()))
        .then([context](std::vector<ChangedOption> changes) mutable {
          WriteChanges(changes,
                       context.getResults().initChanges(static_cast<kj::uint>(changes.size())));
        });
  });
}

kj::Promise<void> ControlService::requests(RequestsContext context) {
  return IfOperator("see the requests of clients", [&]() -> kj::Promise<void> {
    const size_t most = std::min<size_t>(context.getParams().getMost(), kMostRequests);
    OldestRequests found = context_.in_flight.Oldest(most);
    std::map<std::string, std::string> missing_of_job;
    for (RequestStatus& request : found.requests) {
      if (request.operation != "barrier") continue;
      const auto [known, is_new] = missing_of_job.try_emplace(request.job_id);
      if (is_new) known->second = context_.jobs.MissingInBarrier(request.job_id);
      if (!known->second.empty()) request.state = StrCat("waits for ", known->second);
    }
    auto results = context.getResults();
    results.setTotal(found.total);
    WriteRequests(found.requests,
                  results.initRequests(static_cast<kj::uint>(found.requests.size())));
    return kj::READY_NOW;
  });
}

kj::Promise<void> ControlService::memory(MemoryContext context) {
  return IfOperator("see what memory holds", [&]() -> kj::Promise<void> {
    const size_t most = std::min<size_t>(context.getParams().getMost(), kMostArrays);
    // This takes too long for a data thread, because it reads a mark for each page of the tables
    // and asks the kernel about segments. It does not run on the pool for checkpoints, which may be
    // busy for minutes.
    auto use = std::make_shared<MemoryUse>();
    return context_.pools.records
        .Run(JobShare(), 1,
             [use, most, &context = context_](size_t, WorkerScratch&) {
               *use = MemoryUseOf(context.graphs, context.tensors, most);
             })
        .then([use, context]() mutable { WriteMemoryUse(*use, context.getResults().initUse()); });
  });
}

kj::Promise<void> ControlService::prepareSwitch(PrepareSwitchContext context) {
  return IfOperator(kSwitch, [&]() -> kj::Promise<void> {
    if (!info_.prepare_switch) {
      Throw(ErrorCode::kUnavailable, "this graphd can't switch to another graph");
    }
    const auto params = context.getParams();
    SwitchRequest request;
    request.part_config.assign(params.getPartConfig().begin(), params.getPartConfig().size());
    if (request.part_config.size() > kMostPath) {
      Throw(ErrorCode::kInvalid, "the path of the part config has ", request.part_config.size(),
            " bytes; at most ", kMostPath, " are allowed");
    }
    request.id = CheckedText("version's id", params.getId());
    request.by = NameOf(params.getBy());
    context.getResults().setSwitch(
        kj::heap<GraphSwitchService>(info_.prepare_switch(request), calls_));
    return kj::READY_NOW;
  });
}

}  // namespace graphd
