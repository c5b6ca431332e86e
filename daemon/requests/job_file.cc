// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_file.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "base/strings.h"

namespace graphd {
namespace {

constexpr std::string_view kHeader = "graphd jobs 1\n";
constexpr char kNothing[] = "-";

std::string Encode(const std::string& bytes) {
  if (bytes.empty()) return kNothing;
  std::string text;
  for (const char each : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(each) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(each) & 15];
  }
  return text;
}

template <class T>
T ParseNumber(std::string_view text, int base) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    Throw(ErrorCode::kCorrupt, "a number is damaged");
  }
  return number;
}

std::string Decode(std::string_view text) {
  if (text == kNothing) return {};
  if (text.size() % 2 != 0) Throw(ErrorCode::kCorrupt, "a text is damaged");
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(ParseNumber<unsigned char>(text.substr(i, 2), 16));
  }
  return bytes;
}

// Cuts the text up to the next `separator` off `rest`, and returns it. Throws Error(kCorrupt) if
// there is no separator.
std::string_view TakeUntil(char separator, std::string_view& rest) {
  const size_t end = rest.find(separator);
  if (end == std::string_view::npos) Throw(ErrorCode::kCorrupt, "its last line is incomplete");
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return taken;
}

}  // namespace

std::string JobFile::ToText(const CredentialsOfJobs& jobs) {
  std::string text(kHeader);
  for (const auto& [job_id, credentials] : jobs) {
    text += StrCat(Encode(credentials.secret_hash), " ",
                   credentials.uid ? StrCat(*credentials.uid) : kNothing, " ",
                   credentials.has_secret ? 1 : 0, " ", Encode(credentials.certificate), " ",
                   Encode(job_id), "\n");
  }
  return text;
}

CredentialsOfJobs JobFile::FromText(std::string_view text) {
  if (!text.starts_with(kHeader)) {
    Throw(ErrorCode::kCorrupt, "it does not begin as such files do");
  }
  text.remove_prefix(kHeader.size());
  CredentialsOfJobs jobs;
  while (!text.empty()) {
    std::string_view line = TakeUntil('\n', text);
    JobCredentials credentials;
    credentials.secret_hash = Decode(TakeUntil(' ', line));
    const std::string_view uid = TakeUntil(' ', line);
    if (uid != kNothing) credentials.uid = ParseNumber<uid_t>(uid, 10);
    credentials.has_secret = ParseNumber<unsigned>(TakeUntil(' ', line), 10) != 0;
    credentials.certificate = Decode(TakeUntil(' ', line));
    jobs[Decode(line)] = std::move(credentials);
  }
  return jobs;
}

JobFile::JobFile(std::string path)
    : file_({.path = std::move(path),
             .max_bytes = size_t{64} << 20,
             .pause = std::chrono::milliseconds(50),
             .survives_power_loss = false,  // no job survives it
             .thread = "job file",
             .read_failure =
                 "can't use the saved credentials of jobs, so others may take their names",
             .save_failure = "can't save the credentials of jobs; after a restart of graphd, "
                             "others may take their names"}) {
  file_.Read([this](std::string_view text) { read_ = FromText(text); });
}

JobFile::~JobFile() {
  if (registry_ != nullptr) registry_->SetOnChange(nullptr);
}

void JobFile::Keep(JobRegistry& registry) {
  registry_ = &registry;
  registry.Expect(std::exchange(read_, {}));
  file_.Start([&registry] { return ToText(registry.Credentials()); });
  registry.SetOnChange([this] { file_.NoteChange(); });
}

}  // namespace graphd
