// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/reproduce_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/counted.h"
#include "base/parallel.h"
#include "base/suggest.h"
#include "cli/report/table.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

double RealSeconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

bool HasTrace(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "traces" / "lambda256.csv.gz", error);
}

// The folder `shared/data` beside the checkout that the program was built in, or beside the current
// folder; empty: neither exists.
std::string FindSharedData() {
  std::error_code error;
  std::vector<fs::path> starts = {fs::current_path(error)};
  starts.push_back(fs::read_symlink("/proc/self/exe", error).parent_path());
  for (const fs::path& start : starts) {
    for (fs::path at = start; !at.empty(); at = at.parent_path()) {
      if (HasTrace(at / "shared" / "data")) return (at / "shared" / "data").string();
      if (at == at.parent_path()) break;
    }
  }
  return "";
}

std::string Figure(double value) { return fmt::format("{:.4g}", value); }

// The tolerance of a row: "2 %" of its reference, or a bound of our own.
std::string ToleranceText(const ReproducedRow& row) {
  if (!row.tolerance) return "";
  if (!row.reference) return "bound " + Figure(*row.tolerance);
  return *row.tolerance < 1e-6 ? "exact" : fmt::format("{:.3g} %", *row.tolerance * 100);
}

// The row's reference value if its being published equals `published`.
std::optional<double> ReferenceValue(const ReproducedRow& row, bool published) {
  if (!row.reference || IsPublished(row.reference->kind) != published) return std::nullopt;
  return row.reference->value;
}

// "2.5", or "2 to 3" for a range; "" if the kind of the reference is another one.
std::string ReferenceText(const ReproducedRow& row, bool published) {
  const auto value = ReferenceValue(row, published);
  if (!value) return "";
  return Figure(*value) + (row.reference->up_to ? " to " + Figure(*row.reference->up_to) : "");
}

// "pass" and "FAIL" for figures with a bound, and "differs" outside of a range that is stated
// without its settings.
const char* Verdict(const ReproducedRow& row) {
  if (!row.pass) return "FAIL";
  if (row.tolerance) return "pass";
  return row.reference ? "differs" : "";
}

// Lists each reference once, in the order of the rows.
std::string ReferenceList(const std::vector<ReproducedRow>& rows) {
  std::vector<std::string> lines;
  for (const ReproducedRow& row : rows) {
    if (!row.reference) continue;
    std::string line =
        fmt::format("{}: {}\n", KindName(row.reference->kind), row.reference->source);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text.empty() ? "" : "\n" + text;
}

void Say(const ReproduceFlags& flags, const std::string& text) {
  if (flags.quiet) return;
  const std::string lines = WrapText(text, TerminalColumns(STDERR_FILENO)) + "\n";
  (void)std::fputs(lines.c_str(), stderr);
}

struct Everything {
  std::vector<ReproducedRow> rows;
  std::string text;
  uint32_t skipped = 0;
  Status lacking;  // The reason for the last skipped one.
};

Status RunOne(const ReproduceFlags& flags, const ReproduceContext& context,
              const Experiment& experiment, Everything& all) {
  const double start = RealSeconds();
  Say(flags, fmt::format("{}: {} ...", experiment.name, experiment.shows));
  const Result<ExperimentResult> result = experiment.run(context);
  // Missing data are a failure only if --data names them, or if no other experiment is left.
  if (result.code() == StatusCode::kNotFound && experiment.needs_data && flags.data.empty()) {
    Say(flags, fmt::format("{}: skipped: {}", experiment.name, result.status().ToString()));
    all.skipped += 1;
    all.lacking = result.status();
    return Status::Ok();
  }
  if (!result.ok()) return result.status().WithContext(experiment.name);
  const auto failed = std::count_if(result->rows.begin(), result->rows.end(),
                                    [](const ReproducedRow& row) { return !row.pass; });
  Say(flags, fmt::format("{}: {} of {} figures pass, {:.1f} s", experiment.name,
                         static_cast<ptrdiff_t>(result->rows.size()) - failed, result->rows.size(),
                         RealSeconds() - start));
  all.rows.insert(all.rows.end(), result->rows.begin(), result->rows.end());
  all.text += (all.text.empty() ? "" : "\n") +
              ReproduceTable(experiment, *result, TerminalColumns(STDOUT_FILENO));
  return Status::Ok();
}

Result<int> Run(const ReproduceFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const auto experiments, SelectExperiments(flags.names));
  const uint32_t threads =
      flags.threads > 0 ? flags.threads : std::max(1U, std::thread::hardware_concurrency());
  const std::unique_ptr<ParallelFor> parallel = MakeThreadParallelFor(threads);
  ReproduceContext context;
  context.seed = flags.seed;
  context.parallel = parallel.get();
  context.data = flags.data.empty() ? FindSharedData() : flags.data;
  context.clock = RealSeconds;
  Everything all;
  for (const Experiment* experiment : experiments) {
    MOTLEY_RETURN_IF_ERROR(RunOne(flags, context, *experiment, all));
  }
  if (all.rows.empty()) MOTLEY_RETURN_IF_ERROR(all.lacking);
  std::string failures;
  for (const ReproducedRow& row : all.rows) {
    if (row.pass) continue;
    failures += fmt::format("{}{} {}, {}", failures.empty() ? "" : "; ", row.experiment, row.scheme,
                            row.setting);
  }
  const std::string skipped =
      all.skipped == 0 ? "" : ", " + Counted(all.skipped, "experiment") + " skipped";
  const std::string summary = fmt::format("\n{} figures, {}{}\n", all.rows.size(),
                                          failures.empty() ? "all pass" : "some do not", skipped);
  const int printed = PrintResult(flags.json ? ReproduceJson(all.rows) : all.text + summary);
  if (printed != kExitOk) return printed;
  if (failures.empty()) return static_cast<int>(kExitOk);
  Warn("outside of their tolerance: " + failures);
  return static_cast<int>(kExitFailure);
}

}  // namespace

Result<std::vector<const Experiment*>> SelectExperiments(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  std::string list;
  for (const Experiment& experiment : Experiments()) {
    known.emplace_back(experiment.name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", experiment.name);
  }
  std::vector<bool> wanted(known.size(), names.empty());
  for (const std::string& name : names) {
    const Experiment* found = FindExperiment(name);
    if (found == nullptr) {
      const std::string close = Suggest(name, known);
      return Status::InvalidArgument(
          fmt::format("there is no experiment '{}'{}; there are: {}", name,
                      close.empty() ? "" : fmt::format("; did you mean {}?", close), list));
    }
    wanted[static_cast<size_t>(found - Experiments().data())] = true;
  }
  std::vector<const Experiment*> selected;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) selected.push_back(&Experiments()[i]);
  }
  return selected;
}

std::string ReproduceTable(const Experiment& experiment, const ExperimentResult& result,
                           size_t columns) {
  constexpr size_t kWide = 120;  // Narrower terminals get the settings beside their schemes.
  const bool narrow = columns > 0 && columns < kWide;
  std::string text =
      fmt::format("{}: {}\n{}\n\n", experiment.name, experiment.shows, experiment.source);
  size_t width = 0;
  for (const ReproducedRow& row : result.rows) width = std::max(width, row.scheme.size());
  Table table({"scheme, setting", "published", "reference", "measured", "differs", "tolerance", "",
               "kind"});
  for (const ReproducedRow& row : result.rows) {
    const bool compared = row.reference && row.reference->value != 0;
    const double differs =
        compared ? row.measured / NearestIn(*row.reference, row.measured) - 1 : 0;
    table.Add({narrow ? fmt::format("{}, {}", row.scheme, row.setting)
                      : fmt::format("{:<{}}  {}", row.scheme, width, row.setting),
               ReferenceText(row, true), ReferenceText(row, false), Figure(row.measured),
               compared ? fmt::format("{:+.1f} %", differs * 100) : "", ToleranceText(row),
               Verdict(row), row.reference ? KindName(row.reference->kind) : ""});
  }
  table.Fit(columns, {"kind", "tolerance", "differs", "reference", "published"});
  text += table.Format() + ReferenceList(result.rows);
  if (!result.notes.empty()) text += "\n";
  for (const std::string& note : result.notes) text += fmt::format("- {}\n", note);
  return text;
}

std::string ReproduceJson(const std::vector<ReproducedRow>& rows) {
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  Json array = Json::array();
  for (const ReproducedRow& row : rows) {
    array.push_back(
        {{"experiment", row.experiment},
         {"scheme", row.scheme},
         {"setting", row.setting},
         {"published", number(ReferenceValue(row, true))},
         {"published_up_to", row.reference ? number(row.reference->up_to) : Json()},
         {"reference_value", number(ReferenceValue(row, false))},
         {"reference_kind", row.reference ? Json(KindName(row.reference->kind)) : Json()},
         {"reference", row.reference ? Json(row.reference->source) : Json()},
         {"measured", row.measured},
         {"tolerance", number(row.tolerance)},
         {"pass", row.pass}});
  }
  return array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int RunReproduce(const ReproduceFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
