// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// What `graphctl supervise` says to its launcher over its standard output: each frame is one line
// of JSON, an object with the key "t" (its kind); if it has the key "n", that many raw bytes and a
// newline follow, so that a trainer's output crosses byte by byte. Kinds:
//
//   hello   version                      first of all
//   notice  text                         for the user's eyes
//   ready   started, seconds, port       the daemon serves and the job is registered; port: a free
//                                        one on the master's host
//   out     rank, fd, n                  lines of a trainer's output, each with its newline
//   exit    rank, code, signal           a trainer has ended (signal 0: by itself)
//   stopped signal                       the supervisor was told to end the job
//   error   code, text                   ErrorCode's name; the job can't go on
//   status  status                       ServerStatus, in answer to status orders
//   done                                 nothing of the job remains on this host
//
// The launcher answers, also in lines of JSON: the order, then {"t":"go","port":N}, {"t":"ping"},
// {"t":"end"}, {"t":"kill"} (no grace); the end of this input means "end", too.

namespace graphd::ctl {

std::string EncodeFrame(nlohmann::json header, std::string_view payload = {});

// Takes a stream apart. Lines that are no frame (a login shell's greeting) go to `noise`. A frame
// larger than kMaxFrame makes Feed throw Error(kCorrupt).
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
