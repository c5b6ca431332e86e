// SPDX-License-Identifier: Apache-2.0
#include "ctl/logs/journal_source.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr int kPauseMilliseconds = 10;
constexpr size_t kPiece = size_t{256} << 10;

// Returns the syslog priorities of a level and of all more important levels.
const char* PrioritiesFrom(const std::string& level) {
  if (level == "error") return "0..3";
  if (level == "warning") return "0..4";
  return level == "info" ? "0..6" : "0..7";
}

std::string SinceText(double seconds) {
  char text[48];
  std::snprintf(text, sizeof text, "--since=@%.6f", seconds);
  return text;
}

}  // namespace

JournalSource::JournalSource(Options options)
    : options_(std::move(options)), begin_(MicrosecondsNow()) {
  std::vector<std::string> more;
  if (options_.since > 0) more.push_back(SinceText(options_.since));
  if (options_.lines >= 0) more.push_back(StrCat("--lines=", options_.lines));
  Start(std::move(more));
}

JournalSource::~JournalSource() {
  if (runs_) EndChild(child_.pid);
}

bool JournalSource::IsThere(const std::string& journalctl) {
  if (journalctl.find('/') != std::string::npos) return ::access(journalctl.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  for (const std::string& directory : Split(path ? path : "/usr/bin:/bin", ':')) {
    if (::access(StrCat(directory, "/", journalctl).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void JournalSource::Start(std::vector<std::string> more) {
  std::vector<std::string> words = {
      options_.journalctl,
      "--output=json",
      "--all",
      "--no-pager",
      "--output-fields=MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,GRAPHD_JOB,GRAPHD_PEER,GRAPHD_OP",
      StrCat("--priority=", PrioritiesFrom(options_.least_level))};
  words.insert(words.end(), more.begin(), more.end());
  // Only journald sets fields that begin with "_", so no other process can forge records of the
  // unit.
  for (std::string match : {StrCat("_SYSTEMD_UNIT=", options_.unit), std::string("+"),
                            StrCat("UNIT=", options_.unit), std::string("_PID=1")}) {
    words.push_back(std::move(match));
  }
  child_ = StartChild(std::move(words));
  child_.in.reset();
  runs_ = true;
}

bool JournalSource::ReadSome(const UniqueFd& from, std::string& into) {
  const size_t before = into.size();
  into.resize(before + kPiece);
  ssize_t got;
  do {
    got = ::read(from.get(), into.data() + before, kPiece);
  } while (got < 0 && errno == EINTR);
  into.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
  return got > 0 || (got < 0 && errno == EAGAIN);
}

void JournalSource::TakeLines(std::vector<LogRecord>& out) {
  size_t begin = 0;
  for (size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (std::exchange(skips_line_, false)) continue;
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    if (auto read = ReadJournalLine(line)) {
      cursor_ = std::move(read->cursor);
      out.push_back(std::move(read->record));
    }
  }
  text_.erase(0, begin);
  if (text_.size() > kMaxLine) {
    if (!skips_line_)
      notices_.emplace_back("a record of the journal is longer than 1 MiB, and left out");
    skips_line_ = true;
    text_.clear();
  }
}

bool JournalSource::Read(std::vector<LogRecord>& out) {
  if (!runs_) return true;
  pollfd ready[2] = {{child_.out.get(), POLLIN, 0}, {child_.err.get(), POLLIN, 0}};
  ::poll(ready, 2, kPauseMilliseconds);
  if (ready[1].revents != 0 && !ReadSome(child_.err, errors_)) child_.err.reset();
  if (errors_.size() > kMaxLine) errors_.clear();
  for (size_t end; (end = errors_.find('\n')) != std::string::npos; errors_.erase(0, end + 1)) {
    if (end > 0) notices_.push_back(StrCat("journalctl: ", errors_.substr(0, end)));
  }
  if (ready[0].revents == 0) return follows_;
  const bool open = ReadSome(child_.out, text_);
  TakeLines(out);
  if (!open) OnEnd();
  return !runs_;
}

void JournalSource::OnEnd() {
  runs_ = false;
  const int status = AwaitChild(child_.pid);
  if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0) {
    notices_.push_back(StrCat("journalctl has ended with ",
                              WIFSIGNALED(status) ? StrCat("signal ", WTERMSIG(status))
                                                  : StrCat("code ", WEXITSTATUS(status)),
                              ": the journal is not shown any further"));
    return;
  }
  if (!options_.follow || follows_) return;
  follows_ = true;
  // If no record was read, every record since this object was made is new.
  const double begin = static_cast<double>(begin_) * 1e-6;
  Start({"--follow", "--no-tail",
         cursor_.empty() ? SinceText(std::max(begin, options_.since))
                         : StrCat("--after-cursor=", cursor_)});
}

std::vector<std::string> JournalSource::TakeNotices() { return std::exchange(notices_, {}); }

}  // namespace graphd::ctl
