// SPDX-License-Identifier: Apache-2.0
// motley-bench: measures against baselines of the same run.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "benchmarks/bench.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

constexpr const char* kRow = "{:<24}{:<34}{:>10} {:<12}{:>8} x {}\n";

struct Flags {
  std::vector<std::string> names;  // Parts of names; empty: all.
  bool list = false;
  bool json = false;
  BenchOptions options;
};

bool Wanted(const Flags& flags, const std::string& name) {
  if (flags.names.empty()) return true;
  for (const std::string& part : flags.names) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

void AddJson(const Bench& bench, const BenchLine& line, nlohmann::ordered_json& list) {
  list.push_back({{"bench", bench.name},
                  {"what", line.what},
                  {"value", line.value},
                  {"unit", line.unit},
                  {"baseline", line.baseline},
                  {"baseline_value", line.baseline_value},
                  {"ratio", line.ratio()}});
}

int RunBenches(const Flags& flags) {
  std::string table = fmt::format(kRow, "bench", "what", "value", "unit", "ratio", "to");
  auto list = nlohmann::ordered_json::array();
  int ran = 0;
  for (const Bench& bench : Benches()) {
    if (!Wanted(flags, bench.name)) continue;
    ++ran;
    const auto lines = bench.run(flags.options);
    if (!lines.ok()) {
      fmt::print(stderr, "motley-bench: {}: {}\n", bench.name, lines.status().ToString());
      return 1;
    }
    for (const BenchLine& line : *lines) {
      AddJson(bench, line, list);
      table += fmt::format(kRow, bench.name, line.what, fmt::format("{:.4g}", line.value),
                           line.unit, fmt::format("{:.3g}", line.ratio()),
                           fmt::format("{} ({:.4g})", line.baseline, line.baseline_value));
    }
  }
  if (ran == 0) {
    fmt::print(stderr, "motley-bench: no benchmark of that name. See motley-bench --list.\n");
    return 3;
  }
  fmt::print("{}", flags.json ? list.dump(2) + "\n" : table);
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Measures against baselines of the same run.", "motley-bench");
  app.add_option("NAME", flags.names, "Run only benchmarks whose names contain one of these");
  app.add_flag("--list", flags.list, "List the benchmarks");
  app.add_flag("--full", flags.options.full, "Realistic sizes; takes a minute");
  app.add_option("--threads", flags.options.threads, "Threads of decoders and kernels")
      ->check(CLI::Range(1U, 256U))
      ->capture_default_str();
  app.add_flag("--json", flags.json, "Print one JSON array");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!flags.list) return RunBenches(flags);
  for (const Bench& bench : Benches()) fmt::print("{:<24}{}\n", bench.name, bench.summary);
  return 0;
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // A peer that went away is an error value.
  return motley::Main(argc, argv);
}
