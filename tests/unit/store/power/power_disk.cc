// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/power/power_disk.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace graphd::store {
namespace {

namespace fs = std::filesystem;

constexpr size_t kDiskPage = 4096;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

std::vector<PowerRecord> ReadJournal(std::span<const std::byte> journal) {
  std::vector<PowerRecord> records;
  const auto text = [&](size_t at, size_t size) {
    return std::string(reinterpret_cast<const char*>(journal.data()) + at, size);
  };
  for (size_t at = 0; journal.size() - at >= sizeof(PowerOp);) {
    PowerRecord record;
    std::memcpy(&record.op, journal.data() + at, sizeof record.op);
    const PowerOp& op = record.op;
    at += sizeof op;
    const uint64_t rest = uint64_t{op.a_bytes} + op.b_bytes + op.data_bytes;
    if (rest > journal.size() - at) break;
    record.a = text(at, op.a_bytes);
    record.b = text(at + op.a_bytes, op.b_bytes);
    record.data = journal.subspan(at + op.a_bytes + op.b_bytes, op.data_bytes);
    records.push_back(std::move(record));
    at += rest;
  }
  return records;
}

PowerDisk::PowerDisk(std::string root) : root_(std::move(root)) {
  names_[""] = std::make_shared<Node>(Node{true, {}});
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    const NodeRef node = std::make_shared<Node>(Node{entry.is_directory(), {}});
    names_[Relative(entry.path())] = node;
    if (node->is_directory) continue;
    const MappedFile file(entry.path());
    node->file.safe.assign(file.bytes().begin(), file.bytes().end());
  }
  safe_names_ = names_;
}

std::string PowerDisk::Relative(const std::string& path) const {
  std::string rest = path.substr(std::min(path.size(), root_.size()));
  while (!rest.empty() && rest.front() == '/') rest.erase(0, 1);
  while (!rest.empty() && rest.back() == '/') rest.pop_back();
  for (size_t at; (at = rest.find("//")) != std::string::npos;) rest.erase(at, 1);
  return rest;
}

PowerDisk::NodeRef PowerDisk::Find(const Names& names, const std::string& path) {
  const auto found = names.find(path);
  return found == names.end() ? nullptr : found->second;
}

// Moves a directory with its contents.
void PowerDisk::Apply(Names& names, const Change& change) {
  if (change.from.empty()) {
    names[change.to] = change.node;
    return;
  }
  if (change.keeps_from) {
    names[change.to] = change.node;
    return;
  }
  if (Find(names, change.from) != change.node) return;  // it never had this name
  Names moved;
  for (auto it = names.lower_bound(change.from); it != names.end();) {
    const bool inside = it->first == change.from || it->first.starts_with(change.from + "/");
    if (!it->first.starts_with(change.from)) break;
    if (!inside) {
      ++it;
      continue;
    }
    if (!change.to.empty()) moved[change.to + it->first.substr(change.from.size())] = it->second;
    it = names.erase(it);
  }
  for (const auto& [path, node] : moved) names[path] = node;
}

void PowerDisk::DoChange(Change change) {
  if (!change.from.empty()) change.first = Find(names_, ParentOf(change.from));
  if (!change.to.empty()) change.second = Find(names_, ParentOf(change.to));
  change.first_safe = change.first == nullptr || change.keeps_from;
  change.second_safe = change.second == nullptr;
  Apply(names_, change);
  changes_.push_back(std::move(change));
}

void PowerDisk::Sync(const NodeRef& node) {
  if (!node->is_directory) {
    for (const PowerRecord* record : node->file.unsafe) {
      std::vector<std::byte>& safe = node->file.safe;
      if (record->op.kind == PowerOpKind::kTruncate) {
        safe.resize(record->op.offset);
      } else {
        safe.resize(std::max<size_t>(safe.size(), record->op.offset + record->data.size()));
        std::copy(record->data.begin(), record->data.end(),
                  safe.begin() + static_cast<std::ptrdiff_t>(record->op.offset));
      }
    }
    node->file.unsafe.clear();
    return;
  }
  for (Change& change : changes_) {
    change.first_safe |= change.first == node;
    change.second_safe |= change.second == node;
  }
  size_t done = 0;
  for (; done < changes_.size() && changes_[done].first_safe && changes_[done].second_safe;
       done++) {
    Apply(safe_names_, changes_[done]);
  }
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(done));
}

void PowerDisk::Do(const PowerRecord& record) {
  const PowerOp& op = record.op;
  const std::string a = Relative(record.a), b = Relative(record.b);
  switch (op.kind) {
    case PowerOpKind::kOpen:
      if (Find(names_, a) == nullptr) {
        DoChange({"", a, std::make_shared<Node>(), false, nullptr, nullptr});
      }
      open_[op.file] = Find(names_, a);
      return;
    case PowerOpKind::kWrite:
    case PowerOpKind::kTruncate:
      open_.at(op.file)->file.unsafe.push_back(&record);
      return;
    case PowerOpKind::kSync:
      return Sync(open_.at(op.file));
    case PowerOpKind::kMakeDirectory:
      return DoChange({"", a, std::make_shared<Node>(Node{true, {}}), false, nullptr, nullptr});
    case PowerOpKind::kRename:
      // RocksDB's own log is not recorded: it opens that file with another function.
      if (const NodeRef node = Find(names_, a)) DoChange({a, b, node, false, nullptr, nullptr});
      return;
    case PowerOpKind::kLink:
      return DoChange({a, b, Find(names_, a), true, nullptr, nullptr});
    case PowerOpKind::kRemove:
      if (const NodeRef node = Find(names_, a)) DoChange({a, "", node, false, nullptr, nullptr});
      return;
    case PowerOpKind::kMark:
      return;
  }
}

std::vector<std::byte> PowerDisk::Left(const File& file, CounterRng& rng, uint64_t percent) {
  std::vector<std::byte> left = file.safe;
  for (const PowerRecord* record : file.unsafe) {
    const uint64_t begin = record->op.offset, end = begin + record->data.size();
    if (record->op.kind == PowerOpKind::kTruncate) {
      if (rng.Below(100) < percent) left.resize(begin);
      continue;
    }
    for (uint64_t at = begin; at < end;) {
      const uint64_t next = std::min(end, (at / kDiskPage + 1) * kDiskPage);
      if (rng.Below(100) < percent) {
        left.resize(std::max<size_t>(left.size(), next));
        std::copy(record->data.begin() + static_cast<std::ptrdiff_t>(at - begin),
                  record->data.begin() + static_cast<std::ptrdiff_t>(next - begin),
                  left.begin() + static_cast<std::ptrdiff_t>(at));
      }
      at = next;
    }
  }
  return left;
}

void PowerDisk::Cut(CounterRng& rng, const std::string& directory) const {
  Names names = safe_names_;
  // A file system with a journal keeps changes of names up to some moment; others keep synced ones.
  const bool in_order = rng.Below(2) == 0;
  size_t must = 0;
  for (size_t i = 0; i < changes_.size(); i++) {
    if (changes_[i].first_safe && changes_[i].second_safe) must = i + 1;
  }
  const size_t kept = must + rng.Below(changes_.size() - must + 1);
  for (size_t i = 0; i < changes_.size(); i++) {
    const Change& change = changes_[i];
    if (in_order ? i < kept : change.first_safe && change.second_safe) Apply(names, change);
  }
  const uint64_t percents[] = {0, 30, 70, 100};
  const uint64_t percent = percents[rng.Below(4)];
  fs::create_directories(directory);
  std::map<const Node*, std::string> written;
  for (const auto& [path, node] : names) {
    const std::string parent = ParentOf(path);
    if (path.empty() || !fs::is_directory(directory + "/" + parent)) continue;  // its name is lost
    const std::string to = directory + "/" + path;
    if (node->is_directory) {
      fs::create_directory(to);
    } else if (const auto known = written.find(node.get()); known != written.end()) {
      fs::create_hard_link(known->second, to);
    } else {
      const std::vector<std::byte> left = Left(node->file, rng, percent);
      std::ofstream(to, std::ios::binary)
          .write(reinterpret_cast<const char*>(left.data()),
                 static_cast<std::streamsize>(left.size()));
      written[node.get()] = to;
    }
  }
}

}  // namespace graphd::store
