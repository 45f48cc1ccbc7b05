// SPDX-License-Identifier: Apache-2.0
// motley-sim: runs seeds of the simulator, each twice, and reports broken invariants.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>

#include "sim/draw_sync.h"
#include "sim/forked_seeds.h"
#include "sim/reached_states.h"
#include "sim/scenario.h"

namespace motley {
namespace {

constexpr const char* kUsage =
    "usage: motley-sim [--seeds N] [--first S] [--seed S] [--jobs J] [--sync MODE] [--list]\n"
    "  --seeds N   run N seeds, each twice (default 500)\n"
    "  --first S   starting at seed S (default 1)\n"
    "  --seed S    run this seed alone, and describe its scenario\n"
    "  --jobs J    processes at once (default 1)\n"
    "  --sync MODE give every job this mode of synchronisation: asp, ssp, local, ...\n"
    "  --list      describe the scenarios without running them\n";

constexpr uint64_t kMostJobs = 256;
// This many seeds must reach every interesting state. Fewer may miss one, and so may one mode.
constexpr uint64_t kEnoughSeeds = 500;
constexpr uint64_t kEnoughForRare = 10000;  // The same for states that few scenarios can reach.

struct Flags {
  SeedRange range{1, 500, 1};
  bool single = false;
  bool list = false;
};

std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string ModeNames() {
  std::string names;
  for (const SyncForm& form : SyncForms()) {
    if (names.ends_with(NameOf(form))) continue;  // Two forms have one name.
    names += fmt::format("{}{}", names.empty() ? "" : ", ", NameOf(form));
  }
  return names;
}

// Returns what is wrong with the command line, or an empty string.
std::string ParseFlags(int argc, char** argv, Flags& flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--list") {
      flags.list = true;
      continue;
    }
    if (name == "--sync") {
      const std::string_view mode = i + 1 < argc ? argv[++i] : "";
      flags.range.sync = FindSyncForm(mode);
      if (flags.range.sync == nullptr) return fmt::format("--sync takes one of {}", ModeNames());
      continue;
    }
    const bool known =
        name == "--seeds" || name == "--first" || name == "--seed" || name == "--jobs";
    if (!known) return fmt::format("unknown flag '{}'", name);
    const auto value = i + 1 < argc ? ParseNumber(argv[i + 1]) : std::nullopt;
    if (!value) return fmt::format("{} needs a number", name);
    ++i;
    if (name == "--seeds") flags.range.count = *value;
    if (name == "--first" || name == "--seed") flags.range.first = *value;
    if (name == "--seed") flags.single = true;
    if (name == "--jobs" && (*value < 1 || *value > kMostJobs)) {
      return fmt::format("--jobs takes 1 to {}", kMostJobs);
    }
    if (name == "--jobs") flags.range.jobs = static_cast<uint32_t>(*value);
  }
  if (flags.single) flags.range.count = 1;
  if (flags.range.count == 0) return "--seeds needs at least 1";
  if (flags.range.first + flags.range.count < flags.range.first) return "--first is too large";
  return "";
}

// What repeats a seed.
std::string Command(uint64_t seed, const SyncForm* sync) {
  const std::string mode = sync != nullptr ? fmt::format(" --sync {}", NameOf(*sync)) : "";
  return fmt::format("motley-sim --seed {}{}", seed, mode);
}

void PrintFailure(const SeedReport& report, const SyncForm* sync) {
  fmt::print("seed {} failed: {}\n", report.seed,
             DescribeScenario(MakeScenario(report.seed, sync)));
  for (const std::string& violation : report.violations) fmt::print("  {}\n", violation);
  fmt::print("  to repeat: {}\n", Command(report.seed, sync));
}

// Prints progress: one line that changes in a terminal, one line per tenth of the seeds otherwise.
class Progress {
 public:
  explicit Progress(uint64_t count) : count_(count), terminal_(isatty(STDOUT_FILENO) != 0) {}

  void Step(uint64_t done, size_t failed) {
    const uint64_t tenth = done * 10 / count_;
    if (count_ < 10 || (!terminal_ && tenth == tenth_)) return;
    tenth_ = tenth;
    fmt::print("{}{} of {} seeds, {} failed{}", terminal_ ? "\r" : "", done, count_, failed,
               terminal_ && done < count_ ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  uint64_t count_;
  bool terminal_;
  uint64_t tenth_ = 0;
};

// Sums over a campaign.
struct Totals {
  uint64_t done = 0;
  std::vector<uint64_t> failed;
  std::map<std::string, uint64_t> reached;
  uint64_t tasks = 0;
  double virtual_seconds = 0;
};

// Returns the states that should have been reached and were not.
std::vector<std::string> Unreached(const Totals& totals) {
  std::vector<std::string> missing, wanted = ReachedStates::All();
  const std::vector<std::string>& rare = ReachedStates::Rare();
  if (totals.done >= kEnoughForRare) wanted.insert(wanted.end(), rare.begin(), rare.end());
  for (const std::string& state : wanted) {
    const auto found = totals.reached.find(state);
    if (found == totals.reached.end() || found->second == 0) missing.push_back(state);
  }
  return missing;
}

int Summarize(const Totals& totals, const SyncForm* sync, double wall_seconds) {
  for (const auto& [state, times] : totals.reached) fmt::print("{:>9}  {}\n", times, state);
  fmt::print("{} seeds twice: {} failed; {:.0f} simulated seconds and {} tasks in {:.1f} s\n",
             totals.done, totals.failed.size(), 2 * totals.virtual_seconds, 2 * totals.tasks,
             wall_seconds);
  for (const uint64_t seed : totals.failed) fmt::print("{}\n", Command(seed, sync));
  int code = totals.failed.empty() ? 0 : 1;
  if (totals.done < kEnoughSeeds || sync != nullptr) return code;
  for (const std::string& state : Unreached(totals)) {
    fmt::print("no seed reached: {}\n", state);
    code = 1;
  }
  return code;
}

int Main(int argc, char** argv) {
  Flags flags;
  if (const std::string wrong = ParseFlags(argc, argv, flags); !wrong.empty()) {
    fmt::print(stderr, "motley-sim: {}\n{}", wrong, kUsage);
    return 2;
  }
  if (flags.list || flags.single) {
    for (uint64_t i = 0; i < flags.range.count; ++i) {
      const uint64_t seed = flags.range.first + i;
      fmt::print("seed {}: {}\n", seed, DescribeScenario(MakeScenario(seed, flags.range.sync)));
    }
    if (flags.list) return 0;
  }
  std::fflush(stdout);  // Otherwise forked processes would print the same text again.
  const auto start = std::chrono::steady_clock::now();
  Totals totals;
  Progress progress(flags.range.count);
  const Status status = RunSeeds(flags.range, [&](const SeedReport& report) {
    ++totals.done;
    totals.tasks += report.tasks_run;
    totals.virtual_seconds += report.virtual_seconds;
    for (const auto& [state, times] : report.reached) totals.reached[state] += times;
    if (!report.violations.empty()) {
      totals.failed.push_back(report.seed);
      PrintFailure(report, flags.range.sync);
    }
    progress.Step(totals.done, totals.failed.size());
  });
  if (!status.ok()) {
    fmt::print(stderr, "motley-sim: {}\n", status.ToString());
    return 3;
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  return Summarize(totals, flags.range.sync, wall.count());
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) { return motley::Main(argc, argv); }
