// SPDX-License-Identifier: Apache-2.0
#include "format/io/cell_splitter.h"

#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "format/io/line_reader.h"

namespace graphd {

void CellSplitter::SplitPlain(std::string_view line) {
  if (separator_ == ' ') {
    for (size_t at = line.find_first_not_of(" \t"); at != line.npos;) {
      const size_t end = std::min(line.find_first_of(" \t", at), line.size());
      cells_.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(" \t", end);
    }
    return;
  }
  for (;;) {
    const void* found = line.empty() ? nullptr : std::memchr(line.data(), separator_, line.size());
    if (!found) break;
    const auto length = static_cast<size_t>(static_cast<const char*>(found) - line.data());
    cells_.push_back(TrimBlanks(line.substr(0, length)));
    line.remove_prefix(length + 1);
  }
  cells_.push_back(TrimBlanks(line));
}

bool CellSplitter::Begin(std::string_view line) {
  cells_.clear();
  if (line.empty() || !std::memchr(line.data(), '"', line.size())) {
    SplitPlain(line);
    return true;
  }
  text_.clear();
  ends_.clear();
  state_ = State::kStart;
  quoted_ = false;
  return Continue(line);
}

void CellSplitter::EndCell() {
  ends_.emplace_back(text_.size(), quoted_);
  state_ = State::kStart;
  quoted_ = false;
}

bool CellSplitter::Continue(std::string_view line) {
  const auto separates = [&](char c) {
    return c == separator_ || (separator_ == ' ' && c == '\t');
  };
  for (char c : line) {
    switch (state_) {
      case State::kStart:
        if (c == '"') {
          // Drop the blanks before the quote, which were added as the start of a plain cell.
          text_.resize(ends_.empty() ? 0 : ends_.back().first);
          state_ = State::kQuoted;
          quoted_ = true;
        } else if (!separates(c)) {
          text_ += c;
          if (c != ' ' && c != '\t') state_ = State::kPlain;
        } else if (separator_ != ' ') {
          EndCell();
        }
        break;
      case State::kPlain:
        if (separates(c)) {
          EndCell();
        } else {
          text_ += c;
        }
        break;
      case State::kQuoted:
        if (c == '"') {
          state_ = State::kClosed;
        } else {
          text_ += c;
        }
        break;
      case State::kClosed:
        if (c == '"') {
          text_ += c;
          state_ = State::kQuoted;
        } else if (separates(c)) {
          EndCell();
        } else if (c != ' ' && c != '\t') {
          Throw(ErrorCode::kInvalid, "'", c, "' follows a closing quote, expected a separator; a ",
                "quote within a quoted cell is written twice");
        }
        break;
    }
  }
  if (state_ == State::kQuoted) {
    text_ += '\n';
    return false;
  }
  if (state_ != State::kStart || separator_ != ' ') EndCell();
  size_t begin = 0;
  for (const auto& [end, quoted] : ends_) {
    const std::string_view cell = std::string_view(text_).substr(begin, end - begin);
    cells_.push_back(quoted ? cell : TrimBlanks(cell));
    begin = end;
  }
  return true;
}

}  // namespace graphd
