// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/frame_reader.h"

#include "base/strings.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {

std::string EncodeFrame(nlohmann::json header, std::string_view payload) {
  if (payload.data() != nullptr) header["n"] = payload.size();
  std::string frame = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  frame += '\n';
  if (payload.data() != nullptr) {
    frame += payload;
    frame += '\n';
  }
  return frame;
}

void FrameReader::Feed(std::string_view bytes) {
  buffer_ += bytes;
  while (TakeOne()) {
  }
  buffer_.erase(0, used_);
  used_ = 0;
  if (buffer_.size() > 2 * kMaxFrame) {
    Throw(ErrorCode::kCorrupt, "it sent ", buffer_.size(),
          " bytes without the end of a line; is it a graphctl of the same version?");
  }
}

bool FrameReader::TakeOne() {
  const size_t end = buffer_.find('\n', used_);
  if (end == std::string::npos) return false;
  const std::string_view line(buffer_.data() + used_, end - used_);
  auto header = ParseJson(line);
  if (!header.is_object() || !header.contains("t") || !header["t"].is_string()) {
    noise_(std::string(line));
    used_ = end + 1;
    return true;
  }
  std::string payload;
  size_t next = end + 1;
  if (header.contains("n")) {
    const bool good = header["n"].is_number_unsigned() && header["n"].get<size_t>() <= kMaxFrame;
    if (!good) Throw(ErrorCode::kCorrupt, "it sent a frame of an invalid size");
    const size_t size = header["n"].get<size_t>();
    if (buffer_.size() - next < size + 1) return false;
    payload = buffer_.substr(next, size);
    next += size + 1;
  }
  used_ = next;
  frame_(header, std::move(payload));
  return true;
}

}  // namespace graphd::ctl
