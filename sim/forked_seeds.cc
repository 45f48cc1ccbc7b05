// SPDX-License-Identifier: Apache-2.0
#include "sim/forked_seeds.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace motley {
namespace {

// A child process writes lines for each seed: "V text" per violation, "R times state" per state
// reached, "D digest", "T tasks", "M virtual milliseconds", and "E" at the end.
class Child {
 public:
  // The seeds from the `number`-th of the range on, `range.jobs` apart.
  Child(const SeedRange& range, uint64_t number)
      : next_(range.first + number),
        end_(range.first + range.count),
        stride_(range.jobs),
        sync_(range.sync) {}

  bool finished() const { return next_ >= end_; }
  int fd() const { return fd_; }

  Status Fork(const std::vector<Child>& siblings) {
    int ends[2];
    if (pipe(ends) != 0) return Failure("pipe");
    pid_ = fork();
    if (pid_ < 0) {
      close(ends[0]);
      close(ends[1]);
      return Failure("fork");
    }
    if (pid_ == 0) {
      close(ends[0]);
      for (const Child& sibling : siblings) {
        if (sibling.fd_ >= 0) close(sibling.fd_);
      }
      Work(ends[1]);
    }
    close(ends[1]);
    fd_ = ends[0];
    return Status::Ok();
  }

  // Reads what the child has written; false when the child has ended.
  bool Read(const std::function<void(const SeedReport&)>& report) {
    char buffer[4096];
    const ssize_t got = read(fd_, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    text_.append(buffer, static_cast<size_t>(got));
    size_t line_end;
    while ((line_end = text_.find('\n')) != std::string::npos) {
      Take(std::string_view(text_).substr(0, line_end), report);
      text_.erase(0, line_end + 1);
    }
    return true;
  }

  // Waits for the dead child. Reports its seed as failed unless it had finished all.
  void Reap(const std::function<void(const SeedReport&)>& report) {
    close(fd_);
    fd_ = -1;
    text_.clear();
    int status = 0;
    waitpid(pid_, &status, 0);
    if (finished()) return;
    const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                : fmt::format("exit {}", WEXITSTATUS(status));
    report_.seed = next_;
    report_.violations.push_back(fmt::format("the process died: {}", how));
    report(report_);
    report_ = SeedReport();
    next_ += stride_;
  }

 private:
  static Status Failure(const char* what) {
    return Status::Resource(fmt::format("{}: {}", what, std::strerror(errno)));
  }

  [[noreturn]] void Work(int fd) const {
    for (uint64_t seed = next_; seed < end_; seed += stride_) {
      const SeedReport report = RunSeed(seed, sync_);
      std::string text;
      for (std::string what : report.violations) {
        for (char& c : what) c = c == '\n' ? ' ' : c;
        text += fmt::format("V {}\n", what);
      }
      for (const auto& [state, times] : report.reached) {
        text += fmt::format("R {} {}\n", times, state);
      }
      text += fmt::format("D {}\nT {}\nM {}\nE\n", report.digest, report.tasks_run,
                          static_cast<uint64_t>(report.virtual_seconds * 1e3));
      for (size_t sent = 0; sent < text.size();) {
        const ssize_t wrote = write(fd, text.data() + sent, text.size() - sent);
        if (wrote <= 0 && errno != EINTR) _exit(1);
        if (wrote > 0) sent += static_cast<size_t>(wrote);
      }
    }
    _exit(0);
  }

  void Take(std::string_view line, const std::function<void(const SeedReport&)>& report) {
    const char kind = line.empty() ? '?' : line[0];
    const std::string_view rest = line.size() > 2 ? line.substr(2) : std::string_view();
    uint64_t number = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (kind == 'V') report_.violations.emplace_back(rest);
    if (kind == 'R') report_.reached[std::string(stop + 1, rest.data() + rest.size())] = number;
    if (kind == 'D') report_.digest = number;
    if (kind == 'T') report_.tasks_run = number;
    if (kind == 'M') report_.virtual_seconds = static_cast<double>(number) / 1e3;
    if (kind != 'E') return;
    report_.seed = next_;
    report(report_);
    report_ = SeedReport();
    next_ += stride_;
  }

  uint64_t next_;  // The seed that is running, or the first.
  uint64_t end_;
  uint64_t stride_;
  const SyncForm* sync_;
  pid_t pid_ = 0;
  int fd_ = -1;
  std::string text_;   // The start of a line that has not been read to its end.
  SeedReport report_;  // The report on next_, as far as it was read.
};

}  // namespace

Status RunSeeds(const SeedRange& range, const std::function<void(const SeedReport&)>& report) {
  std::vector<Child> children;
  for (uint64_t j = 0; j < range.jobs && j < range.count; ++j) {
    children.emplace_back(range, j);
  }
  for (Child& child : children) MOTLEY_RETURN_IF_ERROR(child.Fork(children));
  while (true) {
    std::vector<pollfd> waiting;
    for (const Child& child : children) {
      if (child.fd() >= 0) waiting.push_back({child.fd(), POLLIN, 0});
    }
    if (waiting.empty()) return Status::Ok();
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;  // A signal interrupted it.
    for (const pollfd& ready : waiting) {
      if (ready.revents == 0) continue;
      for (Child& child : children) {
        if (child.fd() != ready.fd || child.Read(report)) continue;
        child.Reap(report);
        if (!child.finished()) MOTLEY_RETURN_IF_ERROR(child.Fork(children));
        break;
      }
    }
  }
}

}  // namespace motley
