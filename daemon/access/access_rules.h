// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/threads/mutex.h"
#include "daemon/access/peer.h"

namespace graphd {

// The rights of a client. Each role includes those before it.
enum class Role {
  kNone,      // nothing
  kReader,    // attach, and read the graph and tensors
  kWriter,    // create and change tensors, make checkpoints
  kOperator,  // restore and delete checkpoints, stop the server
};

// Returns the role's name: "none", "reader", "writer" or "operator".
const char* RoleName(Role role);

// The rules that give each peer a role. Thread-safe: one mutex, held to copy a pointer.
class AccessRules {
 public:
  struct Options {
    // Each entry is "user:NAME", "group:NAME", "cert:NAME" (clients with this certificate, over
    // TLS), "secret" (clients with the shared secret, over TCP) or "all" (every user of this
    // machine). The number of a user or group may be given in place of the name.
    std::vector<std::string> readers, writers, operators;
    // Whether everyone who reaches the TCP port is an operator.
    bool insecure = false;
    // The name of the client certificate in the daemon's own directory of keys; may be empty.
    std::string own_certificate{};
    // The weights of jobs, by which the daemon divides its time among them: an entry as above, "="
    // and a number, e.g. "user:alice=4". The first entry that a peer matches counts.
    std::vector<std::string> weights{};
  };

  // Root and the daemon's own user are always operators. So are clients with the certificate
  // `own_certificate`: only these two users can read its key, and the jobs that they launch on
  // other machines use it. Members of the daemon's own group are operators, too, if no list names a
  // user, a group or "all", and if the group has the name of the daemon's user, because such a
  // group belongs to that user alone. Peers that know the shared secret are operators unless the
  // list of readers or of writers has "secret". If a peer has a certificate or the secret, this
  // alone decides its role. Throws Error(kInvalid), with the option and the remedy, for an unknown
  // user or group.
  explicit AccessRules(const Options& options);
  // Replaces the rules. Throws what the constructor throws; the rules are then unchanged.
  void Replace(const Options& options);

  Role RoleOf(const Peer& peer) const;
  // Returns the weight of the peer's jobs among others: 1, unless Options::weights says otherwise.
  double WeightOf(const Peer& peer) const;
  static constexpr double kLeastWeight = 0.01, kMostWeight = 100;
  // Throws Error(kDenied), which names the peer and the options that change it, if the peer's role
  // is below `least`. `action` completes "may not".
  void Require(const Peer& peer, Role least, const char* action) const;
  // Returns whether users outside the daemon's own group have a role.
  bool has_outsiders() const { return rules()->has_outsiders; }

 private:
  struct Members {
    std::set<uid_t> users;
    std::set<gid_t> groups;
    std::set<std::string> certificates;
    bool all = false, secret = false;
    bool Has(const Peer& peer) const;
    bool has_outsiders() const { return all || !users.empty() || !groups.empty(); }
  };
  static Members Resolve(const char* option, const std::vector<std::string>& entries);

  struct Weight {
    Members members;
    double weight;
  };
  struct Rules {
    explicit Rules(const Options& options);
    Members readers, writers, operators;
    std::vector<Weight> weights;
    bool insecure = false, has_outsiders = false;
  };
  std::shared_ptr<const Rules> rules() const {
    const MutexLock lock(mutex_);
    return rules_;
  }

  mutable Mutex mutex_;
  std::shared_ptr<const Rules> rules_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
