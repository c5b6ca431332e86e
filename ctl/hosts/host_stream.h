// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ctl/hosts/host_link.h"

// A graphctl that runs a verb on one host, as bytes to and from it, for whoever wants to send as
// fast as it takes them: a child process here, a channel of an ssh session elsewhere. The end of
// the stream is the end of its input. One thread. Errors are Error(kUnavailable).

namespace graphd::ctl {

class HostStream {
 public:
  virtual ~HostStream() = default;
  // As many of `bytes` as are taken without waiting for the other side; may be none.
  virtual size_t WriteSome(std::string_view bytes) = 0;
  // What has come, at most `size` bytes; 0 if nothing has.
  virtual size_t Read(bool from_stderr, char* bytes, size_t size) = 0;
  // Whether it has ended; what it said last may still be to be read.
  virtual bool AtEnd() = 0;
  // Until something can be read or (if `to_write`) written, at most so long. May return early.
  virtual void Wait(bool to_write, int milliseconds) = 0;
  // After AtEnd(): "/bin/graphctl exited with 127".
  virtual std::string WhyItEnded() = 0;
};

std::unique_ptr<HostStream> OpenLocalStream(const std::string& graphctl, const std::string& verb);

}  // namespace graphd::ctl
