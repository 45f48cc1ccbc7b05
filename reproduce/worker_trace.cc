// SPDX-License-Identifier: Apache-2.0
#include "reproduce/worker_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "data/files/byte_stream.h"
#include "data/files/text_scan.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr double kMostIndex = 1 << 20;

struct Line {
  double load = 0;
  uint32_t round = 0;
  uint32_t worker = 0;
  double seconds = 0;
};

Result<Line> ParseLine(std::string_view text) {
  std::array<double, 4> values{};
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == values.size())) {
      return Status::DataError("a line has four values: load, round, worker, seconds");
    }
    MOTLEY_ASSIGN_OR_RETURN(values[i], ParseNumber(Trim(text.substr(0, comma))));
    if (!(values[i] >= 0)) return Status::DataError("values must be at least 0");
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  const auto index = [](double value) { return value == std::floor(value) && value < kMostIndex; };
  if (!index(values[1]) || !index(values[2])) {
    return Status::DataError("rounds and workers must be whole numbers below a million");
  }
  return Line{values[0], static_cast<uint32_t>(values[1]), static_cast<uint32_t>(values[2]),
              values[3]};
}

Result<std::vector<Line>> ReadLines(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, OpenFileStream(path));
  StreamReader reader(std::move(stream));
  LineReader text(reader, path);
  std::vector<Line> lines;
  std::string_view line;
  bool named = false;  // The column names were read.
  for (;;) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, text.Next(line));
    if (!more) return lines;
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (!std::exchange(named, true)) {
      if (line == kWorkerTraceColumns) continue;
      return Status::DataError(fmt::format("{}:{}: the first line must name the columns: {}", path,
                                           text.number(), kWorkerTraceColumns));
    }
    const Result<Line> parsed = ParseLine(line);
    if (!parsed.ok()) return parsed.status().WithContext(fmt::format("{}:{}", path, text.number()));
    lines.push_back(*parsed);
  }
}

}  // namespace

double WorkerTrace::SecondsPerLoad() const {
  const double cells = static_cast<double>(rounds) * workers;
  double mean_load = 0;
  for (const double load : loads) mean_load += load / static_cast<double>(loads.size());
  double products = 0;
  double squares = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    double mean = 0;
    for (size_t cell = 0; cell < rounds * size_t{workers}; ++cell) {
      mean += seconds[i * rounds * workers + cell] / cells;
    }
    products += (loads[i] - mean_load) * mean;
    squares += (loads[i] - mean_load) * (loads[i] - mean_load);
  }
  return squares > 0 ? products / squares : 0;
}

double WorkerTrace::At(double load, uint32_t round, uint32_t worker) const {
  double least = Seconds(0, round, worker);
  for (size_t i = 1; i < loads.size() && load > loads[i - 1]; ++i) {
    const double until = std::max(least, Seconds(i, round, worker));
    const double part = (load - loads[i - 1]) / (loads[i] - loads[i - 1]);
    if (part <= 1 || i + 1 == loads.size()) return least + part * (until - least);
    least = until;
  }
  return least;
}

std::vector<double> WorkerTrace::Round(uint32_t round, double load) const {
  const double more = (load - loads.front()) * SecondsPerLoad();
  std::vector<double> times(workers);
  for (uint32_t worker = 0; worker < workers; ++worker) {
    times[worker] = Seconds(0, round, worker) + more;
  }
  return times;
}

Result<WorkerTrace> ReadWorkerTrace(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(path));
  WorkerTrace trace;
  for (const Line& line : lines) {
    trace.loads.push_back(line.load);
    trace.rounds = std::max(trace.rounds, line.round + 1);
    trace.workers = std::max(trace.workers, line.worker + 1);
  }
  std::sort(trace.loads.begin(), trace.loads.end());
  trace.loads.erase(std::unique(trace.loads.begin(), trace.loads.end()), trace.loads.end());
  const double cells = static_cast<double>(trace.loads.size()) * trace.rounds * trace.workers;
  if (lines.empty() || cells != static_cast<double>(lines.size())) {
    return Status::DataError(fmt::format(
        "{}: {} lines, but there must be one for each of {} loads, {} rounds and {} workers", path,
        lines.size(), trace.loads.size(), trace.rounds, trace.workers));
  }
  trace.seconds.assign(lines.size(), -1);
  for (const Line& line : lines) {
    const auto load = static_cast<size_t>(
        std::lower_bound(trace.loads.begin(), trace.loads.end(), line.load) - trace.loads.begin());
    double& cell = trace.seconds[(load * trace.rounds + line.round) * trace.workers + line.worker];
    if (cell >= 0) {
      return Status::DataError(fmt::format("{}: load {}, round {}, worker {} is there twice", path,
                                           line.load, line.round, line.worker));
    }
    cell = line.seconds;
  }
  return trace;
}

Result<WorkerTrace> ReadLambdaTrace(const std::string& data_folder) {
  if (data_folder.empty()) {
    return Status::NotFound(
        "the recorded trace traces/lambda256.csv.gz was not found: give the folder that has it "
        "with "
        "--data DIR");
  }
  return ReadWorkerTrace(data_folder + "/traces/lambda256.csv.gz");
}

}  // namespace motley
