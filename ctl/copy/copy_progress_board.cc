// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/copy_progress_board.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr double kPrintSeconds = 10;  // seconds between messages if there is no terminal

winsize ScreenSize() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  if (!known || size.ws_row < 4 || size.ws_col < 20) size = {24, 80, 0, 0};
  return size;
}

std::string Rate(uint64_t bytes, double seconds) {
  if (seconds < 0.5) return "";  // too early for a meaningful rate
  char text[32];
  std::snprintf(text, sizeof text, ", %.0f MB/s", static_cast<double>(bytes) / seconds / 1e6);
  return text;
}

int Percent(uint64_t done, uint64_t total) {
  return total == 0
             ? 100
             : static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace

std::string Summary(const HostProgress& progress) {
  const double seconds = progress.seconds;
  const uint64_t sent = progress.bytes_sent;
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds);
  std::string text = StrCat("sent ", progress.files_missing, " files, ", HumanBytes(sent), " in ",
                            time, Rate(sent, seconds));
  if (progress.bytes_resumed > 0) {
    text += StrCat("; ", HumanBytes(progress.bytes_resumed), " were left from an earlier copy");
  }
  return text + StrCat("; ", progress.files_same, " files were there already");
}

CopyProgressBoard::CopyProgressBoard(const CopyPlan& plan)
    : plan_(plan), terminal_(::isatty(STDERR_FILENO) == 1), rows_(plan.hosts.size()) {}

void CopyProgressBoard::AddNoise(const std::string& host, const std::string& line) {
  const MutexLock lock(mutex_);
  if (noise_.size() < (size_t{1} << 20)) noise_ += "[" + host + "] " + line + "\n";
}

void CopyProgressBoard::AddMessage(const std::string& host, const std::string& text) {
  final_ += "graphctl: " + host + ": " + text + "\n";
}

void CopyProgressBoard::Show(size_t host, const HostProgress& progress) {
  Row& row = rows_[host];
  const std::string& name = plan_.hosts[host].name;
  const Step step = progress.step;
  const bool fresh = step != row.step;
  row.step = step;
  if (fresh && step == Step::kSending) row.sending_since = Clock::now();
  row.status = StatusLine(host, row, progress);
  if (fresh && step == Step::kDone) AddMessage(name, Summary(progress));
  if (terminal_ || row.status.empty()) return;
  if ((fresh && step == Step::kSending) || SecondsSince(row.printed_at) > kPrintSeconds) {
    row.printed_at = Clock::now();
    if (step != Step::kConnecting) AddMessage(name, row.status);
  }
}

// Returns an empty text for a step without a status line.
std::string CopyProgressBoard::StatusLine(size_t host, const Row& row,
                                          const HostProgress& progress) const {
  const uint64_t sent = progress.bytes_sent;
  const uint64_t total = progress.bytes_missing - progress.bytes_resumed;
  switch (row.step) {
    case Step::kConnecting:
      return "connecting";
    case Step::kChecking:
      return StrCat("checking existing files, ", HumanBytes(progress.checked), " of ",
                    HumanBytes(plan_.hosts[host].bytes));
    case Step::kWaiting:
      return StrCat("waiting for its turn to receive ", HumanBytes(total));
    case Step::kSending:
      return StrCat("sending ", progress.files_missing, " files, ", Percent(sent, total), " % of ",
                    HumanBytes(total), Rate(sent, SecondsSince(row.sending_since)));
    case Step::kFinishing:
      return "writing to disk";
    default:
      return "";
  }
}

void CopyProgressBoard::Draw() {
  std::string text;
  if (drawn_ > 0) text += StrCat("\x1b[", drawn_, "A\r\x1b[J");
  {
    const MutexLock lock(mutex_);
    text += std::exchange(noise_, {});
  }
  text += std::exchange(final_, {});
  drawn_ = 0;
  if (terminal_) {
    const winsize screen = ScreenSize();
    const size_t room = screen.ws_row - 2u;
    size_t hidden = 0;
    for (size_t host = 0; host < rows_.size(); host++) {
      if (rows_[host].status.empty()) continue;
      if (drawn_ == room) {
        hidden++;
        continue;
      }
      // The line is cut, because a longer one would take two rows of the terminal, and the next
      // Draw would move the cursor up by too few rows.
      text += (plan_.hosts[host].name + ": " + rows_[host].status).substr(0, screen.ws_col - 1u);
      text += '\n';
      drawn_++;
    }
    if (hidden > 0) text += StrCat("and ", hidden, " more\n");
    drawn_ += hidden > 0 ? 1 : 0;
  }
  if (!text.empty()) std::fputs(text.c_str(), stderr);
}

}  // namespace graphd::ctl
