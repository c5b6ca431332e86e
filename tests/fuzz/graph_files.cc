// SPDX-License-Identifier: Apache-2.0
#include "format/input/graph_files.h"

#include "format/io/csv_reader.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/touch.h"
#include "tests/unit/format/text_files.h"

// Reads a graph from files of any kind: tables (CSV, TSV, blanks), Matrix Market, NumPy; plain or
// gzip-compressed.

namespace graphd::fuzz {
namespace {

// Returns the text compressed.
std::string Gzip(const std::string& text) {
  const testing::ScratchDirectory directory;
  testing::WriteGzip(directory / "text.gz", text);
  return testing::ReadBytes(directory / "text.gz");
}

// Reads the files as --edges and --nodes. Each bit of `flags` is an option.
void ReadGraph(const InputFolder& folder, unsigned flags, bool with_nodes) {
  GraphFilesOptions options;
  options.edges.push_back({{"_N", "_E", "_N"}, "", folder / "edges", ""});
  if (with_nodes) options.nodes.push_back({"_N", "", folder / "nodes"});
  options.map_ids = (flags & 1) != 0;
  if ((flags & 2) != 0) options.hints.header = (flags & 4) != 0;
  if ((flags & 8) != 0) options.hints.separator = ",\t; "[flags >> 4 & 3];
  if ((flags & 64) != 0) options.src_column = "1";
  TouchGraph(ReadGraphFiles(options));
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({"edges", "nodes"});
  if (input.empty()) return;
  const auto flags = static_cast<unsigned char>(input[0]);
  folder.Unpack(input.substr(1));
  Attempt([&] { ReadGraph(folder, flags, false); });
  Attempt([&] { ReadGraph(folder, flags, true); });
  Attempt([&] { ReadCsvMatrix(folder / "nodes", 3, NumberKind::kInfer); });
  Attempt([&] { ReadCsvMatrix(folder / "nodes", 3, NumberKind::kFloat); });
}

std::vector<std::string> Seeds() {
  const std::string csv = "src,dst,weight\n0,1,0.5\n1,2,1e3\n2,0,7\n";
  const std::string nodes = "id,age,name.0,name.1\n0,31,1,2\n1,22,3,4\n2,17,,6\n";
  const std::string matrix = "%%MatrixMarket matrix coordinate real skew-symmetric\n% by hand\n";
  const auto seed = [](char flags, const std::vector<NamedBytes>& files) {
    return flags + Pack(files);
  };
  return {
      seed('\0', {{"edges", csv}, {"nodes", nodes}}),
      seed('\0', {{"edges", Gzip(csv)}, {"nodes", Gzip(nodes)}}),
      seed('\1', {{"edges", "# names\n\"a b\"\t\"c\"\"d\"\nx\ty\n"}, {"nodes", "a b\nc\"d\n"}}),
      seed('\x38', {{"edges", "0 1\n1 2\n"}, {"nodes", "0 true\n2 false\n1 true\n"}}),
      seed('\6', {{"edges", "\"1\n\";2;x\n3;4;5\n"}, {"nodes", "1,2\n3,4\n5,nan\n"}}),
      seed('\0', {{"edges", matrix + "3 3 2\n2 1 -1.5\n3 1 2\n"}}),
      seed('\0', {{"edges", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n"}}),
      seed('\0', {{"edges", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 9\n"}}),
  };
}

}  // namespace graphd::fuzz
