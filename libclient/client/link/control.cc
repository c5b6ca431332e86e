// SPDX-License-Identifier: Apache-2.0
#include "client/link/control.h"

#include <kj/async-io.h>

#include "base/strings.h"
#include "wire/bounded_list.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/ip_config.h"

namespace graphd {

struct ControlClient::Impl {
  Impl(ClientSocket socket, std::string where, std::chrono::milliseconds limit)
      : peer(std::move(where)),
        timeout(limit),
        io(kj::setupAsyncIo()),
        connection(*io.lowLevelProvider, std::move(socket), BufferPool::Create()),
        daemon(connection.Bootstrap()) {}

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
      throw FromKj(exception, "the graphd at " + peer);
    }
  }

  std::string peer;
  std::chrono::milliseconds timeout;
  kj::AsyncIoContext io;
  Connection connection;
  wire::Daemon::Client daemon;
  kj::Maybe<wire::Session::Client> session;

  // Returns the interface for operators.
  wire::Control::Client Control() {
    auto request = daemon.controlRequest();
    WriteHello(request.initHello());
    return Wait(request.send().then([](capnp::Response<wire::Daemon::ControlResults>&& response) {
      return response.getControl();
    }));
  }
};

ControlClient::ControlClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlClient::~ControlClient() = default;

std::unique_ptr<ControlClient> ControlClient::ConnectUnix(const std::string& socket_path,
                                                          std::chrono::milliseconds timeout) {
  UniqueFd fd = graphd::ConnectUnix(socket_path, static_cast<int>(timeout.count()));
  return std::unique_ptr<ControlClient>(new ControlClient(
      std::make_unique<Impl>(ClientSocket{std::move(fd), true}, socket_path, timeout)));
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
  auto request = impl_->daemon.statusRequest();
  WriteHello(request.initHello());
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Daemon::StatusResults>&& response) {
        return ReadStatus(response.getStatus());
      }));
}

void ControlClient::JoinJob(const JobMember& member) {
  auto request = impl_->daemon.attachRequest();
  WriteHello(request.initHello());
  WriteMember(member, request.initMember());
  impl_->session =
      impl_->Wait(request.send().then([](capnp::Response<wire::Daemon::AttachResults>&& response) {
        return response.getSession();
      }));
}

std::vector<JobHost> ControlClient::Report(const JobRecord& record, const std::string& secret) {
  auto request = impl_->daemon.reportRequest();
  WriteHello(request.initHello());
  WriteRecord(record, request.initRecord());
  request.setSecret(secret);
  return impl_->Wait(
      request.send().then([](capnp::Response<wire::Daemon::ReportResults>&& response) {
        std::vector<JobHost> hosts;
        for (auto host : BoundedList(response.getHosts(), "hosts")) hosts.push_back(ReadHost(host));
        return hosts;
      }));
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

void ControlClient::Shutdown(bool force, double timeout_seconds) {
  auto request = impl_->daemon.shutdownRequest();
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
