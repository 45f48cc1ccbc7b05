// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "coding/chunk_order.h"
#include "coding/decoder.h"
#include "coding/gradient_code.h"
#include "sim/reproduce/table_schemes.h"

namespace motley {
namespace {

constexpr uint32_t kPartitions = 240;
// Of the partial-coded scheme: the last report, its coefficients back, the vector: 0.01 each.
constexpr double kFeedback = 0.03;
constexpr double kNever = std::numeric_limits<double>::infinity();

// Whole answers, until they decode.
double CodedStep(const CodeForm& form, const std::vector<double>& seconds) {
  std::vector<double> finish(form.workers);
  for (uint32_t i = 0; i < form.workers; ++i) {
    finish[i] = seconds[i] * static_cast<double>(form.rows[i].size()) / form.partitions;
  }
  std::vector<uint32_t> order(form.workers);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return finish[a] < finish[b]; });
  std::vector<bool> present(form.workers, false);
  for (const uint32_t worker : order) {
    if (!std::isfinite(finish[worker])) break;
    present[worker] = true;
    // Of interest is when it decodes, not how well conditioned: no guard on the norm.
    if (Solve(form, present, {.tolerance = 1}).ok()) return finish[worker];
  }
  return kNever;
}

// Every partition counts as soon as the first worker has it.
double PartitionwiseStep(const WorkLists& lists, const std::vector<double>& seconds) {
  std::vector<double> first(kPartitions, kNever);
  for (size_t worker = 0; worker < lists.size(); ++worker) {
    for (size_t i = 0; i < lists[worker].size(); ++i) {
      double& time = first[lists[worker][i]];
      time = std::min(time, seconds[worker] * static_cast<double>(i + 1) / kPartitions);
    }
  }
  return *std::max_element(first.begin(), first.end());
}

TableScheme Coded(CodeForm form, std::array<double, 5> published) {
  const uint32_t copies = form.stragglers + 1;
  return {form.name == "none" ? "proportional" : form.name, copies, published,
          [form = std::move(form)](const std::vector<double>& seconds, Random&) {
            return CodedStep(form, seconds);
          }};
}

TableScheme Partitionwise(std::string name, uint32_t copies, const WorkLists& lists, double after,
                          std::array<double, 5> published) {
  return {std::move(name), copies, published,
          [lists, after](const std::vector<double>& seconds, Random&) {
            return PartitionwiseStep(lists, seconds) + after;
          }};
}

// Wang's placement: one cyclic walk over the partitions, in the order of the workers.
// Which of equally covered partitions a worker then takes first is not published: from the end of
// its run comes nearest to the published times; from the front they are 3 to 10 % longer.
WorkLists WalkedBackwards(uint32_t copies) {
  const double total = std::accumulate(TableSpeeds().begin(), TableSpeeds().end(), 0.0);
  WorkLists lists;
  uint32_t next = 0;
  for (const double speed : TableSpeeds()) {
    const auto load = static_cast<uint32_t>(std::lround(copies * kPartitions * speed / total));
    auto& list = lists.emplace_back();
    for (uint32_t i = load; i-- > 0;) list.push_back((next + i) % kPartitions);
    next += load;
  }
  return lists;
}

}  // namespace

Result<std::vector<TableScheme>> StaticSchemes(uint64_t seed) {
  CodeRequest request;
  request.speeds.assign(TableSpeeds().begin(), TableSpeeds().end());
  request.partitions = kPartitions;
  request.seed = seed;
  struct Line {
    const char* name;
    uint32_t tolerate;
    std::array<double, 5> published;
  };
  const std::vector<Line> lines = {
      {"none", 0, {1.05, 2.01, 5.01, 0, 0}},
      {"repetition", 1, {}},
      {"cyclic", 1, {5.91, 5.93, 6.10, 6.14, 0}},
      {"heterogeneous", 1, {2.05, 2.15, 2.15, 2.14, 0}},
      {"rs", 1, {}},
      {"group", 1, {}},
      {"repetition", 2, {}},
      {"cyclic", 2, {}},
      {"heterogeneous", 2, {0, 0, 0, 0, 3.21}},
      {"rs", 2, {}},
      {"group", 2, {}},
  };
  std::vector<TableScheme> schemes;
  for (const Line& line : lines) {
    request.stragglers = line.tolerate;
    MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildCode(line.name, request));
    schemes.push_back(Coded(std::move(form), line.published));
  }
  for (const uint32_t copies : {2U, 3U}) {
    const WorkLists lists = LeastCoveredFirst(WalkedBackwards(copies), request.speeds);
    std::array<double, 5> published{};
    if (copies == 2) published = {1.20, 1.66, 1.77, 1.78, 0};
    schemes.push_back(Partitionwise("multi-message", copies, lists, 0, published));
    schemes.push_back(Partitionwise("partial-coded", copies, lists, kFeedback, {}));
  }
  return schemes;
}

}  // namespace motley
