// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>

#include "format/input/edge_files.h"
#include "format/io/cell_splitter.h"
#include "format/io/line_reader.h"

namespace graphd {
namespace {

class MatrixMarketReader {
 public:
  explicit MatrixMarketReader(const std::string& path) : lines_(path) {
    ReadBanner();
    ReadSizes();
  }

  uint64_t rows() const { return sizes_[0]; }
  uint64_t columns() const { return sizes_[1]; }
  // Returns the matrix as a table whose first columns are the ends of edges.
  TableFormat Format() const {
    TableFormat format;
    format.header = true;
    format.columns = {"row", "column"};
    if (cells_wanted_ == 3) format.columns.emplace_back("weight");
    return format;
  }

  void Read(EdgesBeingRead& edges, const StepProgress& progress) {
    const std::string step = "reading " + lines_.path();
    uint64_t entries = 0;
    std::string negated;
    for (; NextCells(cells_wanted_); entries++) {
      if (entries == sizes_[2]) Fail("more entries than the ", sizes_[2], " announced");
      const auto cells = splitter_.cells();
      const uint64_t row = Index(cells[0], rows()), column = Index(cells[1], columns());
      Add(edges, row, column, cells);
      if (mirror_ && row != column) {
        if (negate_) {
          const bool is_signed = cells[2].starts_with('-') || cells[2].starts_with('+');
          negated = cells[2].starts_with('-') ? "" : "-";
          negated += cells[2].substr(is_signed ? 1 : 0);
          Add(edges, column, row, std::array<std::string_view, 3>{cells[0], cells[1], negated});
        } else {
          Add(edges, column, row, cells);
        }
      }
      if (entries % 65536 == 0 && progress)
        progress(step, lines_.bytes_read(), lines_.file_bytes());
    }
    if (entries != sizes_[2]) {
      Fail("the file ends after ", entries, " entries, expected ", sizes_[2]);
    }
    if (progress) progress(step, lines_.file_bytes(), lines_.file_bytes());
  }

  // Throws with the current line; FeatureColumns calls it.
  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    lines_.Fail(args...);
  }

  std::string Place() const { return StrCat(lines_.path(), ":", lines_.line()); }

 private:
  void ReadBanner() {
    if (!lines_.Next()) Fail("the file is empty, expected %%MatrixMarket matrix coordinate ...");
    std::string banner(lines_.text());
    std::transform(banner.begin(), banner.end(), banner.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const std::vector<std::string> words = SplitWhitespace(banner);
    if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix") {
      Fail("'", banner.substr(0, 80),
           "', expected %%MatrixMarket matrix coordinate FIELD SYMMETRY");
    }
    const auto expect = [&](size_t word, std::initializer_list<const char*> allowed) {
      if (std::find(allowed.begin(), allowed.end(), words[word]) != allowed.end()) return;
      Fail("'", words[word].substr(0, 40), "', expected ",
           Join(std::vector<std::string>(allowed.begin(), allowed.end()), ", "));
    };
    expect(2, {"coordinate"});
    expect(3, {"pattern", "integer", "real", "double"});
    expect(4, {"general", "symmetric", "skew-symmetric"});
    cells_wanted_ = words[3] == "pattern" ? 2 : 3;
    mirror_ = words[4] != "general";
    negate_ = words[4] == "skew-symmetric";
    if (negate_ && cells_wanted_ == 2) Fail("a skew-symmetric pattern, expected values");
  }

  void ReadSizes() {
    if (!NextCells(3)) Fail("the file ends, expected the numbers of rows, columns and entries");
    for (size_t i = 0; i < 3; i++) {
      sizes_[i] = Number(splitter_.cells()[i]);
      if (sizes_[i] > NodeIds::kMaxNodes) Fail(sizes_[i], " is outside 0..", NodeIds::kMaxNodes);
    }
    if (mirror_ && rows() != columns()) {
      Fail("a symmetric matrix of ", rows(), " rows and ", columns(),
           " columns, expected equal ones");
    }
  }

  // Moves to the next line that is neither blank nor a comment. Returns false at the end.
  bool NextCells(size_t wanted) {
    std::string_view text;
    do {
      if (!lines_.Next()) return false;
      text = TrimBlanks(lines_.text());
    } while (text.empty() || text[0] == '%');
    splitter_.Begin(text);
    if (splitter_.cells().size() != wanted) {
      Fail(splitter_.cells().size(), " numbers, expected ", wanted);
    }
    return true;
  }

  uint64_t Number(std::string_view cell) const {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size()) {
      Fail("'", cell.substr(0, 40), "' is not a whole number of 0 or more");
    }
    return value;
  }

  uint64_t Index(std::string_view cell, uint64_t limit) const {
    const uint64_t value = Number(cell);
    if (value < 1 || value > limit) Fail(value, " is outside 1..", limit);
    return value - 1;
  }

  void Add(EdgesBeingRead& edges, uint64_t row, uint64_t column,
           std::span<const std::string_view> cells) const {
    edges.ends.Add(row, column);
    edges.features.Append(cells, *this);
  }

  LineReader lines_;
  CellSplitter splitter_{' '};
  size_t cells_wanted_ = 3;
  bool mirror_ = false, negate_ = false;
  std::array<uint64_t, 3> sizes_{};
};

}  // namespace

TableFormat DescribeMatrixMarket(const std::string& path) {
  return MatrixMarketReader(path).Format();
}

void ReadMatrixMarket(const std::string& path, EdgesBeingRead& edges,
                      const FeatureSelection& selection, const StepProgress& progress) {
  MatrixMarketReader reader(path);
  if (edges.src.named() || edges.dst.named()) {
    Throw(ErrorCode::kInvalid, path,
          ": a matrix numbers its nodes and can't be combined with --map_ids ", "or names");
  }
  if (&edges.src == &edges.dst && reader.rows() != reader.columns()) {
    Throw(ErrorCode::kInvalid, path, ": ", reader.rows(), " rows and ", reader.columns(),
          " columns; only a square matrix can be a graph of one node type: give --edges ",
          "src:rel:dst=", path, " with two different node types");
  }
  edges.src.Close(static_cast<int64_t>(reader.rows()), path);
  edges.dst.Close(static_cast<int64_t>(reader.columns()), path);
  edges.features.RefuseTexts("; --feat_cols can leave the column out");
  edges.features.Open(path, reader.Format(), {0, 1}, selection);
  reader.Read(edges, progress);
}

}  // namespace graphd
