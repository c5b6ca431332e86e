// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/kept_tables.h"

#include <fcntl.h>
#include <poll.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/memory_name.h"
#include "store/memory_rescue.h"
#include "store/rows/memory_dir.h"

namespace graphd {
namespace {

constexpr const char* kProbe = "tables-probe";

// Returns whether the last copy of a pipe's writing end was closed.
bool IsClosed(int reading_end) {
  pollfd poll{reading_end, POLLIN, 0};
  return ::poll(&poll, 1, 0) != 0;
}

}  // namespace

KeptTables::KeptTables(DescriptorStore& descriptors) {
  const MutexLock lock(mutex_);
  for (const std::string& name : std::set<std::string>(descriptors.names())) {
    if (!name.starts_with(store::kKeptPrefix)) continue;
    if (name == kProbe) {
      descriptors.Remove(name);
    } else if (UniqueFd fd = descriptors.Take(name)) {
      kept_[name] = std::move(fd);
    }
  }
}

std::string KeptTables::PrivateTmpfs() {
  const char* const given = std::getenv("GRAPHD_KEPT_MEMORY_DIR");
  return given != nullptr && DescriptorStore::available() ? given : "";
}

UniqueFd KeptTables::Take(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto found = kept_.find(name);
  if (found == kept_.end() || !found->second) return {};
  // A copy: the caller may fail, and another store may then ask for it.
  UniqueFd copy(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy) ThrowErrno("can't copy the descriptor", name);
  return copy;
}

// The service manager does not say whether it has stored a descriptor, and closes those beyond
// FileDescriptorStoreMax=. So it also gets the writing end of a pipe, after the descriptor: if it
// has kept this one open, it has kept the other.
std::string KeptTables::Keep(const std::string& name, int fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("can't make", "a pipe");
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) ThrowErrno("can't copy the descriptor", name);
  std::string why;
  try {
    DescriptorStore::Send(name, fd);
    DescriptorStore::Send(kProbe, writing.get());
    writing.reset();
    if (!DescriptorStore::Flush()) {
      why = "it does not answer within 5 s";
    } else if (IsClosed(reading.get())) {
      why =
          "it has not stored the descriptor; raise FileDescriptorStoreMax= of the unit, so that "
          "two "
          "more fit, and set NotifyAccess=main";
    }
  } catch (const Error& error) {
    why = error.what();
  }
  DescriptorStore::Discard(kProbe);
  if (!why.empty()) {
    DescriptorStore::Discard(name);
    return why;
  }
  const MutexLock lock(mutex_);
  kept_[name] = std::move(copy);
  return {};
}

void KeptTables::Remove(const std::string& name) noexcept {
  const MutexLock lock(mutex_);
  kept_.erase(name);
  DescriptorStore::Discard(name);
}

void KeptTables::RemoveUseless() {
  const MutexLock lock(mutex_);
  for (auto each = kept_.begin(); each != kept_.end();) {
    const std::string why = store::WhyUseless(each->first, each->second.get());
    if (why.empty()) {
      ++each;
      continue;
    }
    LogWarning("the service manager has memory of tensors that is not used, and closes it: ", why);
    DescriptorStore::Discard(each->first);
    each = kept_.erase(each);
  }
}

bool KeptTables::any() const {
  const MutexLock lock(mutex_);
  return !kept_.empty();
}

bool KeptTables::is_needed() const noexcept {
  const MutexLock lock(mutex_);
  bool needed = false;
  for (const auto& [name, fd] : kept_) {
    const bool told = LogFailure("examining the memory of tensors", [&, &name = name, &fd = fd] {
      needed |= store::IsMemoryNeeded(name, fd.get());
    });
    needed |= !told;
  }
  return needed;
}

void KeptTables::ExtendTimeout() noexcept {
  sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000\nWATCHDOG=1");
}

bool KeptTables::Rescue() noexcept {
  const MutexLock lock(mutex_);
  bool safe = true;
  for (auto each = kept_.begin(); each != kept_.end();) {
    std::string path;
    const bool done = LogFailure("copying the memory of tensors to /dev/shm", [&] {
      path = store::CopyToNamedMemory(each->first, each->second.get(), store::kDefaultMemoryDir,
                                      &KeptTables::ExtendTimeout);
    });
    safe = safe && done;
    if (path.empty()) {
      ++each;
      continue;
    }
    LogWarning("the memory of tensors has rows that are not on the disk: it was copied to ", path,
               ", where the next start finds it");
    // Otherwise there would be twice the memory as long as the service manager has it.
    DescriptorStore::Discard(each->first);
    each = kept_.erase(each);
  }
  return safe;
}

}  // namespace graphd
