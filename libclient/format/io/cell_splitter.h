// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphd {

// Splits the records of a text table into cells. A record is one line, or several lines if a quoted
// cell contains line breaks. Not thread-safe.
class CellSplitter {
 public:
  // ' ' stands for any run of blanks and tabs. Unquoted cells between other separators are
  // stripped of blanks and tabs at both ends.
  explicit CellSplitter(char separator) : separator_(separator) {}

  // Begins a record. Returns false if a quoted cell continues in the next line; pass that line to
  // Continue(). Throws Error(kInvalid) on text behind a closing quote.
  bool Begin(std::string_view line);
  bool Continue(std::string_view line);
  // Returns the cells of the complete record. They are valid until the next Begin(). The cells of a
  // record without quotes refer to the line that was passed to Begin(), and are valid only as long
  // as that line.
  std::span<const std::string_view> cells() const noexcept { return cells_; }
  // Returns the bytes buffered for a record that is not complete yet.
  size_t pending_bytes() const noexcept { return text_.size(); }

 private:
  enum class State { kStart, kPlain, kQuoted, kClosed };
  void SplitPlain(std::string_view line);
  void EndCell();
  char separator_;
  std::vector<std::string_view> cells_;
  // Used for records with quotes only: the unescaped text of all cells, and for each cell its end
  // in text_ and whether it was quoted.
  std::string text_;
  std::vector<std::pair<size_t, bool>> ends_;
  State state_ = State::kStart;
  bool quoted_ = false;
};

}  // namespace graphd
