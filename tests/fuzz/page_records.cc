// SPDX-License-Identifier: Apache-2.0
#include <endian.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <rocksdb/db.h>
#include <signal.h>
#include <stdlib.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/log.h"
#include "base/strings.h"
#include "store/rows/page_db.h"
#include "store/store.h"
#include "tests/fuzz/support/copy_folder.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/wire_input.h"

// Opens a store after the input has changed the records in its RocksDB: pages, descriptions of
// tables, the state of the store and the troubles of tables. Each record has a checksum, which the
// input may put right, so that what lies behind the checksum is read, too. Then reads all rows, and
// changes some.

namespace graphd::fuzz {
namespace {

namespace fs = std::filesystem;
using store::Push;
using store::Store;

constexpr int64_t kRows = 300;
constexpr size_t kRowBytes = 8;
constexpr int kMaxChanges = 8;

class Records {
 public:
  Records() {
    scratch_ = (fs::temp_directory_path() / "graphd_fuzz_XXXXXX").string();
    if (::mkdtemp(scratch_.data()) == nullptr) ThrowErrno("can't create", scratch_);
    // Files may grow to a limit only (main.cc), which the store sees as it sees a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    SetLogLevel(LogLevel::kError);
    {
      Store store(Options());
      Use(store, 3);
    }
    fs::rename(scratch_ + "/now", scratch_ + "/then");
    Restore();
    const auto db = Open();
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) keys_.push_back(it->key().ToString());
  }

  void Restore() const { CopyFolder(scratch_ + "/then", scratch_ + "/now"); }
  store::StoreOptions Options() const {
    store::StoreOptions options;
    options.directory = scratch_ + "/now";
    options.threads = 1;
    options.log_segment_bytes = uint64_t{1} << 20;
    return options;
  }
  std::unique_ptr<rocksdb::DB> Open() const {
    rocksdb::DB* db = nullptr;
    rocksdb::Options options;
    options.info_log_level = rocksdb::InfoLogLevel::FATAL_LEVEL;
    options.max_background_jobs = 1;
    const rocksdb::Status status = rocksdb::DB::Open(options, scratch_ + "/now/pages", &db);
    if (!status.ok()) Throw(ErrorCode::kInternal, status.ToString());
    return std::unique_ptr<rocksdb::DB>(db);
  }
  // Changes, adds or removes records.
  void Change(FuzzedDataProvider& data) const {
    const auto db = Open();
    rocksdb::WriteOptions unlogged;
    unlogged.disableWAL = true;
    for (int i = 0; i < kMaxChanges && data.remaining_bytes() > 0; i++) {
      const auto how = data.ConsumeIntegral<uint8_t>();
      const std::string& from = keys_[data.ConsumeIntegral<uint8_t>() % keys_.size()];
      std::string key = from;
      if (how % 8 == 7) {
        (void)db->Delete(unlogged, key);
        continue;
      }
      if (how % 8 == 6) {  // a page that should not be there, or a text of another name
        const size_t at = data.ConsumeIntegral<uint8_t>() % key.size();
        key[at] = static_cast<char>(data.ConsumeIntegral<uint8_t>());
      }
      std::string value;
      if (!db->Get(rocksdb::ReadOptions(), from, &value).ok()) continue;
      const size_t at = std::min<size_t>(data.ConsumeIntegral<uint16_t>(), value.size());
      const std::string bytes = data.ConsumeRandomLengthString(64);
      if (how % 8 < 3) {
        value.resize(std::max(value.size(), at + bytes.size()));
        value.replace(at, bytes.size(), bytes);
      } else if (how % 8 == 3) {
        value.resize(at);
      } else if (how % 8 == 4) {
        value.insert(at, bytes);
      }
      if (how >= 64 && value.size() >= sizeof(uint64_t)) {
        const uint64_t checksum =
            XXH3_64bits_withSeed(value.data() + sizeof checksum, value.size() - sizeof checksum,
                                 XXH3_64bits(key.data(), key.size()));
        std::memcpy(value.data(), &checksum, sizeof checksum);
      }
      (void)db->Put(unlogged, key, value);
    }
    rocksdb::FlushOptions flush;
    (void)db->Flush(flush);
  }
  // Makes or opens the tables, reads all rows and pushes a few changes to each table.
  static void Use(Store& store, uint64_t pushes) {
    for (const char* name : {"sums", "embedding"}) {
      Attempt([&] { UseTable(store, name, pushes); });
    }
  }

 private:
  static void UseTable(Store& store, const std::string& name, uint64_t pushes) {
    store::TableSpec spec;
    spec.name = name;
    spec.row_shape = {2};
    spec.rows = kRows;
    const bool trained = name == "embedding";
    if (trained) spec.state = OptimizerState::kAdagrad;
    const auto table = store.OpenTable(spec);
    std::vector<int64_t> rows(kRows);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<std::byte> bytes(rows.size() * kRowBytes);
    Attempt([&] {
      table->Read(rows, bytes.data());
      Touch(bytes);
    });
    for (uint64_t i = 0; i < pushes; i++) {
      Push push;
      push.rule.kind = trained ? UpdateKind::kAdagrad : UpdateKind::kAdd;
      push.rule.lr = 1;
      push.client = {table->id(), 1};
      push.sequence = store.LastSequence(push.client) + 1;
      push.rows = std::span(rows).first(100 + i);
      push.payload = std::span(bytes).first(push.rows.size() * kRowBytes);
      Attempt([&] { store.Apply(table, push); });
    }
  }

  std::string scratch_;
  std::vector<std::string> keys_;
};

}  // namespace

void ReadInput(std::string_view input) {
  static const auto& records = *new Records;
  records.Restore();
  FuzzedDataProvider data(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  records.Change(data);
  Store store(records.Options());
  Records::Use(store, 1);
}

std::vector<std::string> Seeds() {
  // Each record is overwritten, truncated, extended, moved or removed, with its checksum put right.
  // FuzzedDataProvider takes numbers from the end of an input, and texts from its beginning.
  std::vector<std::string> seeds{""};
  for (char record = 0; record < 16; record++) {
    for (const char how : {'\x40', '\x43', '\x44', '\x46', '\7'}) {
      std::string seed(12, '\x7f');
      seed += {'\0', '\x0a', '\x09', record, how};
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace graphd::fuzz
