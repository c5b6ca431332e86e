// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "daemon/graph_switcher.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/typed_calls.h"
#include "tests/fuzz/support/wire_input.h"
#include "wire/graph_messages.h"
#include "wire/job_record.h"

// Makes the calls by which operators control a daemon and supervisors report their jobs to it, with
// the protocol's own client, beside trainers that attach and leave. The input chooses up to three
// connections with a role each, the calls, their order and their parameters, and what is dropped
// before it is answered. It is a fault, too, if a client controls the daemon who may not, if a job
// is reported without its secret, and if the records of jobs exceed their bounds.

namespace graphd::fuzz {
namespace {

using Control = wire::Control;

constexpr size_t kConnections = 3;
constexpr int kMaxCalls = 60;
constexpr size_t kMostHosts = 20;

struct Client : TypedClient {
  Client(DaemonServices& services, UniqueFd fd, bool is_unix, bool may_control)
      : TypedClient(services, std::move(fd), is_unix), is_operator(may_control) {}
  const bool is_operator;
  kj::Maybe<Control::Client> control;
  kj::Maybe<wire::GraphSwitch::Client> graph_switch;
  kj::Maybe<wire::Session::Client> session;
};

// Makes records of the lines of the log, as the daemon does, and drops them.
class DroppedLog final : public LogSink {
 public:
  void Write(LogLevel, const std::string& text, const LogFields&) noexcept override {
    if (!IsUtf8(IndentedText(text))) Fail("a line of the log that is not UTF-8");
  }
};

// The level of the log and the versions of the graph, which operators control, for all inputs.
class Controlled {
 public:
  explicit Controlled(DaemonServices& services)
      : switcher_(services.graphs(), Hooks(services), services.part_config(),
                  services.directory() + "/switched") {
    SetLogSink(&log_);
  }

  void Set(DaemonInfo& info) {
    info.set_log_level = [this](LogLevel level) {
      SetLogLevel(level);
      return std::exchange(level_, level);
    };
    info.prepare_switch = [this](const SwitchRequest& request) {
      return switcher_.Prepare(request);
    };
  }

 private:
  static GraphSwitcher::Hooks Hooks(DaemonServices& services) {
    GraphSwitcher::Hooks hooks;
    hooks.configured = [&services] { return services.part_config(); };
    hooks.load = [&services](const std::string& part_config, const std::string& id,
                             const std::function<void(uint64_t, uint64_t)>& progress) {
      DaemonOptions options;
      options.parts = {0, 1};
      return LoadAnother(options, {}, part_config, id, *services.graphs().current(), progress);
    };
    hooks.keep = [](const std::shared_ptr<const KeptGraph>&) {};
    return hooks;
  }

  DroppedLog log_;
  LogLevel level_ = LogLevel::kError;
  GraphSwitcher switcher_;
};

// The calls of one input.
class Calls : private TypedCalls {
 public:
  Calls(DaemonServices& services, Controlled& controlled, std::string_view input)
      : TypedCalls(services, input) {
    controlled.Set(daemon_.info());
  }

  void Run() {
    for (int i = 0; i < kMaxCalls && data_.remaining_bytes() > 0; i++) MakeCall();
    const bool hurries = data_.ConsumeBool();
    if (!hurries) WaitForAnswers();
    End();
    CheckBoard();
  }

 private:
  void MakeCall();
  void CallDaemon(Client& client, int call);
  void CallControl(Client& client, int call);
  void CallSwitch(Client& client, int call);
  void Attach(Client& client);
  void Report(Client& client);
  void FillHost(wire::JobHost::Builder host);
  void CheckBoard() const;

  std::string Job() {
    const auto choice = data_.ConsumeIntegral<uint8_t>();
    if (choice < 192) return OwnJob();
    return choice < 208 ? DaemonServices::kVictimsJob : Text(data_);
  }
  std::string Operator() { return OneOf({"", "alice@host-1", "a\nb", "\xff", "\x1b[31m"}); }

  std::array<kj::Own<Client>, kConnections> clients_;
};

void Calls::MakeCall() {
  auto& client = clients_[data_.ConsumeIntegral<uint8_t>() % kConnections];
  const int call = data_.ConsumeIntegral<uint8_t>() % 32;
  if (client.get() == nullptr) {
    const Chosen chosen = ChoosePeer();
    const bool is_unix = chosen.peer.is_unix;
    client = kj::heap<Client>(services_, daemon_.Connect(chosen.peer), is_unix, chosen.is_operator);
    return CallDaemon(*client, 0);
  }
  if (call == 0) client = nullptr;
  if (call == 1) client->session = nullptr;
  if (call == 2) client->graph_switch = nullptr;
  if (call == 3 || call == 4) return WaitForAnswers();
  if (call == 5) DropACall();
  if (call <= 5) return;
  if (call < 16) return CallDaemon(*client, call - 6);
  if (call < 27) return CallControl(*client, call - 16);
  CallSwitch(*client, call - 27);
}

void Calls::CallDaemon(Client& client, int call) {
  if (call == 0) {
    auto request = client.daemon.controlRequest();
    WriteHello(request.initHello());
    auto may_control = client.is_operator;
    client.control = Send(kj::mv(request), [may_control](auto&) {
                       if (!may_control) Fail("control by a client without the right");
                     }).getControl();
  } else if (call == 1) {
    auto request = client.daemon.statusRequest();
    WriteHello(request.initHello());
    Send(kj::mv(request));
  } else if (call < 5) {
    Attach(client);
  } else {
    Report(client);
  }
}

void Calls::Attach(Client& client) {
  auto request = client.daemon.attachRequest();
  WriteHello(request.initHello());
  auto member = request.initMember();
  member.setJobId(OwnJob());
  member.setRole(data_.ConsumeBool() ? wire::Role::LAUNCHER : wire::Role::TRAINER);
  member.setWorldSize(1);
  member.setAttempt(data_.ConsumeIntegral<uint8_t>() % 4);
  member.setSecret(data_.ConsumeBool() ? "secret" : "");
  if (data_.ConsumeBool()) request.setWantVersion(OneOf({"", "1", "2"}));
  client.session = Send(kj::mv(request)).getSession();
}

void Calls::FillHost(wire::JobHost::Builder host) {
  const auto odd = data_.ConsumeIntegral<uint8_t>();
  host.setHost(odd == 255 ? Some<uint32_t>() : odd % 4);
  host.setSequence(Some<uint64_t>());
  host.setName(odd == 254 ? Text(data_) : "host");
  host.setPhase(odd == 253 ? Some<uint8_t>() : odd % kJobPhases);
  host.setAttempt(Some<uint32_t>());
  host.setPort(Some<uint16_t>());
  host.setCode(Some<int32_t>());
  host.setEndedAt(data_.ConsumeBool() ? 0 : data_.ConsumeFloatingPoint<double>());
  host.setReason(odd == 252 ? Text(data_) : "");
  host.setGrace(data_.ConsumeBool() ? 10 : data_.ConsumeFloatingPoint<double>());
  auto trainers = host.initTrainers(odd < 192 ? 0 : data_.ConsumeIntegral<uint8_t>());
  for (kj::uint i = 0; i < trainers.size(); i++) trainers.set(i, Some<uint32_t>());
  auto away = host.initAway(odd < 192 ? 0 : data_.ConsumeIntegral<uint8_t>() % 8);
  for (kj::uint i = 0; i < away.size(); i++) away.set(i, Some<uint32_t>());
  host.setUncounted(Some<uint32_t>());
}

void Calls::Report(Client& client) {
  auto request = client.daemon.reportRequest();
  WriteHello(request.initHello());
  auto record = request.initRecord();
  const std::string job = Job();
  record.setJobId(job);
  record.setCommand(Operator());
  const auto hosts = data_.ConsumeIntegral<uint8_t>();
  record.setNumHosts(hosts >= 240 ? Some<uint32_t>() : hosts % 4 + 1);
  record.setMaxRestarts(Some<uint32_t>());
  record.setSilentSeconds(data_.ConsumeFloatingPoint<double>());
  auto all = record.initHosts(data_.ConsumeIntegral<uint8_t>() % kMostHosts);
  for (auto host : all) FillHost(host);
  request.setSecret(data_.ConsumeBool() ? "secret" : Operator());
  Send(kj::mv(request), [job](auto&) {
    if (job == DaemonServices::kVictimsJob) Fail("a report of another's job without its secret");
  });
}

void Calls::CallControl(Client& client, int call) {
  KJ_IF_MAYBE (control, client.control) {
    switch (call) {
      case 0:
      case 1: {
        auto request = control->drainRequest();
        request.setOn(call == 0);
        request.setBy(Operator());
        request.setReason(Operator());
        Send(kj::mv(request));
        return;
      }
      case 2:
      case 3: {
        // An operator may end the victim, too, which each input finds attached.
        const std::string job = Job();
        if (job == DaemonServices::kVictimsJob) return;
        auto request = control->endJobRequest();
        request.setJobId(job);
        request.setBy(Operator());
        request.setReason(Operator());
        Send(kj::mv(request));
        return;
      }
      case 4: {
        auto request = control->setLogLevelRequest();
        request.setLevel(OneOf({"debug", "info", "warning", "error", ""}));
        request.setBy(Operator());
        Send(kj::mv(request));
        return;
      }
      case 5: {
        auto request = control->reloadRequest();
        request.setBy(Operator());
        Send(kj::mv(request));
        return;
      }
      case 6:
      case 7: {
        auto request = control->requestsRequest();
        request.setMost(Some<uint32_t>());
        Send(kj::mv(request));
        return;
      }
      case 8: {
        auto request = control->memoryRequest();
        request.setMost(Some<uint32_t>());
        Send(kj::mv(request));
        return;
      }
      default: {
        auto request = control->prepareSwitchRequest();
        const auto path = data_.ConsumeIntegral<uint8_t>();
        request.setPartConfig(path < 128   ? ""
                              : path < 192 ? services_.part_config()
                                           : StrCat(services_.directory(), "/", Text(data_)));
        request.setId(OneOf({"1", "2", "", "\n"}));
        request.setBy(Operator());
        client.graph_switch = Send(kj::mv(request)).getSwitch();
      }
    }
  }
}

void Calls::CallSwitch(Client& client, int call) {
  KJ_IF_MAYBE (prepared, client.graph_switch) {
    if (call < 3) {
      Send(prepared->progressRequest());
    } else {
      Send(prepared->commitRequest());
    }
  }
}

// Requires that all answers have come, or that their calls were dropped.
void Calls::CheckBoard() const {
  for (const JobRecord& record : daemon_.board().Records()) {
    if (record.hosts.size() > record.num_hosts || record.num_hosts > JobBoard::kMaxHosts) {
      Fail(StrCat("a record of ", record.hosts.size(), " of ", record.num_hosts, " hosts"));
    }
    for (const JobHost& host : record.hosts) {
      if (host.host >= record.num_hosts) Fail("a host outside its job");
      if (!IsUtf8(host.name) || !IsUtf8(host.reason)) Fail("a report that is not UTF-8");
    }
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  static auto& services = *new DaemonServices;
  static auto& controlled = *new Controlled(services);
  Calls(services, controlled, input).Run();
  SetLogLevel(LogLevel::kError);
}

std::vector<std::string> Seeds() { return SeedsOfTypedCalls(); }

}  // namespace graphd::fuzz
