// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ctl/hosts/host_link.h"

// A byte stream to and from a `graphctl VERB` process on one host, for a caller that writes as fast
// as the process reads. On this machine, the process is a child process; on other hosts, it runs in
// a channel of an ssh session. Destroying the stream closes the process's input. Owned by one
// thread. Errors are Error(kUnavailable).

namespace graphd::ctl {

class HostStream {
 public:
  virtual ~HostStream() = default;
  // Writes as many of `bytes` as the other side accepts without waiting. Returns their number,
  // which may be 0.
  virtual size_t WriteSome(std::string_view bytes) = 0;
  // Reads available bytes, at most `size`. Returns 0 if there are none.
  virtual size_t Read(bool from_stderr, char* bytes, size_t size) = 0;
  // Returns whether the process has ended; its last output may still be unread.
  virtual bool AtEnd() = 0;
  // Waits until bytes can be read or (if `to_write`) written, at most for `milliseconds`. May
  // return early.
  virtual void Wait(bool to_write, int milliseconds) = 0;
  // Describes the end, for example "/bin/graphctl exited with 127". Requires: AtEnd().
  virtual std::string WhyItEnded() = 0;
};

std::unique_ptr<HostStream> OpenLocalStream(const std::string& graphctl, const std::string& verb);

}  // namespace graphd::ctl
