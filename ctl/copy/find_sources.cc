// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/find_sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/copy/hash_file.h"
#include "ctl/copy/protocol.h"
#include "ctl/plan/relative_path.h"
#include "format/io/json_field.h"
#include "format/label_texts.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/native/load_partition.h"
#include "format/node_names.h"

namespace graphd::ctl {
namespace {

namespace fs = std::filesystem;

// Finds files, and collects the problems with all of them, so that they are reported together.
class Finder {
 public:
  LocalFile Find(const std::string& path) {
    LocalFile file{path, 0, 0644, {}};
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      problems_.push_back(path + " does not exist");
    } else if (!S_ISREG(info.st_mode)) {
      problems_.push_back(path + " is not a regular file");
    } else if (::access(path.c_str(), R_OK) != 0) {
      problems_.push_back(path + " can't be read");
    } else {
      file.size = static_cast<uint64_t>(info.st_size);
      file.mode = info.st_mode & 0777;
    }
    return file;
  }

  // Throws if there were problems. `whose`: the option or file that names the files.
  void Check(const std::string& whose) const {
    if (problems_.empty()) return;
    std::vector<std::string> shown = problems_;
    shown.resize(std::min<size_t>(problems_.size(), 10));
    if (shown.size() < problems_.size()) {
      shown.push_back(StrCat("and ", problems_.size() - shown.size(), " more"));
    }
    Throw(ErrorCode::kNotFound, whose, ": ", Join(shown, "; "),
          "; all files to copy must be on this machine");
  }

 private:
  std::vector<std::string> problems_;
};

// Returns all files that the part config names for a partition.
std::vector<LocalFile> NamedFiles(const JsonField& root, PartId part, Finder& finder) {
  const JsonField object = root[StrCat("part-", part)];
  std::vector<LocalFile> files;
  std::string directory;
  for (const std::string& key : object.keys()) {
    if (!object[key].is_string()) continue;
    const std::string named = object[key].String();
    if (BaseName(named).empty()) object[key].Fail("the path of a file");
    files.push_back(finder.Find(FindPartFile(root.file(), part, named)));
    if (key.rfind("part_graph", 0) == 0) directory = DirName(files.back().path);
  }
  if (directory.empty()) object.Fail("an object with part_graph or part_graph_graphbolt");
  for (const char* name : {"orig_nids.dgl", "orig_eids.dgl"}) {
    const std::string path = JoinPath(directory, name);
    if (FileExists(path)) files.push_back(finder.Find(path));
  }
  return files;
}

std::vector<LocalFile> NativeFiles(const PartConfig& config, PartId part, Finder& finder) {
  const NativeHeader header = ReadNativeHeaderOf(config, part);
  const std::string directory = NativeDirectory(config, part);
  std::vector<LocalFile> files = {finder.Find(JoinPath(directory, kNativeHeaderFile))};
  for (const NativeSegmentInfo& segment : header.segments) {
    LocalFile file = finder.Find(JoinPath(directory, segment.file));
    for (size_t i = 0; i < segment.checksums.size(); i++) {
      const ArraySpec& array = segment.layout.arrays()[i];
      file.arrays.push_back({array.name, array.offset, array.bytes, segment.checksums[i]});
    }
    std::sort(file.arrays.begin(), file.arrays.end(),
              [](const auto& a, const auto& b) { return a.offset < b.offset; });
    files.push_back(std::move(file));
  }
  return files;
}

// Adds the graph's files to `sources`.
void FindGraph(CopySources& sources) {
  const std::string& path = sources.part_config.path;
  const nlohmann::json document = ParseJsonFile(path);
  const JsonField root(document, path);
  const auto num_parts = static_cast<int32_t>(root["num_parts"].Int(1, kMaxPartitions));
  Finder finder;
  bool readable = true;  // graphd can read it; if not, GraphBolt's files are copied unchecked
  for (PartId part = 0; part < num_parts; part++) {
    sources.parts.push_back(NamedFiles(root, part, finder));
    readable = readable && root[StrCat("part-", part)].Has("part_graph");
  }
  for (const char* key : {"node_map", "edge_map"}) {
    if (!root.Has(key) || !root[key].is_string()) continue;
    sources.maps.push_back(finder.Find(FindMapFile(path, root[key].String())));
  }
  finder.Check(path);
  if (!readable) return;
  const PartConfig config = LoadPartConfig(path);
  for (const std::string& names : FindNodeNames(config)) {
    if (!names.empty()) sources.names.push_back(finder.Find(names));
  }
  for (const std::string& texts : ListLabelTexts(config)) {
    sources.names.push_back(finder.Find(texts));
  }
  for (PartId part = 0; part < num_parts; part++) {
    if (config.format == PartFormat::kNative) {
      sources.parts[static_cast<size_t>(part)] = NativeFiles(config, part, finder);
    } else {
      EstimatePartitionBytes(config, part);  // compares the sizes in headers with the files' sizes
    }
  }
  finder.Check(path);
}

// Adds all files in a folder, sorted by name. `parents`: its ancestors, with links resolved.
void FindScripts(const fs::path& folder, const std::string& relative, std::set<fs::path> parents,
                 Finder& finder, std::vector<CopySources::Script>& scripts) {
  if (!parents.insert(fs::canonical(folder)).second) {
    Throw(ErrorCode::kInvalid, "--script_folder: ", folder.string(),
          " is a symbolic link to one of its parent folders; remove it");
  }
  std::vector<fs::path> entries(fs::directory_iterator(folder), fs::directory_iterator{});
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    const std::string name = relative + entry.filename().string();
    if (fs::is_directory(entry)) {
      FindScripts(entry, name + "/", parents, finder, scripts);
    } else {
      scripts.push_back({finder.Find(entry.string()), name});
    }
    if (scripts.size() > kMaxFiles) {
      Throw(ErrorCode::kInvalid, "--script_folder has more than ", kMaxFiles,
            " files; give a folder that contains only scripts");
    }
  }
}

// Compares the arrays of a file with their checksums while the file is read.
class ArrayCheck {
 public:
  explicit ArrayCheck(const LocalFile& file) : file_(file) {}

  void Update(uint64_t offset, std::span<const std::byte> piece) {
    const uint64_t piece_end = offset + piece.size();
    for (; current_ < file_.arrays.size(); current_++) {
      const LocalFile::Array& array = file_.arrays[current_];
      const uint64_t begin = std::max(array.offset, offset), end = array.offset + array.bytes;
      const uint64_t stop = std::min(end, piece_end);
      if (stop > begin) sum_.Update(piece.subspan(begin - offset, stop - begin));
      if (end > piece_end) return;  // the array continues in the next piece
      if (sum_.Digest() != array.xxh3) Fail(array);
      sum_.Reset();
    }
  }

 private:
  [[noreturn]] void Fail(const LocalFile::Array& array) const {
    Throw(ErrorCode::kCorrupt, file_.path, ": array '", array.name, "' at offset ", array.offset,
          " has checksum ", ChecksumText(sum_.Digest()), ", expected ", ChecksumText(array.xxh3),
          "; it is damaged: partition the graph again");
  }

  const LocalFile& file_;
  Checksum sum_;
  size_t current_ = 0;  // the first array whose end has not been read
};

}  // namespace

CopySources FindSources(const std::string& part_config, const std::string& ip_config,
                        const std::string& script_folder) {
  CopySources sources;
  Finder finder;
  sources.part_config = finder.Find(part_config);
  sources.ip_config = finder.Find(ip_config);
  finder.Check("copy");
  sources.part_config_text = ReadTextFile(part_config);
  FindGraph(sources);
  if (script_folder.empty()) return sources;
  if (!fs::is_directory(script_folder)) {
    Throw(ErrorCode::kNotFound, "--script_folder ", script_folder, " is not a directory");
  }
  sources.script_folder = fs::canonical(script_folder).string();
  try {
    FindScripts(script_folder, "", {}, finder, sources.scripts);
  } catch (const fs::filesystem_error& error) {
    Throw(ErrorCode::kIo, "--script_folder: ", error.what());
  }
  finder.Check("--script_folder");
  return sources;
}

uint64_t ChecksumSource(const CopyFile& file, std::atomic<uint64_t>& done,
                        const std::atomic<bool>& cancelled) {
  if (file.has_text) {
    Checksum sum;
    sum.Update(std::as_bytes(std::span(file.text)));
    done += file.text.size();
    return sum.Digest();
  }
  const UniqueFd fd = OpenFile(file.source.path, O_RDONLY);
  ArrayCheck arrays(file.source);
  const auto sum = HashBytes(fd.get(), file.source.size, file.source.path,
                             [&](uint64_t offset, std::span<const std::byte> piece) {
                               if (cancelled) Throw(ErrorCode::kUnavailable, "interrupted");
                               arrays.Update(offset, piece);
                               done += piece.size();
                             });
  return sum->Digest();
}

}  // namespace graphd::ctl
