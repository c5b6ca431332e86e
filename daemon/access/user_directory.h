// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

namespace graphd {

// The groups of this machine's users. They are looked up by another thread, because a directory
// service may be slow or not answer at all. Owned and used by the main thread.
class UserDirectory {
 public:
  using LookUp = std::function<std::vector<gid_t>(uid_t)>;

  // Starts the thread.
  explicit UserDirectory(LookUp look_up = GroupsOf);
  // Does not wait for the thread, which ends after its present lookup, or with the process.
  ~UserDirectory();
  UserDirectory(const UserDirectory&) = delete;
  UserDirectory& operator=(const UserDirectory&) = delete;

  // Returns the groups of a user: the groups that were found in the last kFresh seconds; otherwise
  // those that the thread finds within kPatience seconds; otherwise those that were found longer
  // ago, if any. Call it on the thread whose event loop the timer belongs to.
  kj::Promise<std::vector<gid_t>> Find(uid_t uid, kj::Timer& timer);

  // Returns the groups of a user in the system's databases; none for an unknown user. May block.
  static std::vector<gid_t> GroupsOf(uid_t uid);

  static constexpr int64_t kFresh = 60, kPatience = 2;
  // The maximum number of users whose groups are remembered, which is also the maximum number of
  // users in the thread's queue. Any further user has no groups until there is room.
  static constexpr size_t kMaxUsers = 1024;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace graphd
