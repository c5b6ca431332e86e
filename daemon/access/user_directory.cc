// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/user_directory.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "base/log.h"
#include "base/threads/mutex.h"

namespace graphd {

// The users whose groups are known or are being looked up. The thread shares the ownership of this
// object, so that it can outlive the directory.
struct UserDirectory::State {
  explicit State(LookUp f) : look_up(std::move(f)) {}

  struct Entry {
    std::vector<gid_t> gids;
    std::optional<Clock::time_point> found;  // empty: never
    std::vector<kj::Own<kj::CrossThreadPromiseFulfiller<void>>> waiting;
  };

  void Run() {
    for (;;) {
      uid_t uid = 0;
      {
        const MutexLock lock(mutex);
        while (questions.empty() && !ended) asked.Wait(mutex);
        if (ended) return;
        uid = questions.front();
        questions.pop_front();
      }
      std::optional<std::vector<gid_t>> gids;
      LogFailure("looking for a user's groups", [&] { gids = look_up(uid); });
      Answer(uid, std::move(gids));
    }
  }

  // Stores what was found, and wakes the callers that wait. Allocates nothing, so that it succeeds
  // even if there is no memory.
  void Answer(uid_t uid, std::optional<std::vector<gid_t>> gids) noexcept {
    decltype(Entry::waiting) waiting;
    {
      const MutexLock lock(mutex);
      Entry& entry = users.find(uid)->second;  // MakeRoom keeps a user who is asked for
      if (gids) {
        entry.gids = std::move(*gids);
        entry.found = Clock::now();
      }
      waiting.swap(entry.waiting);
    }
    for (auto& each : waiting) {
      LogFailure("a user's groups", [&] { each->fulfill(); });
    }
  }

  // Returns what is known about a user.
  std::vector<gid_t> GroupsOf(uid_t uid) {
    const MutexLock lock(mutex);
    const auto user = users.find(uid);
    return user == users.end() ? std::vector<gid_t>() : user->second.gids;
  }

  // Makes room for another user by forgetting the one that was looked up longest ago. Returns
  // whether there is room: users whose groups are being looked up are not forgotten.
  bool MakeRoom() GRAPHD_REQUIRES(mutex) {
    if (users.size() < kMaxUsers) return true;
    auto oldest = users.end();
    for (auto each = users.begin(); each != users.end(); ++each) {
      const Entry& entry = each->second;
      if (!entry.waiting.empty() || !entry.found) continue;
      if (oldest == users.end() || *entry.found < *oldest->second.found) oldest = each;
    }
    if (oldest == users.end()) return false;
    users.erase(oldest);
    return true;
  }

  const LookUp look_up;
  Mutex mutex;
  CondVar asked;
  bool ended GRAPHD_GUARDED_BY(mutex) = false;
  std::deque<uid_t> questions GRAPHD_GUARDED_BY(mutex);
  std::map<uid_t, Entry> users GRAPHD_GUARDED_BY(mutex);
};

UserDirectory::UserDirectory(LookUp look_up) : state_(std::make_shared<State>(std::move(look_up))) {
  std::thread([state = state_] { state->Run(); }).detach();
}

UserDirectory::~UserDirectory() {
  const MutexLock lock(state_->mutex);
  state_->ended = true;
  state_->asked.NotifyAll();
}

kj::Promise<std::vector<gid_t>> UserDirectory::Find(uid_t uid, kj::Timer& timer) {
  State& state = *state_;
  auto answer = kj::newPromiseAndCrossThreadFulfiller<void>();
  {
    const MutexLock lock(state.mutex);
    auto known = state.users.find(uid);
    if (known == state.users.end()) {
      if (!state.MakeRoom()) {
        LogWarning({.op = "find_groups"}, "the groups of ", kMaxUsers,
                   " users are being looked for; user ", uid, " is served without groups");
        return std::vector<gid_t>();
      }
      known = state.users.try_emplace(uid).first;
    }
    State::Entry& entry = known->second;
    if (entry.found && SecondsSince(*entry.found) < kFresh) return std::vector<gid_t>(entry.gids);
    const bool is_asked = !entry.waiting.empty();
    // Callers that no longer wait have been given the groups that were known before.
    std::erase_if(entry.waiting, [](const auto& each) { return !each->isWaiting(); });
    entry.waiting.push_back(kj::mv(answer.fulfiller));
    if (!is_asked) {
      state.questions.push_back(uid);
      state.asked.NotifyAll();
    }
  }
  auto late = timer.afterDelay(kPatience * kj::SECONDS).then([uid] {
    LogWarning(
        {.op = "find_groups"}, "the groups of user ", uid, " are not found within ", kPatience,
        " s; is the directory service (nsswitch.conf) slow? The groups found before are used");
  });
  return answer.promise.exclusiveJoin(kj::mv(late)).then([known = state_, uid] {
    return known->GroupsOf(uid);
  });
}

std::vector<gid_t> UserDirectory::GroupsOf(uid_t uid) {
  passwd user{}, *found = nullptr;
  std::vector<char> text(16384);
  if (::getpwuid_r(uid, &user, text.data(), text.size(), &found) != 0 || found == nullptr) {
    return {};
  }
  std::vector<gid_t> gids(64);
  int count = static_cast<int>(gids.size());
  while (::getgrouplist(user.pw_name, user.pw_gid, gids.data(), &count) < 0) {
    gids.resize(static_cast<size_t>(count));
  }
  gids.resize(static_cast<size_t>(count));
  return gids;
}

}  // namespace graphd
