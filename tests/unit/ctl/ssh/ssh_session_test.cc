// SPDX-License-Identifier: Apache-2.0
#include "ctl/ssh/ssh_session.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/hosts/child.h"
#include "ctl/ssh/ssh_link.h"
#include "tests/support/error_of.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using graphd::testing::ScratchDirectory;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A socket on loopback that is bound, and listens if wanted.
class Peer {
 public:
  explicit Peer(bool listens) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        (listens && ::listen(socket_.get(), 5) != 0)) {
      ThrowErrno("can't make", "a socket");
    }
    port_ = ntohs(address.sin_port);
  }
  int fd() const { return socket_.get(); }
  int port() const { return port_; }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

class SshSessionTest : public ::testing::Test {
 protected:
  SshSessionTest() {
    ::signal(SIGPIPE, SIG_IGN);
    options_.config_file = scratch_ / "ssh_config";
    options_.connect_timeout = 60;
    WriteFileAtomically(options_.config_file, "");
  }
  std::string Says(const std::function<bool()>& cancelled = [] { return false; }) {
    return ErrorOf([&] { const SshSession session("127.0.0.1", options_, cancelled); });
  }
  ScratchDirectory scratch_;
  SshOptions options_;
};

TEST_F(SshSessionTest, AConfigurationThatIsNotThereIsAnError) {
  options_.config_file = scratch_ / "none";
  EXPECT_THAT(Says(),
              AllOf(StartsWith("not_found: "), HasSubstr("/none"), HasSubstr("--ssh_config")));
}

TEST_F(SshSessionTest, AHostWithoutSshdIsToldWithWhatToCheck) {
  const Peer peer(false);
  options_.port = peer.port();
  EXPECT_THAT(Says(), AllOf(StartsWith("unavailable: can't reach the host over ssh: "),
                            HasSubstr("--ssh_port")));
}

TEST_F(SshSessionTest, TheConfigurationNamesThePortUnlessAnOptionDoes) {
  const Peer closed(false), silent(true);
  WriteFileAtomically(options_.config_file,
                      "Host 127.0.0.1\n  Port " + std::to_string(silent.port()) + "\n");
  options_.connect_timeout = 0.2;
  EXPECT_THAT(Says(), HasSubstr("within 0.2 s"));
  options_.port = closed.port();
  EXPECT_THAT(Says(), HasSubstr("--ssh_port"));
}

TEST_F(SshSessionTest, ASilentHostIsGivenUpInTime) {
  const Peer peer(true);
  options_.port = peer.port();
  options_.connect_timeout = 0.2;
  const Clock::time_point start = Clock::now();
  EXPECT_THAT(Says(), HasSubstr("can't reach the host over ssh within 0.2 s; check"));
  EXPECT_LT(SecondsSince(start), 30);
}

TEST_F(SshSessionTest, ConnectingCanBeCancelled) {
  const Peer peer(true);
  options_.port = peer.port();
  int asked = 0;
  EXPECT_THAT(Says([&] { return ++asked == 3; }), HasSubstr("was cancelled"));
}

TEST_F(SshSessionTest, APeerThatSpeaksAnotherProtocolIsAnError) {
  const Peer peer(true);
  options_.port = peer.port();
  std::thread server([&] {
    const UniqueFd client(::accept(peer.fd(), nullptr, nullptr));
    const std::string_view answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    [[maybe_unused]] const ssize_t put = ::send(client.get(), answer.data(), answer.size(), 0);
    ::shutdown(client.get(), SHUT_WR);
    char bytes[4096];
    while (::read(client.get(), bytes, sizeof bytes) > 0) {
    }
  });
  const std::string said = Says();
  server.join();
  EXPECT_THAT(said, StartsWith("unavailable: can't reach the host over ssh"));
}

// An sshd on loopback that lets this user log in by a key, and runs a program that never answers in
// place of each command.
class SilentSshd : public SshSessionTest {
 protected:
  SilentSshd() {
    ::mkdir("/run/sshd", 0755);
    for (const char* key : {"host", "user"}) {
      const Child made =
          StartChild({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", File(key)});
      EXPECT_EQ(AwaitChild(made.pid), 0);
    }
    options_.port = Peer(false).port();
    options_.accept_new = true;
    options_.connect_timeout = 10;
    options_.host_timeout = 0.5;
    WriteFileAtomically(File("sshd_config"),
                        StrCat("ListenAddress 127.0.0.1\nPort ", options_.port, "\nHostKey ",
                               File("host"), "\nAuthorizedKeysFile ", File("user.pub"),
                               "\nPermitRootLogin yes\nStrictModes no\nPidFile none\n",
                               "ForceCommand exec sleep 1000\n"));
    WriteFileAtomically(options_.config_file,
                        StrCat("Host *\n  IdentityFile ", File("user"), "\n  UserKnownHostsFile ",
                               File("known_hosts"), "\n"));
    sshd_ = StartChild({"/usr/sbin/sshd", "-D", "-e", "-f", File("sshd_config")});
    std::string said;
    while (said.find("Server listening") == std::string::npos) {
      char bytes[4096];
      const ssize_t got = ::read(sshd_.err.get(), bytes, sizeof bytes);
      if (got <= 0) break;
      said.append(bytes, static_cast<size_t>(got));
    }
    EXPECT_THAT(said, HasSubstr("Server listening"));
  }
  ~SilentSshd() override {
    for (const pid_t pid : Sessions()) ::kill(pid, SIGKILL);
    ::kill(sshd_.pid, SIGKILL);
    AwaitChild(sshd_.pid);
  }
  std::string File(const char* name) const { return scratch_ / name; }
  // Returns the processes of sshd's sessions.
  std::vector<pid_t> Sessions() const {
    std::vector<pid_t> found, parents = {sshd_.pid};
    while (!parents.empty()) {
      const std::string path =
          StrCat("/proc/", parents.back(), "/task/", parents.back(), "/children");
      parents.pop_back();
      std::ifstream children(path);
      for (pid_t pid; children >> pid;) {
        found.push_back(pid);
        parents.push_back(pid);
      }
    }
    return found;
  }

 private:
  Child sshd_;
};

TEST_F(SilentSshd, AHostWhoseCommandNeverAnswersIsGivenUp) {
  EventQueue queue;
  HostPlan plan;
  plan.order.server.address = "127.0.0.1";
  const auto link = LinksOverSsh("", "/bin/graphctl", options_)(0, plan, queue);
  link->Send("an order");
  std::vector<HostEvent> events;
  while (events.empty()) {
    pollfd ready{queue.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
    events = queue.TakeAll();
  }
  EXPECT_EQ(events[0].kind, HostEvent::Kind::kClosed);
  EXPECT_THAT(events[0].text, HasSubstr("/bin/graphctl, has not answered within 10.5 s"));
}

TEST_F(SilentSshd, AHostThatOpensNoChannelIsGivenUp) {
  SshSession session("127.0.0.1", options_, [] { return false; });
  const std::vector<pid_t> sessions = Sessions();
  ASSERT_FALSE(sessions.empty());
  for (const pid_t pid : sessions) ::kill(pid, SIGSTOP);
  EXPECT_THAT(ErrorOf([&] { const SshChannel channel(session, "true"); }),
              HasSubstr("its sshd has not begun to run a command within 10.5 s"));
}

}  // namespace
}  // namespace graphd::ctl
