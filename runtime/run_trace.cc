// SPDX-License-Identifier: Apache-2.0
#include "runtime/run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "data/files/byte_stream.h"
#include "data/files/text_scan.h"

namespace motley {
namespace {

constexpr size_t kColumns = 6;
constexpr double kMostStep = 0x1p40;
constexpr double kMostWorkers = 4096;
constexpr double kMostCount = 0x1p50;     // Samples or bytes.
constexpr double kMostSeconds = 1e7;      // Seconds in one part of a step: four months.
constexpr uint64_t kMostCells = 1 << 24;  // Steps times workers: 256 MiB.

Status CheckCount(const char* what, double value, double most) {
  if (value >= 0 && value < most && value == std::floor(value)) return Status::Ok();
  return Status::DataError(
      fmt::format("{} {} is no whole number from 0 to {:.0f}", what, value, most - 1));
}

Status CheckSeconds(const char* what, double value) {
  if (value > 0 && value < kMostSeconds) return Status::Ok();
  return Status::DataError(
      fmt::format("{} {} is no time above 0 and below {:.0f}", what, value, kMostSeconds));
}

Result<std::array<std::string_view, kColumns>> Split(std::string_view text) {
  std::array<std::string_view, kColumns> fields;
  for (size_t i = 0; i < kColumns; ++i) {
    const size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == kColumns)) {
      return Status::DataError(fmt::format("a line has {} values: {}", kColumns, kRunTraceColumns));
    }
    fields[i] = Trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return fields;
}

// Collects all lines as they come.
class Builder {
 public:
  Status Add(const RunTraceLine& line) {
    if (lines_.empty()) first_ = last_ = line.step;
    first_ = std::min(first_, line.step);
    last_ = std::max(last_, line.step);
    workers_ = std::max(workers_, line.worker + 1);
    if ((last_ - first_ + 1) > kMostCells / workers_ || lines_.size() >= kMostCells) {
      return Status::DataError(fmt::format(
          "steps {} to {} of {} workers are too many: at most {} parts of steps are replayed",
          first_, last_, workers_, kMostCells));
    }
    lines_.push_back(line);
    return Status::Ok();
  }

  Result<RunTrace> Take() {
    if (lines_.empty()) return Status::DataError("nothing was recorded in it");
    RunTrace trace;
    trace.first_step = first_;
    trace.steps = last_ - first_ + 1;
    trace.workers = workers_;
    trace.cells.resize(trace.steps * workers_);
    for (const RunTraceLine& line : lines_) {
      RunTrace::Cell& cell = trace.cells[(line.step - first_) * workers_ + line.worker];
      if (cell.seconds_per_sample > 0) {
        return Status::DataError(
            fmt::format("step {} of worker {} is there twice", line.step, line.worker));
      }
      cell.seconds_per_sample = line.compute_seconds / static_cast<double>(line.samples);
      if (line.vector_seconds > 0) {
        cell.bytes_per_second = static_cast<double>(line.vector_bytes) / line.vector_seconds;
      }
    }
    return trace;
  }

 private:
  std::vector<RunTraceLine> lines_;
  StepId first_ = 0, last_ = 0;
  uint32_t workers_ = 0;
};

}  // namespace

std::string FormatRunTraceLine(const RunTraceLine& line) {
  std::string text =
      fmt::format("{},{},{},{:.9f}", line.step, line.worker, line.samples, line.compute_seconds);
  if (line.vector_bytes == 0 || !(line.vector_seconds > 0)) return text + ",,\n";
  return text + fmt::format(",{},{:.9f}\n", line.vector_bytes, line.vector_seconds);
}

Result<RunTraceLine> ParseRunTraceLine(std::string_view text) {
  MOTLEY_ASSIGN_OR_RETURN(const auto fields, Split(text));
  const bool seen = !fields[4].empty() || !fields[5].empty();
  std::array<double, kColumns> values{};
  for (size_t i = 0; i < (seen ? kColumns : 4); ++i) {
    MOTLEY_ASSIGN_OR_RETURN(values[i], ParseNumber(fields[i]));
  }
  MOTLEY_RETURN_IF_ERROR(CheckCount("step", values[0], kMostStep));
  MOTLEY_RETURN_IF_ERROR(CheckCount("worker", values[1], kMostWorkers));
  MOTLEY_RETURN_IF_ERROR(CheckCount("samples", values[2], kMostCount));
  if (values[2] == 0) return Status::DataError("who computed no samples has no line");
  MOTLEY_RETURN_IF_ERROR(CheckSeconds("compute_seconds", values[3]));
  if (seen) {
    MOTLEY_RETURN_IF_ERROR(CheckCount("vector_bytes", values[4], kMostCount));
    MOTLEY_RETURN_IF_ERROR(CheckSeconds("vector_seconds", values[5]));
  }
  return RunTraceLine{static_cast<StepId>(values[0]),   static_cast<WorkerId>(values[1]),
                      static_cast<uint64_t>(values[2]), values[3],
                      static_cast<uint64_t>(values[4]), values[5]};
}

Result<RunTrace> ReadRunTrace(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, OpenFileStream(path));
  StreamReader reader(std::move(stream));
  LineReader text(reader, path);
  Builder builder;
  std::string_view line;
  bool named = false;  // The column names were read.
  for (;;) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, text.Next(line));
    if (!more) break;
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    Status fine;
    if (!std::exchange(named, true)) {
      if (line != kRunTraceColumns) {
        fine = Status::DataError(
            fmt::format("the first line must name the columns: {}", kRunTraceColumns));
      }
    } else {
      const Result<RunTraceLine> parsed = ParseRunTraceLine(line);
      fine = parsed.ok() ? builder.Add(*parsed) : parsed.status();
    }
    if (!fine.ok()) return fine.WithContext(fmt::format("{}:{}", path, text.number()));
  }
  Result<RunTrace> trace = builder.Take();
  if (!trace.ok()) return trace.status().WithContext(path);
  return trace;
}

}  // namespace motley
