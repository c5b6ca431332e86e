// SPDX-License-Identifier: Apache-2.0
#include "ctl/ssh/ssh_session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "base/threads/mutex.h"

namespace graphd::ctl {
namespace {

// Protects the file known_hosts, which all sessions of this process share. Only the functions below
// read or write that file.
Mutex& KnownHostsMutex() {
  static Mutex mutex;
  return mutex;
}

ssh_known_hosts_e IsKnown(ssh_session session) GRAPHD_REQUIRES(KnownHostsMutex()) {
  return ssh_session_is_known_server(session);
}

bool AddToKnownHosts(ssh_session session) GRAPHD_REQUIRES(KnownHostsMutex()) {
  return ssh_session_update_known_hosts(session) == SSH_OK;
}

std::string Fingerprint(ssh_session session) {
  ssh_key key = nullptr;
  if (ssh_get_server_publickey(session, &key) != SSH_OK) return "unknown";
  unsigned char* hash = nullptr;
  size_t size = 0;
  std::string text = "unknown";
  if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) == SSH_OK) {
    char* readable = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
    if (readable) text = readable;
    ssh_string_free_char(readable);
    ssh_clean_pubkey_hash(&hash);
  }
  ssh_key_free(key);
  return text;
}

}  // namespace

SshSession::SshSession(std::string host, const SshOptions& options,
                       const std::function<bool()>& cancelled)
    : host_(std::move(host)),
      cancelled_(cancelled),
      answer_timeout_(options.connect_timeout + options.host_timeout),
      session_(ssh_new()) {
  if (!session_) Throw(ErrorCode::kInternal, "libssh has no memory");
  try {
    Configure(options);
    Connect(options);
    NoticeDeadPeer(options.host_timeout);
    CheckHostKey(options);
    LogIn();
  } catch (...) {
    ssh_disconnect(session_);
    ssh_free(session_);
    throw;
  }
}

SshSession::~SshSession() {
  ssh_disconnect(session_);
  ssh_free(session_);
}

void SshSession::Configure(const SshOptions& options) {
  ssh_options_set(session_, SSH_OPTIONS_HOST, host_.c_str());
  // libssh treats a missing file like an empty one.
  if (!options.config_file.empty() && !FileExists(options.config_file)) {
    Throw(ErrorCode::kNotFound, "--ssh_config ", options.config_file, " does not exist");
  }
  const char* config = options.config_file.empty() ? nullptr : options.config_file.c_str();
  if (ssh_options_parse_config(session_, config) != 0 && config) {
    Throw(ErrorCode::kInvalid, "ssh configuration ", config, ": ", LastError());
  }
  const int no = 0, yes = 1;
  ssh_options_set(session_, SSH_OPTIONS_PROCESS_CONFIG, &no);  // it was parsed just above
  ssh_options_set(session_, SSH_OPTIONS_NODELAY, &yes);
  if (options.port > 0) {
    const auto port = static_cast<unsigned>(options.port);
    ssh_options_set(session_, SSH_OPTIONS_PORT, &port);
  }
  if (!options.username.empty()) {
    ssh_options_set(session_, SSH_OPTIONS_USER, options.username.c_str());
  }
  const long seconds = std::max(1L, static_cast<long>(options.connect_timeout));
  ssh_options_set(session_, SSH_OPTIONS_TIMEOUT, &seconds);
  // Prefer AES, which processors accelerate. The cipher that libssh prefers is several times
  // slower.
  constexpr const char* kCiphers =
      "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,"
      "aes256-ctr,aes192-ctr,aes128-ctr";
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_C_S, kCiphers);
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_S_C, kCiphers);
}

int SshSession::Complete(const std::function<int()>& call, double seconds, const std::string& why) {
  const Clock::time_point start = Clock::now();
  ssh_set_blocking(session_, 0);
  int result;
  while ((result = call()) == SSH_AGAIN) {
    if (cancelled_()) Throw(ErrorCode::kUnavailable, "the connection attempt was cancelled");
    if (SecondsSince(start) > seconds) Throw(ErrorCode::kUnavailable, why);
    pollfd ready{fd(), POLLIN | POLLOUT, 0};
    if (ready.fd >= 0) ::poll(&ready, 1, 5);
    ::poll(nullptr, 0, 1);
  }
  ssh_set_blocking(session_, 1);
  return result;
}

void SshSession::Connect(const SshOptions& options) {
  const int result =
      Complete([this] { return ssh_connect(session_); }, options.connect_timeout,
               StrCat("can't reach the host over ssh within ", options.connect_timeout,
                      " s; check its address in ip_config, its network and its sshd"));
  if (result != SSH_OK) {
    Throw(ErrorCode::kUnavailable, "can't reach the host over ssh: ", LastError(),
          "; check its address in ip_config, its network, its sshd and --ssh_port");
  }
}

void SshSession::NoticeDeadPeer(double host_timeout) {
  const int yes = 1, seconds = std::max(1, static_cast<int>(host_timeout / 4)), probes = 3;
  const auto milliseconds = static_cast<unsigned>(host_timeout * 1000);
  ::setsockopt(fd(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(fd(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(fd(), IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  ::setsockopt(fd(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

void SshSession::CheckHostKey(const SshOptions& options) {
  const MutexLock lock(KnownHostsMutex());
  char* file = nullptr;
  ssh_options_get(session_, SSH_OPTIONS_KNOWNHOSTS, &file);
  const std::string known_hosts = file ? file : "known_hosts";
  ssh_string_free_char(file);
  const std::string key = "its key has fingerprint " + Fingerprint(session_);
  switch (IsKnown(session_)) {
    case SSH_KNOWN_HOSTS_OK:
      return;
    case SSH_KNOWN_HOSTS_CHANGED:
    case SSH_KNOWN_HOSTS_OTHER:
      Throw(ErrorCode::kDenied, "HOST KEY CHANGED: ", key, ", and ", known_hosts,
            " has a different one; either the host was reinstalled (then run ssh-keygen -R ", host_,
            "), or another machine intercepts the connection");
    case SSH_KNOWN_HOSTS_UNKNOWN:
    case SSH_KNOWN_HOSTS_NOT_FOUND:
      if (options.accept_new) {
        if (AddToKnownHosts(session_)) return;
        Throw(ErrorCode::kIo, "can't add its key to ", known_hosts, ": ", LastError());
      }
      Throw(ErrorCode::kDenied, "it is not in ", known_hosts, "; ", key,
            "; log in once with ssh to add it, or give --ssh_accept_new");
    case SSH_KNOWN_HOSTS_ERROR:
      break;
  }
  Throw(ErrorCode::kIo, "can't check its key: ", LastError());
}

void SshSession::LogIn() {
  const int result = ssh_userauth_publickey_auto(session_, nullptr, nullptr);
  if (result == SSH_AUTH_SUCCESS) return;
  char* user = nullptr;
  ssh_options_get(session_, SSH_OPTIONS_USER, &user);
  const std::string name = user ? user : "?";
  ssh_string_free_char(user);
  Throw(ErrorCode::kDenied, "it does not accept a key of user '", name, "' (", LastError(),
        "); put a key into ssh-agent or ~/.ssh, and its public half into authorized_keys there; "
        "--ssh_username names another user");
}

SshChannel::SshChannel(SshSession& session, const std::string& command)
    : session_(session), channel_(ssh_channel_new(session.get())) {
  if (!channel_) Throw(ErrorCode::kInternal, "libssh has no memory");
  try {
    const double limit = session.answer_timeout();
    const std::string late =
        StrCat("its sshd has not begun to run a command within ", limit,
               " s (--connect_timeout, --host_timeout); check whether the host is overloaded");
    const auto open = [this] { return ssh_channel_open_session(channel_); };
    const auto run = [&] { return ssh_channel_request_exec(channel_, command.c_str()); };
    if (session.Complete(open, limit, late) != SSH_OK ||
        session.Complete(run, limit, late) != SSH_OK) {
      Throw(ErrorCode::kUnavailable, "its sshd does not run commands: ", session.LastError());
    }
  } catch (...) {
    ssh_channel_free(channel_);
    throw;
  }
}

SshChannel::~SshChannel() {
  if (ssh_channel_is_open(channel_)) ssh_channel_close(channel_);
  ssh_channel_free(channel_);
}

size_t SshChannel::Read(bool from_stderr, char* bytes, size_t size) {
  const int got = ssh_channel_read_nonblocking(channel_, bytes, static_cast<uint32_t>(size),
                                               from_stderr ? 1 : 0);
  if (got > 0) return static_cast<size_t>(got);
  if (got == SSH_ERROR && !AtEnd()) {
    Throw(ErrorCode::kUnavailable, "the ssh connection failed: ", session_.LastError());
  }
  return 0;
}

void SshChannel::Write(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const int put =
        ssh_channel_write(channel_, text.data() + done, static_cast<uint32_t>(text.size() - done));
    if (put <= 0) {
      // A command that has ended accepts no input, but its last output and its end can still be
      // read.
      if (ssh_is_connected(session_.get())) return;
      Throw(ErrorCode::kUnavailable, "the ssh connection failed: ", session_.LastError());
    }
    done += static_cast<size_t>(put);
  }
}

// Writes at most as many bytes as the channel's window has room for. If there were more, libssh
// would block for an unlimited time.
size_t SshChannel::WriteSome(std::string_view bytes) {
  constexpr size_t kMost = size_t{256} << 10;
  const size_t window = ssh_channel_window_size(channel_);
  const size_t size = std::min({bytes.size(), window, kMost});
  if (size == 0 || AtEnd()) return 0;
  const int put = ssh_channel_write(channel_, bytes.data(), static_cast<uint32_t>(size));
  if (put > 0) return static_cast<size_t>(put);
  if (ssh_is_connected(session_.get())) return 0;
  Throw(ErrorCode::kUnavailable, "the ssh connection failed: ", session_.LastError());
}

void SshChannel::CloseInput() { ssh_channel_send_eof(channel_); }

bool SshChannel::AtEnd() const {
  return ssh_channel_is_eof(channel_) || ssh_channel_is_closed(channel_);
}

int SshChannel::ExitStatus() { return ssh_channel_get_exit_status(channel_); }

}  // namespace graphd::ctl
