// SPDX-License-Identifier: Apache-2.0
#include "client/link/control.h"

#include <kj/async-io.h>

#include <functional>
#include <optional>

#include "base/interruptions.h"
#include "base/strings.h"
#include "wire/bounded.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

// The number of attempts of a call. It is small, because a daemon that refuses connections closes
// them without an answer, too.
constexpr int kTries = 3;
// The pause between two attempts.
constexpr auto kPause = std::chrono::milliseconds(20);

}  // namespace

struct ControlClient::Impl {
  // `connect_again` opens a new connection for each retry; it is null if calls must not be retried.
  Impl(ClientSocket socket, std::string where, std::chrono::milliseconds limit,
       std::function<ClientSocket()> connect_again = nullptr)
      : peer(std::move(where)),
        timeout(limit),
        again(std::move(connect_again)),
        io(kj::setupAsyncIo()),
        link(std::in_place, *io.lowLevelProvider, std::move(socket)) {}

  // Makes a call and waits for its answer. `start` returns the promise of an answer. It is called
  // again if the connection ended before the daemon had answered anything: the daemon may have been
  // replaced by its next process just after it had accepted the connection.
  template <class Start>
  auto Ask(Start start) {
    for (int tries = 1;; tries++) {
      try {
        auto answer = Wait(start());
        answered = true;
        return answer;
      } catch (const Cut& cut) {
        if (answered || !again || tries == kTries) throw Error(cut);
      }
      AwaitTime(kPause);
      ClientSocket socket = again();
      link.emplace(*io.lowLevelProvider, std::move(socket));
    }
  }

  // Returns the interface for operators.
  wire::Control::Client Control() {
    return Ask([this] {
      auto request = link->daemon.controlRequest();
      WriteHello(request.initHello());
      return request.send().then([](capnp::Response<wire::Daemon::ControlResults>&& response) {
        return response.getControl();
      });
    });
  }

  // The error of a call whose connection has ended.
  struct Cut : Error {
    using Error::Error;
  };

  // Waits for an answer, at most for the timeout; converts errors of the RPC to graphd::Error.
  template <class T>
  T Wait(kj::Promise<T> promise) {
    try {
      auto& timer = io.provider->getTimer();
      return timer.timeoutAfter(timeout.count() * kj::MILLISECONDS, kj::mv(promise))
          .wait(io.waitScope);
    } catch (const kj::Exception& exception) {
      if (exception.getType() == kj::Exception::Type::OVERLOADED &&
          std::string(exception.getDescription().cStr()).find("[graphd:") == std::string::npos) {
        Throw(ErrorCode::kDeadline, "the graphd at ", peer, " did not answer within ",
              timeout.count(), " ms");
      }
      const Error error = FromKj(exception, "the graphd at " + peer);
      if (exception.getType() != kj::Exception::Type::DISCONNECTED) throw error;
      throw Cut(error.code(), error.what());
    }
  }

  // A connection, and what belongs to it.
  struct Link {
    Link(kj::LowLevelAsyncIoProvider& provider, ClientSocket socket)
        : connection(provider, std::move(socket), BufferPool::Create()),
          daemon(connection.Bootstrap()) {}
    Connection connection;
    wire::Daemon::Client daemon;
    kj::Maybe<wire::Session::Client> session;
    kj::Maybe<wire::GraphSwitch::Client> graph_switch;
  };

  wire::GraphSwitch::Client& Switch() {
    KJ_IF_MAYBE (prepared, link->graph_switch) return *prepared;
    Throw(ErrorCode::kInternal, "no switch is prepared");
  }

  const std::string peer;
  std::chrono::milliseconds timeout;
  const std::function<ClientSocket()> again;
  bool answered = false;  // whether any call was answered
  kj::AsyncIoContext io;
  std::optional<Link> link;
};

ControlClient::ControlClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlClient::~ControlClient() = default;

std::unique_ptr<ControlClient> ControlClient::ConnectUnix(const std::string& socket_path,
                                                          std::chrono::milliseconds timeout) {
  const auto connect = [=] {
    return ClientSocket{graphd::ConnectUnix(socket_path, static_cast<int>(timeout.count())), true};
  };
  return std::unique_ptr<ControlClient>(
      new ControlClient(std::make_unique<Impl>(connect(), socket_path, timeout, connect)));
}

std::unique_ptr<ControlClient> ControlClient::ConnectTcp(const std::string& address, uint16_t port,
                                                         std::chrono::milliseconds timeout,
                                                         TlsKeys* keys, SecretFile* secret) {
  ClientSocket socket =
      graphd::ConnectTcp(address, port, static_cast<int>(timeout.count()), keys, secret);
  return std::unique_ptr<ControlClient>(new ControlClient(
      std::make_unique<Impl>(std::move(socket), HostPort(address, port), timeout)));
}

void ControlClient::SetTimeout(std::chrono::milliseconds timeout) { impl_->timeout = timeout; }

ServerStatus ControlClient::Status() {
  return impl_->Ask([this] {
    auto request = impl_->link->daemon.statusRequest();
    WriteHello(request.initHello());
    return request.send().then([](capnp::Response<wire::Daemon::StatusResults>&& response) {
      return ReadStatus(response.getStatus());
    });
  });
}

void ControlClient::JoinJob(const JobMember& member) {
  wire::Session::Client session = impl_->Ask([this, &member] {
    auto request = impl_->link->daemon.attachRequest();
    WriteHello(request.initHello());
    WriteMember(member, request.initMember());
    return request.send().then([](capnp::Response<wire::Daemon::AttachResults>&& response) {
      return response.getSession();
    });
  });
  impl_->link->session = kj::mv(session);
}

std::vector<JobHost> ControlClient::Report(const JobRecord& record, const std::string& secret) {
  return impl_->Ask([this, &record, &secret] {
    auto request = impl_->link->daemon.reportRequest();
    WriteHello(request.initHello());
    WriteRecord(record, request.initRecord());
    request.setSecret(secret);
    return request.send().then([](capnp::Response<wire::Daemon::ReportResults>&& response) {
      std::vector<JobHost> hosts;
      for (auto host : BoundedList(response.getHosts(), "hosts")) hosts.push_back(ReadHost(host));
      return hosts;
    });
  });
}

bool ControlClient::Drain(bool on, const std::string& by, const std::string& reason) {
  auto request = impl_->Control().drainRequest();
  request.setOn(on);
  request.setBy(by);
  request.setReason(reason);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::DrainResults>&& response) {
        return response.getChanged();
      }));
}

uint32_t ControlClient::EndJob(const std::string& job_id, const std::string& by,
                               const std::string& reason) {
  auto request = impl_->Control().endJobRequest();
  request.setJobId(job_id);
  request.setBy(by);
  request.setReason(reason);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::EndJobResults>&& response) {
        return response.getMembers();
      }));
}

std::string ControlClient::SetLogLevel(const std::string& level, const std::string& by) {
  auto request = impl_->Control().setLogLevelRequest();
  request.setLevel(level);
  request.setBy(by);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::SetLogLevelResults>&& response) {
        return std::string(response.getBefore().cStr());
      }));
}

std::vector<ChangedOption> ControlClient::Reload(const std::string& by) {
  auto request = impl_->Control().reloadRequest();
  request.setBy(by);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::ReloadResults>&& response) {
        return ReadChanges(response.getChanges());
      }));
}

OldestRequests ControlClient::Requests(uint32_t most) {
  auto request = impl_->Control().requestsRequest();
  request.setMost(most);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::RequestsResults>&& response) {
        return OldestRequests{ReadRequests(response.getRequests()), response.getTotal()};
      }));
}

MemoryUse ControlClient::Memory(uint32_t most) {
  auto request = impl_->Control().memoryRequest();
  request.setMost(most);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::MemoryResults>&& response) {
        return ReadMemoryUse(response.getUse());
      }));
}

void ControlClient::PrepareSwitch(const std::string& part_config, const std::string& id,
                                  const std::string& by) {
  auto request = impl_->Control().prepareSwitchRequest();
  request.setPartConfig(part_config);
  request.setId(id);
  request.setBy(by);
  impl_->link->graph_switch = impl_->Wait(
      request.send().then([](capnp::Response<wire::Control::PrepareSwitchResults>&& response) {
        return response.getSwitch();
      }));
}

SwitchProgress ControlClient::ProgressOfSwitch() {
  return impl_->Wait(impl_->Switch().progressRequest().send().then(
      [](capnp::Response<wire::GraphSwitch::ProgressResults>&& response) {
        return SwitchProgress{response.getReady(), response.getDone(), response.getTotal()};
      }));
}

Switched ControlClient::CommitSwitch() {
  return impl_->Wait(impl_->Switch().commitRequest().send().then(
      [](capnp::Response<wire::GraphSwitch::CommitResults>&& response) {
        return Switched{response.getPartConfig().cStr(), response.getFingerprint().cStr(),
                        response.getJobs()};
      }));
}

void ControlClient::Shutdown(bool force, double timeout_seconds) {
  auto request = impl_->link->daemon.shutdownRequest();
  request.setForce(force);
  request.setTimeoutSeconds(timeout_seconds);
  try {
    impl_->Wait(request.send().ignoreResult());
  } catch (const Error& error) {
    // The daemon may end before its answer is sent, which is what the caller wants.
    if (error.code() != ErrorCode::kUnavailable) throw;
  }
}

}  // namespace graphd
