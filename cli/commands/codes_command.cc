// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/codes_command.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "api/request/parse.h"
#include "base/counted.h"
#include "base/suggest.h"
#include "cli/report/matrix_text.h"
#include "cli/report/table.h"
#include "cli/terminal/exit_code.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

constexpr uint64_t kSetsToCheck = 2000;
constexpr uint32_t kMostWorkers = 4096;
constexpr uint32_t kMostLines = 32;  // Rows of the table; JSON has all.

// The number of partitions that each worker would have if partitions could be divided: a fraction
// of all copies in proportion to its speed, at most k.
std::vector<double> IdealLoads(std::span<const double> speeds, const CodeForm& form) {
  const double k = form.partitions;
  std::vector<double> loads(speeds.size(), 0);
  std::vector<bool> full(speeds.size(), false);
  double left = k * (form.stragglers + std::max(form.parts, form.kept_parts));
  for (bool again = true; again;) {
    again = false;
    double total = 0;
    for (size_t i = 0; i < speeds.size(); ++i) total += full[i] ? 0 : speeds[i];
    const double available = left;
    for (size_t i = 0; i < speeds.size(); ++i) {
      if (full[i]) continue;
      loads[i] = available * speeds[i] / total;
      if (loads[i] <= k) continue;
      loads[i] = k;
      full[i] = again = true;
      left -= k;
    }
  }
  return loads;
}

Result<CodeRequest> MakeRequest(const CodesFlags& flags) {
  CodeRequest request;
  if (!flags.speeds.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(request.speeds, ParseSpeeds("--speeds", flags.speeds));
    if (flags.workers != 0 && flags.workers != request.speeds.size()) {
      return Status::InvalidArgument(
          fmt::format("--workers {} does not fit --speeds, which has {}. Leave --workers out",
                      flags.workers, request.speeds.size()));
    }
  } else if (flags.workers == 0) {
    return Status::InvalidArgument("give the workers: --speeds 2,2,4 or --workers 4");
  } else {
    request.speeds.assign(std::min(flags.workers, kMostWorkers + 1), 1);
  }
  if (request.speeds.size() > kMostWorkers) {
    return Status::InvalidArgument(fmt::format("at most {} workers", kMostWorkers));
  }
  request.stragglers = SchemeNamed(flags.code).keeps_copies ? flags.tolerate : 0;
  if (flags.parts != 0 && !SchemeNamed(flags.code).has_parts) {
    return Status::InvalidArgument(
        fmt::format("--parts {}: the answers of --code {} are as long as gradients. Leave --parts "
                    "out, or use --code short or partial-coded",
                    flags.parts, flags.code));
  }
  if (flags.parts != 0) request.parts = flags.parts;
  const uint32_t copies = SchemeNamed(flags.code).Computed(request.stragglers, request.parts);
  request.partitions =
      flags.partitions != 0 ? flags.partitions : ChoosePartitions(request.speeds, copies - 1);
  request.seed = flags.seed;
  return request;
}

std::string FormText(const CodeForm& form) {
  if (form.tiling()) return "tiling form (no C-form): uses answers that do not overlap";
  return fmt::format("C-form: yes, {} accumulators, {}", form.accumulators,
                     form.field == Field::kReal ? "real" : "complex, packed in pairs");
}

// The number of partitions that each worker computes.
std::vector<size_t> LoadsOf(const CodeForm& form) {
  std::vector<size_t> loads;
  for (const auto& list : RowLists(form)) {
    size_t& load = loads.emplace_back(0);
    for (const RowId row : list) load += form.rows[row].size();
  }
  return loads;
}

// The coefficients of one part.
CodeForm OnePart(const CodeForm& form, uint32_t part) {
  CodeForm one = form;
  for (RowId row = 0; row < form.workers; ++row) {
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      one.rows[row][e].coefficient = form.B(row, e, part);
    }
  }
  return one;
}

std::string CodeText(const CodeForm& form, const CodeRequest& request, const CodeQuality& quality) {
  std::string text = fmt::format(
      "{}: {}, {}, any {} may be missing\n{}\n", form.name, Counted(form.owners(), "worker"),
      Counted(form.partitions, "partition"), form.stragglers, FormText(form));
  if (form.parts > 1) text += fmt::format("answers are 1/{} as long as a gradient\n", form.parts);
  text += fmt::format(
      "conditioning over {}{} straggler sets: amplification up to {:.3g}, residual "
      "up to {:.1e}, variance of rounded answers times up to {:.3g}\n\n",
      quality.exhaustive ? "all " : "", quality.sets_checked, quality.worst_amplification,
      quality.worst_residual, quality.worst_noise);
  const auto ideal = IdealLoads(request.speeds, form);
  const std::vector<size_t> loads = LoadsOf(form);
  Table table({"worker", "speed", "partitions", "ideal"});
  const uint32_t shown = std::min(form.owners(), kMostLines);
  for (uint32_t i = 0; i < shown; ++i) {
    table.Add({fmt::format("{}", i), fmt::format("{:g}", request.speeds[i]),
               fmt::format("{}", loads[i]), fmt::format("{:.2f}", ideal[i])});
  }
  text += table.Format();
  if (shown < form.owners()) {
    text += fmt::format("and {} more; --json lists every one\n", form.owners() - shown);
  }
  if (form.parts == 1) {
    const char* const title = form.lists.empty() ? "B, by partition" : "Messages, in order";
    return text + fmt::format("\n{}:\n", title) + FormatMatrix(form);
  }
  for (uint32_t part = 0; part < form.parts; ++part) {
    text += fmt::format("\nB of part {} of {}, by partition:\n", part + 1, form.parts) +
            FormatMatrix(OnePart(form, part));
  }
  return text;
}

std::string CodeJson(const CodeForm& form, const CodeRequest& request, const CodeQuality& quality) {
  auto rows = nlohmann::ordered_json::array();
  for (RowId row = 0; row < form.workers; ++row) {
    auto entries = nlohmann::ordered_json::array();
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      nlohmann::ordered_json entry = {form.rows[row][e].partition};
      for (uint32_t part = 0; part < form.parts; ++part) {
        entry.push_back(form.B(row, e, part).real());
        entry.push_back(form.B(row, e, part).imag());
      }
      entries.push_back(std::move(entry));
    }
    rows.push_back(entries);
  }
  nlohmann::ordered_json json = {{"code", form.name},
                                 {"workers", form.owners()},
                                 {"partitions", form.partitions},
                                 {"tolerate", form.stragglers},
                                 {"parts", form.parts},
                                 {"field", form.field == Field::kReal ? "real" : "complex"},
                                 {"c_form", !form.tiling()},
                                 {"accumulators", form.accumulators},
                                 {"speeds", request.speeds},
                                 {"loads", LoadsOf(form)},
                                 {"ideal_loads", IdealLoads(request.speeds, form)},
                                 {"worst_amplification", quality.worst_amplification},
                                 {"worst_residual", quality.worst_residual},
                                 {"worst_noise", quality.worst_noise},
                                 {"sets_checked", quality.sets_checked},
                                 {"exhaustive", quality.exhaustive},
                                 {"rows", rows}};
  if (!form.lists.empty()) json["lists"] = form.lists;
  return json.dump() + "\n";
}

// Refuses names of motley train that have no matrix.
Status CheckNotOfJobsAlone(const std::string& code) {
  if (SchemeNamed(code).chosen_later()) {
    return Status::InvalidArgument(
        "--code auto is chosen while a job runs; motley plan says what it would be on a cluster");
  }
  if (SchemeNamed(code).leases()) {
    return Status::InvalidArgument(
        "--code adaptive encodes nothing, so there is no matrix; motley simulate shows what it "
        "does");
  }
  return Status::Ok();
}

Result<int> Run(const CodesFlags& flags) {
  std::vector<std::string> names;
  for (const Scheme& code : CodedSchemes()) names.emplace_back(code.name);
  MOTLEY_RETURN_IF_ERROR(CheckNotOfJobsAlone(flags.code));
  MOTLEY_RETURN_IF_ERROR(CheckChoice("--code", flags.code, names));
  MOTLEY_ASSIGN_OR_RETURN(const CodeRequest request, MakeRequest(flags));
  MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, BuildCode(flags.code, request));
  const CodeQuality quality = AssessCode(form, kSetsToCheck, flags.seed);
  return PrintResult(flags.json ? CodeJson(form, request, quality)
                                : CodeText(form, request, quality));
}

}  // namespace

uint32_t ChoosePartitions(std::span<const double> speeds, uint32_t tolerate) {
  constexpr uint32_t kMost = 64;
  const auto n = static_cast<uint32_t>(speeds.size());
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  for (uint32_t k = n; k <= kMost; ++k) {
    const bool whole = std::all_of(speeds.begin(), speeds.end(), [&](double speed) {
      const double share = k * (tolerate + 1) * speed / total;
      return std::abs(share - std::round(share)) < 1e-9 * k;
    });
    if (whole) return k;
  }
  return 4 * n;
}

int RunCodes(const CodesFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
