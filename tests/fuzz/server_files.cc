// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/cache/cache_members.h"
#include "daemon/restart/switch_record.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"
#include "tls/revoked_list.h"
#include "tls/shared_secret.h"
#include "wire/loading_file.h"

// Reads the small files by which daemons and trainers find out about one another: revoked keys, a
// shared secret, the note about a switch of the graph, the progress of loading, and the members of
// a row cache. The first byte chooses the reader.

namespace graphd::fuzz {
namespace {

constexpr const char* kFile = "file";

const CacheShape& Shape() {
  static const CacheShape shape{CacheShape::kLeastBytes, 1, {8}, {}};
  return shape;
}

const InputFolder& Folder() {
  static const InputFolder folder({kFile});
  return folder;
}

// A process joins the row cache whose members the input lists. A file that is damaged is refused,
// and a member that does not live is replaced.
void JoinCache(std::string_view list) {
  static const std::string name =
      std::filesystem::path(CacheMembers(Folder().path(), Shape()).path()).filename();
  Folder().Write(name, list);
  try {
    const CacheMembers members(Folder().path(), Shape());
    if (members.memory().bytes() > Shape().bytes) std::abort();
  } catch (...) {
    std::filesystem::remove(Folder() / name);
    throw;
  }
  std::filesystem::remove(Folder() / name);
}

void ReadRevoked(const std::string& text) {
  const RevokedList list = RevokedList::Parse(text, "here");
  if (RevokedList::Parse(list.ToText(), "here").names() != list.names()) std::abort();
}

void ReadSwitch(std::string_view text) {
  Folder().Write(kFile, text);
  const auto read = SwitchRecord::Read(Folder() / kFile);
  if (!read) std::abort();  // the file is there
  read->Holds("/data/a.json");
}

void ReadLoading(std::string_view text) {
  Folder().Write(kFile, text);
  const auto state = ReadLoadingFile(Folder() / kFile);
  if (state && (state->percent() < 0 || state->percent() > 100)) std::abort();
}

// Returns what a function writes to a file.
template <class Write>
std::string Written(Write write) {
  write(Folder() / kFile);
  std::ifstream file(Folder() / kFile);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  const std::string_view rest = input.substr(1);
  switch (input[0]) {
    case 'r':
      return ReadRevoked(std::string(rest));
    case 's':
      SharedSecret::Parse(std::string(rest), "here");
      return;
    case 'w':
      return ReadSwitch(rest);
    case 'l':
      return ReadLoading(rest);
    default:
      return JoinCache(rest);
  }
}

std::vector<std::string> Seeds() {
  RevokedList revoked;
  revoked.Add("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "alice");
  SwitchRecord record;
  record.configured = "/data/a.json";
  record.part_config = "/data/b.json";
  record.id = "7";
  record.fingerprint = "0123456789abcdef";
  LoadingState loading{"ogb", 1, 5, 10};
  return {'r' + revoked.ToText(), 's' + SharedSecret::NewText() + "\n",
          'w' + Written([&](const std::string& path) {
            record.Prepare(path);
            SwitchRecord::Publish(path);
          }),
          'l' + Written([&](const std::string& path) { WriteLoadingFile(path, loading); }),
          "m1 2 3 4\n"};
}

}  // namespace graphd::fuzz
