// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/store.h"
#include "tests/fuzz/support/copy_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/wire_input.h"

// Opens a store whose last process was killed, after the input has changed the files that it left:
// the memory of tables, undo logs, the push log and the state of the store in the tmpfs, and what
// the store's directory says about them. Then reads all rows and changes some.

namespace graphd::fuzz {
namespace {

namespace fs = std::filesystem;
using store::Push;
using store::Store;

constexpr int64_t kRows = 200;
constexpr size_t kRowBytes = 8;
constexpr int kMaxChanges = 16;

// A file that an input may change, below the scratch directory.
using Files = std::vector<std::string>;

// The directories of a store, as they were when its process was killed.
class Remains {
 public:
  Remains() {
    scratch_ = (fs::temp_directory_path() / "graphd_fuzz_XXXXXX").string();
    if (::mkdtemp(scratch_.data()) == nullptr) ThrowErrno("can't create", scratch_);
    // Files may grow to a limit only (main.cc), which the store sees as it sees a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    SetLogLevel(LogLevel::kError);
    fs::create_directories(scratch_ + "/now/memory");
    fs::permissions(scratch_ + "/now/memory", fs::perms::owner_all);
    {
      Store store(Options());
      Use(store, 3);
      CopyFolder(scratch_ + "/now", scratch_ + "/then");
    }
    for (const auto& entry : fs::recursive_directory_iterator(scratch_ + "/then")) {
      const std::string path = entry.path().lexically_relative(scratch_ + "/then");
      if (entry.is_regular_file() && !path.starts_with("store/pages")) files_.push_back(path);
    }
    std::sort(files_.begin(), files_.end());
  }

  const Files& files() const noexcept { return files_; }
  std::string PathOf(const std::string& file) const { return scratch_ + "/now/" + file; }
  // Puts everything back as it was.
  void Restore() const { CopyFolder(scratch_ + "/then", scratch_ + "/now"); }
  store::StoreOptions Options() const {
    store::StoreOptions options;
    options.directory = scratch_ + "/now/store";
    options.memory_dir = scratch_ + "/now/memory";
    options.threads = 1;
    options.log_segment_bytes = uint64_t{1} << 20;
    return options;
  }
  // Makes or opens the tables, reads all rows and pushes a few changes to each table.
  static void Use(Store& store, uint64_t pushes) {
    for (const char* name : {"sums", "embedding"}) {
      store::TableSpec spec;
      spec.name = name;
      spec.row_shape = {2};
      spec.rows = kRows;
      if (std::string_view(name) == "embedding") spec.state = OptimizerState::kAdagrad;
      const auto table = store.OpenTable(spec);
      std::vector<int64_t> rows(kRows);
      std::iota(rows.begin(), rows.end(), 0);
      std::vector<std::byte> bytes(rows.size() * kRowBytes);
      table->Read(rows, bytes.data());
      Touch(bytes);
      for (uint64_t i = 0; i < pushes; i++) {
        Push push;
        push.rule.kind =
            spec.state == OptimizerState::kAdagrad ? UpdateKind::kAdagrad : UpdateKind::kAdd;
        push.rule.lr = 1;
        push.client = {table->id(), 1};
        push.sequence = store.LastSequence(push.client) + 1;
        push.rows = std::span(rows).first(100 + i);
        push.payload = std::span(bytes).first(push.rows.size() * kRowBytes);
        Attempt([&] { store.Apply(table, push); });
      }
    }
  }

 private:
  std::string scratch_;
  Files files_;
};

// Overwrites, extends, truncates or removes files.
void Change(const Remains& remains, FuzzedDataProvider& data) {
  for (int i = 0; i < kMaxChanges && data.remaining_bytes() > 0; i++) {
    const std::string& file =
        remains.files()[data.ConsumeIntegral<uint8_t>() % remains.files().size()];
    const std::string path = remains.PathOf(file);
    if (!fs::exists(path)) continue;
    const auto how = data.ConsumeIntegral<uint8_t>();
    const uint64_t size = fs::file_size(path);
    const uint64_t offset = how % 2 == 0 ? data.ConsumeIntegral<uint8_t>() * uint64_t{8}
                                         : data.ConsumeIntegral<uint16_t>();
    if (how == 255) {
      fs::remove(path);
    } else if (how >= 250) {
      fs::resize_file(path, std::min(offset * 16, size * 2));
    } else {
      const auto bytes = data.ConsumeBytes<std::byte>(1 + data.ConsumeIntegral<uint8_t>() % 32);
      const UniqueFd fd = OpenFile(path, O_WRONLY);
      const auto at = static_cast<off_t>(std::min(offset, size));
      [[maybe_unused]] const ssize_t written = ::pwrite(fd.get(), bytes.data(), bytes.size(), at);
    }
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  static const auto& remains = *new Remains;
  remains.Restore();
  FuzzedDataProvider data(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  Change(remains, data);
  Store store(remains.Options());
  Remains::Use(store, 1);
}

std::vector<std::string> Seeds() {
  // The first bytes of each file, its truncation and its removal; see Change. FuzzedDataProvider
  // takes numbers from the end of an input.
  std::vector<std::string> seeds{""};
  for (int file = 0; file < 16; file++) {
    for (const char how : {'\0', '\xfa', '\xff'}) {
      std::string seed(16, '\x7f');
      seed += {'\x10', '\0', how, static_cast<char>(file)};
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace graphd::fuzz
