// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/access_rules.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd {
namespace {

// Returns the number that a text consists of; nothing if the text contains anything else.
std::optional<uint32_t> Number(const std::string& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<uid_t> FindUser(const std::string& name) {
  if (const auto number = Number(name)) return *number;
  const passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr) return std::nullopt;
  return found->pw_uid;
}

std::optional<gid_t> FindGroup(const std::string& name) {
  if (const auto number = Number(name)) return *number;
  const group* const found = ::getgrnam(name.c_str());
  if (found == nullptr) return std::nullopt;
  return found->gr_gid;
}

// Returns whether the daemon's group has the name of the daemon's user.
bool OwnGroupIsPrivate() {
  const passwd* const user = ::getpwuid(::geteuid());
  if (user == nullptr) return false;
  const std::string name = user->pw_name;
  const group* const own = ::getgrgid(::getegid());
  return own != nullptr && name == own->gr_name;
}

}  // namespace

const char* RoleName(Role role) {
  constexpr const char* kNames[] = {"none", "reader", "writer", "operator"};
  return kNames[static_cast<size_t>(role)];
}

AccessRules::AccessRules(const Options& options) : rules_(std::make_shared<const Rules>(options)) {}

void AccessRules::Replace(const Options& options) {
  auto rules = std::make_shared<const Rules>(options);
  const MutexLock lock(mutex_);
  rules_ = std::move(rules);
}

AccessRules::Rules::Rules(const Options& options)
    : readers(Resolve("--allow_read", options.readers)),
      writers(Resolve("--allow_write", options.writers)),
      operators(Resolve("--allow_operate", options.operators)),
      insecure(options.insecure) {
  for (const std::string& entry : options.weights) {
    const size_t equals = entry.rfind('=');
    double weight = 0;
    const char* const end = entry.data() + entry.size();
    if (equals == std::string::npos ||
        std::from_chars(entry.data() + equals + 1, end, weight).ptr != end ||
        !(weight >= kLeastWeight && weight <= kMostWeight)) {
      Throw(ErrorCode::kInvalid, "--weight '", entry,
            "': write user:NAME=WEIGHT, group:NAME=WEIGHT, cert:NAME=WEIGHT or all=WEIGHT, with a ",
            "weight from ", kLeastWeight, " to ", kMostWeight);
    }
    weights.push_back({Resolve("--weight", {entry.substr(0, equals)}), weight});
  }
  // Clients with certificates or the secret are not outsiders, because they do not use the Unix
  // socket.
  has_outsiders = readers.has_outsiders() || writers.has_outsiders() || operators.has_outsiders();
  if (!has_outsiders && OwnGroupIsPrivate()) operators.groups.insert(::getegid());
  operators.users.insert({0, ::geteuid()});
  if (!readers.secret && !writers.secret) operators.secret = true;
  if (!options.own_certificate.empty()) operators.certificates.insert(options.own_certificate);
}

AccessRules::Members AccessRules::Resolve(const char* option,
                                          const std::vector<std::string>& entries) {
  Members members;
  for (const std::string& entry : entries) {
    const size_t colon = entry.find(':');
    const std::string kind = entry.substr(0, colon);
    const std::string name = colon == std::string::npos ? "" : entry.substr(colon + 1);
    if (entry == "all") {
      members.all = true;
    } else if (entry == "secret") {
      members.secret = true;
    } else if (kind == "user" && !name.empty()) {
      const auto uid = FindUser(name);
      if (!uid) Throw(ErrorCode::kInvalid, option, " ", entry, ": there is no such user");
      members.users.insert(*uid);
    } else if (kind == "group" && !name.empty()) {
      const auto gid = FindGroup(name);
      if (!gid) Throw(ErrorCode::kInvalid, option, " ", entry, ": there is no such group");
      members.groups.insert(*gid);
    } else if (kind == "cert" && !name.empty()) {
      members.certificates.insert(name);
    } else {
      Throw(ErrorCode::kInvalid, option, " '", entry,
            "': write user:NAME, group:NAME, cert:NAME, secret or all");
    }
  }
  return members;
}

bool AccessRules::Members::Has(const Peer& peer) const {
  if (!peer.certificate.empty()) return certificates.contains(peer.certificate);
  if (peer.has_secret) return secret;
  if (!peer.uid) return false;
  return all || users.contains(*peer.uid) ||
         std::any_of(peer.gids.begin(), peer.gids.end(),
                     [&](gid_t gid) { return groups.contains(gid); });
}

Role AccessRules::RoleOf(const Peer& peer) const {
  const auto now = rules();
  if (now->operators.Has(peer) || (now->insecure && !peer.is_unix)) return Role::kOperator;
  if (now->writers.Has(peer)) return Role::kWriter;
  if (now->readers.Has(peer)) return Role::kReader;
  return Role::kNone;
}

double AccessRules::WeightOf(const Peer& peer) const {
  const auto now = rules();
  for (const auto& [members, weight] : now->weights) {
    if (members.Has(peer)) return weight;
  }
  return 1;
}

void AccessRules::Require(const Peer& peer, Role least, const char* action) const {
  const Role role = RoleOf(peer);
  if (role >= least) return;
  const char* const option = least == Role::kReader   ? "--allow_read"
                             : least == Role::kWriter ? "--allow_write"
                                                      : "--allow_operate";
  if (!peer.certificate.empty()) {
    Throw(ErrorCode::kDenied, "the client with certificate '", peer.certificate, "' may not ",
          action, " (role: ", RoleName(role), "); whoever runs this graphd can allow it with ",
          option, " cert:", peer.certificate);
  }
  if (peer.has_secret) {
    Throw(ErrorCode::kDenied, "a client with the shared secret may not ", action,
          " (role: ", RoleName(role), "); whoever runs this graphd can allow it with ", option,
          " secret");
  }
  if (!peer.uid) {
    Throw(ErrorCode::kDenied, "the client at ", peer.text, " may not ", action,
          ": this graphd can't tell who it is; connect over the Unix socket, or start graphd with ",
          "--insecure if everyone who reaches its port may use it");
  }
  Throw(ErrorCode::kDenied, "user ", *peer.uid, " may not ", action, " (role: ", RoleName(role),
        "); whoever runs this graphd can allow it with ", option, " user:", *peer.uid);
}

}  // namespace graphd
