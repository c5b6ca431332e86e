// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// The frames that `graphctl supervise` sends to its launcher over standard output. Each frame is
// one line of JSON: an object whose key "t" is its kind. If it has the key "n", n raw bytes and a
// newline follow the line, so that a trainer's output is passed on unchanged. The most important
// kinds are:
//
//    hello   version                      the first frame
//    notice  text                         a message for the user
//    ready   started, seconds, port       the daemon serves and the job is registered; port: a free
//                                         one on the master's host
//    out     rank, fd, n                  lines of a trainer's output, each with its newline
//    exit    rank, code, signal           a trainer has ended (signal 0: not by a signal)
//    stopped signal                       the supervisor received a signal to end the job
//    error   code, text                   the name of an ErrorCode; the job can't continue
//    sources names                        where a host looks for records of a server's log
//    log     n, caught_up                 records of a server's log. All before caught_up, in
//                                         microseconds since 1970, were sent; -1: not known
//    status  status                       ServerStatus, in answer to status orders
//    alive                                the answer to a ping
//    done                                 nothing of the job remains on this host
//
// The launcher also sends lines of JSON: first the HostOrder, and then lines such as
// {"t":"go","port":N}, {"t":"ping"}, {"t":"detach"}, {"t":"end"} or {"t":"kill"} (end without a
// grace period). The end of the input means "end" as well.

namespace graphd::ctl {

std::string EncodeFrame(nlohmann::json header, std::string_view payload = {});

// Splits a stream into frames, and calls `frame` for each. Calls `noise` for each line that is not
// a frame, for example of a login shell's greeting. Feed takes the next bytes of the stream, and
// throws Error(kCorrupt) if a frame is larger than kMaxFrame.
class FrameReader {
 public:
  static constexpr size_t kMaxFrame = size_t{1} << 20;
  using FrameHandler = std::function<void(const nlohmann::json& header, std::string payload)>;
  using NoiseHandler = std::function<void(const std::string& line)>;

  FrameReader(FrameHandler frame, NoiseHandler noise)
      : frame_(std::move(frame)), noise_(std::move(noise)) {}
  void Feed(std::string_view bytes);

 private:
  bool TakeOne();

  FrameHandler frame_;
  NoiseHandler noise_;
  std::string buffer_;
  size_t used_ = 0;
};

}  // namespace graphd::ctl
