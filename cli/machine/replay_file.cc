// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/replay_file.h"

#include <algorithm>
#include <utility>

#include "data/files/byte_stream.h"
#include "data/files/text_scan.h"
#include "fmt/core.h"
#include "reproduce/worker_trace.h"

namespace motley {
namespace {

// Messages keep their recorded cost: a simulated vector is short.
constexpr uint64_t kNoBytes = 4096;

// Rounds in which each worker had some fraction of all the work.
class RoundTimes final : public RecordedTimes {
 public:
  RoundTimes(WorkerTrace trace, uint32_t batch)
      : trace_(std::make_shared<const WorkerTrace>(std::move(trace))), batch_(batch) {}

  uint64_t steps() const override { return trace_->rounds; }
  uint32_t workers() const override { return trace_->workers; }
  std::function<double(double)> Compute(uint64_t step, WorkerId worker) const override {
    return [trace = trace_, round = static_cast<uint32_t>(step), worker,
            batch = batch_](double samples) { return trace->At(samples / batch, round, worker); };
  }
  double BytesPerSecond(uint64_t, WorkerId) const override { return 0; }
  double LongestSeconds(double samples) const override {
    double longest = 0;
    for (uint32_t round = 0; round < trace_->rounds; ++round) {
      for (uint32_t w = 0; w < trace_->workers; ++w) {
        longest = std::max(longest, trace_->At(samples / batch_, round, w));
      }
    }
    return longest;
  }

 private:
  std::shared_ptr<const WorkerTrace> trace_;
  double batch_;
};

ClusterProfile AlikeWorkers(const WorkerTrace& trace, uint32_t batch) {
  const double share = 1.0 / trace.workers;
  double sum = 0;
  for (uint32_t round = 0; round < trace.rounds; ++round) {
    for (uint32_t w = 0; w < trace.workers; ++w) sum += trace.At(share, round, w);
  }
  const double mean = sum / trace.rounds / trace.workers;
  ClusterProfile cluster;
  cluster.name = "recorded";
  cluster.gradient_bytes = kNoBytes;
  for (uint32_t w = 0; w < trace.workers; ++w) {
    WorkerProfile worker;
    worker.device.name = fmt::format("worker-{}", w);
    worker.device.samples_per_second = batch * share / std::max(mean, 1e-9);
    cluster.workers.push_back(worker);
  }
  return cluster;
}

double WaitForAll(const WorkerTrace& trace) {
  double total = 0;
  for (uint32_t round = 0; round < trace.rounds; ++round) {
    double longest = 0;
    for (uint32_t w = 0; w < trace.workers; ++w) {
      longest = std::max(longest, trace.At(1.0 / trace.workers, round, w));
    }
    total += longest;
  }
  return total;
}

Result<ReplayFile> OpenRounds(const std::string& path, uint32_t batch) {
  MOTLEY_ASSIGN_OR_RETURN(WorkerTrace trace, ReadWorkerTrace(path));
  ReplayFile file;
  file.path = path;
  file.cluster = AlikeWorkers(trace, batch);
  file.wait_for_all_seconds = WaitForAll(trace);
  file.assumed = {
      "a worker's time at a load between two recorded ones is interpolated, round by round, and "
      "never less than at the smaller one",
      "a worker's time without load passes before its first piece of work, even if others are late",
      "messages take no extra time, because the recorded times include it",
      "all workers are assumed to be equal at first"};
  file.times = std::make_shared<RoundTimes>(std::move(trace), batch);
  return file;
}

Result<ReplayFile> OpenRun(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(RunTrace trace, ReadRunTrace(path));
  ReplayFile file;
  file.path = path;
  file.times = std::make_shared<RunTimes>(std::move(trace));
  file.assumed = {
      "each sample takes the average time of the worker's samples in that step; in a step in which "
      "the worker computed nothing, the time of the step before",
      "latency and the links to the workers are those of the cluster's file; the links back are as "
      "recorded, if they were recorded"};
  return file;
}

// The first line that is neither blank nor a comment.
Result<std::string> ColumnsOf(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, OpenFileStream(path));
  StreamReader reader(std::move(stream));
  LineReader text(reader, path);
  std::string_view line;
  for (;;) {
    MOTLEY_ASSIGN_OR_RETURN(const bool more, text.Next(line));
    if (!more) return std::string();
    line = Trim(line);
    if (!line.empty() && !line.starts_with('#')) return std::string(line);
  }
}

}  // namespace

Result<ReplayFile> OpenReplayFile(const std::string& path, uint32_t batch) {
  Result<std::string> columns = ColumnsOf(path);
  if (!columns.ok()) return columns.status().WithContext("--replay");
  Result<ReplayFile> file =
      *columns == kRunTraceColumns ? OpenRun(path)
      : *columns == kWorkerTraceColumns
          ? OpenRounds(path, batch)
          : Status::DataError(fmt::format("{}: the first line must name the columns, {} or {}",
                                          path, kRunTraceColumns, kWorkerTraceColumns));
  if (!file.ok()) return file.status().WithContext("--replay");
  return file;
}

}  // namespace motley
