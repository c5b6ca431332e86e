// SPDX-License-Identifier: Apache-2.0
#include "store/log/push_log.h"

#include <xxhash.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "tests/fuzz/support/input_folder.h"
#include "tests/fuzz/support/target.h"

// Recovers pushes from the segments of a push log. Mutations rarely keep a checksum right, so the
// checksums of an input are corrected first, unless its first byte is odd.

namespace graphd::fuzz {
namespace {

using store::Push;
using store::PushLog;

const std::string kFirst = "log-00000000000000000001", kSecond = "log-00000000000000000003";

// Offsets in a segment's header and in a record's header; see push_log.cc.
constexpr size_t kSalt = 16, kHeaderChecksum = 24, kHeaderBytes = 32;
constexpr size_t kRows = 48, kPayload = 56, kFlags = 66, kChecksum = 88, kRecordBytes = 96;

uint64_t Number(const std::string& bytes, size_t offset) {
  uint64_t number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

void SetNumber(std::string& bytes, size_t offset, uint64_t number) {
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

// Corrects the checksums of a segment's header and of the records that follow it.
void CorrectChecksums(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return;
  SetNumber(bytes, kHeaderChecksum, XXH3_64bits(bytes.data(), kHeaderChecksum));
  const uint64_t salt = Number(bytes, kSalt);
  for (size_t at = kHeaderBytes; bytes.size() - at >= kRecordBytes;) {
    const uint64_t left = bytes.size() - at - kRecordBytes;
    const uint64_t rows = Number(bytes, at + kRows), payload = Number(bytes, at + kPayload);
    if (rows > left / 8 || payload > left - rows * 8) return;
    SetNumber(bytes, at + kChecksum, 0);
    const char* const begin = bytes.data() + at;
    const uint64_t seed = XXH3_64bits_withSeed(begin + kRecordBytes, rows * 8,
                                               XXH3_64bits_withSeed(begin, kRecordBytes, salt));
    const bool unchecked = (begin[kFlags] & 1) != 0;
    SetNumber(
        bytes, at + kChecksum,
        unchecked ? seed : XXH3_64bits_withSeed(begin + kRecordBytes + rows * 8, payload, seed));
    const uint64_t size = kRecordBytes + rows * 8 + payload;
    if (bytes.size() - at < size + 8) return;
    at += (size + 7) / 8 * 8;
  }
}

void TouchPush(const Push& push) {
  Touch(std::as_bytes(push.rows));
  Touch(push.payload);
}

}  // namespace

void ReadInput(std::string_view input) {
  static InputFolder folder({kFirst, kSecond, "spare-0"});
  if (input.empty()) return;
  folder.Unpack(input.substr(1));
  for (const std::string& name : {kFirst, kSecond}) {
    if ((input[0] & 1) != 0 || !std::filesystem::exists(folder / name)) continue;
    std::string bytes = ReadTextFile(folder / name);
    CorrectChecksums(bytes);
    folder.Write(name, bytes);
  }
  PushLog(folder.path(), {}).Recover(TouchPush);
}

std::vector<std::string> Seeds() {
  const std::vector<int64_t> rows{1, 5};
  const std::vector<std::byte> payload(12, std::byte{7});
  std::vector<std::string> seeds;
  for (const uint64_t segment_bytes : {uint64_t{1} << 20, uint64_t{200}}) {
    const InputFolder folder({});
    PushLog log(folder.path(), {.segment_bytes = segment_bytes});
    for (uint64_t lsn = 1; lsn <= 3; lsn++) {
      const Push push{lsn, 1, {}, {3, 4}, lsn, rows, payload};
      const Push* const pushes[] = {&push};
      log.Append(pushes);
    }
    seeds.push_back('\0' + PackDirectory(folder.path()));
  }
  return seeds;
}

}  // namespace graphd::fuzz
