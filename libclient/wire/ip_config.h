// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphd/schema.h"

// ip_config files, as DGL has them: one host per line, `address [port [trainers]]`,
// blank-separated; line i serves partition i. Empty lines and lines that begin with '#' are
// skipped. Lines with the same address and port name one daemon that serves all their partitions.

namespace graphd {

inline constexpr uint16_t kDefaultPort = 30050;

struct HostLine {
  std::string address;  // name, IPv4 or IPv6 literal
  uint16_t port = kDefaultPort;
  std::optional<int> num_trainers;  // third column: overrides --num_trainers for this host
  PartId part = 0;
};

// One daemon and the partitions it serves, ascending.
struct DaemonAddress {
  std::string address;
  uint16_t port = kDefaultPort;
  std::vector<PartId> parts;
};

// Throws Error(kInvalid) with file, line, value and remedy.
std::vector<HostLine> ReadIpConfig(const std::string& path);
std::vector<HostLine> ParseIpConfig(const std::string& text, const std::string& where);
// Daemons in order of first appearance.
std::vector<DaemonAddress> DaemonsOf(const std::vector<HostLine>& lines);

// Whether an address belongs to this machine: loopback, or an address of one of its interfaces.
bool IsLocalAddress(const std::string& address);

// "host:port", with brackets around IPv6 literals; and back (the port defaults to kDefaultPort).
std::string HostPort(const std::string& address, uint16_t port);
std::pair<std::string, uint16_t> ParseHostPort(const std::string& text);

// Where daemons keep their Unix sockets: $GRAPHD_RUNTIME_DIR, else /run/graphd for root (or when
// it is writable), else $XDG_RUNTIME_DIR/graphd, else /tmp/graphd-<uid>.
std::string RuntimeDir();
// <runtime_dir>/<server_name>/<port>.sock
std::string SocketPath(const std::string& runtime_dir, const std::string& server_name,
                       uint16_t port);
// For clients: that path in RuntimeDir(), or in /run/graphd if there is a socket only there (a
// system server, used by somebody who runs no server of their own).
std::string FindSocket(const std::string& server_name, uint16_t port);
// Letters, digits, '-', '_' and '.', 1 to 64 of them, not beginning with '.' or '-'; else
// Error(kInvalid): the name becomes part of paths and unit names.
void CheckServerName(const std::string& name);

}  // namespace graphd
