// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphd/schema.h"

// Reading of ip_config files in DGL's format: one host per line, `address [port [trainers]]`,
// separated by blanks. Line i is the host that serves partition i. Empty lines and lines that begin
// with '#' are skipped. Lines with the same address and port name one daemon that serves all their
// partitions.

namespace graphd {

inline constexpr uint16_t kDefaultPort = 30050;

struct HostLine {
  std::string address;  // name, IPv4 or IPv6 literal
  uint16_t port = kDefaultPort;
  std::optional<int> num_trainers;  // third column: overrides --num_trainers for this host
  PartId part = 0;
};

// A daemon, and the partitions that it serves in ascending order.
struct DaemonAddress {
  std::string address;
  uint16_t port = kDefaultPort;
  std::vector<PartId> parts;
};

// Calls f for each host in a text of this form. `columns` are the columns of the host's line. `at`
// is the place of the line for messages: if `where`, the name of the text's source, is
// "ip_config.txt", then `at` is, for example, "ip_config.txt line 3". Throws Error(kInvalid) for a
// line with more than `most_columns`; the error shows the expected form of a line, `form`, such as
// "address [port]".
void ForEachHost(
    const std::string& text, const std::string& where, size_t most_columns, const char* form,
    const std::function<void(const std::vector<std::string>& columns, const std::string& at)>& f);

// ReadIpConfig parses a file, and ParseIpConfig a text whose source is called `where`. Both throw
// Error(kInvalid) with file, line, value and remedy; ReadIpConfig throws Error(kNotFound) if there
// is no such file.
std::vector<HostLine> ReadIpConfig(const std::string& path);
std::vector<HostLine> ParseIpConfig(const std::string& text, const std::string& where);
// Returns the daemons in order of first appearance.
std::vector<DaemonAddress> DaemonsOf(const std::vector<HostLine>& lines);

// Returns whether an address belongs to this machine: whether it is a loopback address or the
// address of an interface. Returns false for a name that can't be resolved.
bool IsLocalAddress(const std::string& address);

// Returns whether an address can be resolved here.
bool IsKnownAddress(const std::string& address);

// Returns whether an address resolves to nothing but loopback addresses here.
bool IsLoopbackAddress(const std::string& address);

// Format and parse "host:port", with brackets around IPv6 literals. ParseHostPort uses kDefaultPort
// if there is no port, and throws Error(kInvalid) for malformed text.
std::string HostPort(const std::string& address, uint16_t port);
std::pair<std::string, uint16_t> ParseHostPort(const std::string& text);

// Returns the directory of the daemons' Unix sockets: $GRAPHD_RUNTIME_DIR if it is set; else
// /run/graphd if the user is root or may write to it; else $XDG_RUNTIME_DIR/graphd if
// $XDG_RUNTIME_DIR may be written to; else $HOME/.cache/graphd/<host name>. It is never a directory
// that another user could make first. Throws Error(kInvalid) if there is no home directory either.
std::string RuntimeDir();
// Returns <runtime_dir>/<server_name>/<port>.sock.
std::string SocketPath(const std::string& runtime_dir, const std::string& server_name,
                       uint16_t port);
// Returns the port of the daemon whose socket has this name in the directory of its server; nothing
// if the name is not <port>.sock.
std::optional<uint16_t> PortOfSocketName(std::string_view name);
// Returns the directory in which a client should look for `path`, a server's directory or socket.
// It is RuntimeDir(), or /run/graphd if only that has `path`: users who run no server of their own
// then use the system's server.
std::string FindRuntimeDir(const std::string& path);
// Returns the socket that a client should use: the one in `runtime_dir` or, if that is empty, the
// one in FindRuntimeDir().
std::string FindSocket(const std::string& server_name, uint16_t port,
                       const std::string& runtime_dir = "");
// Returns a hint for an error about a server that has no socket in its directory. The hint names
// the servers that have sockets in the same runtime directory; it is empty if there are none.
std::string OtherServersHint(const std::string& socket_directory);
// Returns whether a server's name is probably mistyped: there is no directory for its socket, but
// there are sockets of other servers. (A server makes its directory when it starts, and leaves it
// when it ends.)
bool IsUnknownServer(const std::string& socket_path);
// Returns a hint for an error about a socket that does not exist: the ports of the server's other
// sockets or, if there are none, other servers.
std::string OtherSocketsHint(const std::string& socket_path);
inline constexpr size_t kMaxServerName = 64;  // bytes
// Throws Error(kInvalid) unless the name has 1 to 64 letters, digits, '-', '_' and '.', and does
// not begin with '.' or '-': it becomes part of paths and unit names.
void CheckServerName(const std::string& name);

}  // namespace graphd
