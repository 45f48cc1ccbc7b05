// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/load_balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/assert.h"
#include "scheduler/placement/share_time.h"

namespace motley {
namespace {

constexpr double kAlmostWhole = 1e-9;  // Part of a partition that rounding may lose.
constexpr double kPrecision = 1e-13;   // Relative precision of a bisection.
constexpr size_t kSurplusPart = 8;

Status CheckWorker(const ShareWorker& worker, size_t index) {
  const CostCurve& curve = worker.curve;
  const bool sane = curve.seconds_per_sample > 0 && std::isfinite(curve.seconds_per_sample) &&
                    curve.overhead_seconds >= 0 && std::isfinite(curve.overhead_seconds) &&
                    curve.knee_samples >= 0 && std::isfinite(curve.knee_samples) &&
                    curve.most_samples >= 0 && worker.fixed_seconds >= 0 &&
                    std::isfinite(worker.fixed_seconds);
  if (sane) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "worker {}: its time per sample must be above 0, all else of its profile at least 0, and "
      "everything finite",
      index));
}

Status Check(const ShareRequest& request) {
  if (request.partitions == 0 || request.copies == 0 || !(request.samples_per_partition > 0) ||
      !std::isfinite(request.samples_per_partition)) {
    return Status::InvalidArgument(
        "shares need at least one partition, one copy of each, and samples in it");
  }
  size_t present = 0;
  for (size_t i = 0; i < request.workers.size(); ++i) {
    if (!request.workers[i].present) continue;
    ++present;
    MOTLEY_RETURN_IF_ERROR(CheckWorker(request.workers[i], i));
  }
  if (present >= request.copies) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{} copies of each partition need {} workers, but there {} {}. Ask for fewer "
                  "copies, or add workers",
                  request.copies, request.copies, present == 1 ? "is" : "are", present));
}

std::string Needs(const ShareRequest& request, uint64_t room, uint64_t wanted, const char* what) {
  return fmt::format(
      "the {} of {} partitions do not all fit: the workers have room for {}, and {} are left over. "
      "Add workers or memory, or use smaller batches",
      what, request.partitions, room, wanted - room);
}

// Fails if the limits leave no room for all partitions, computed and held.
Status CheckRoom(const ShareRequest& request, const ShareTimes& times) {
  uint64_t computed = 0, held = 0;
  for (WorkerId i = 0; i < request.workers.size(); ++i) {
    computed += times.Most(i);
    held += request.workers[i].present
                ? std::min(request.workers[i].most_partitions, request.partitions)
                : 0;
  }
  if (computed < request.partitions) {
    return Status::Resource(Needs(request, computed, request.partitions, "samples of a step"));
  }
  const uint64_t copies = uint64_t{request.copies} * request.partitions;
  if (held < copies) return Status::Resource(Needs(request, held, copies, "copies"));
  return Status::Ok();
}

// Takes surplus partitions away, one at a time, from the worker that finishes last.
void TakeSurplus(const ShareTimes& times, uint64_t surplus, std::vector<uint32_t>& counts) {
  std::priority_queue<std::pair<double, WorkerId>> latest;
  for (WorkerId i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) latest.emplace(times.Seconds(i, counts[i]), i);
  }
  for (; surplus > 0; --surplus) {
    const WorkerId i = latest.top().second;
    latest.pop();
    if (--counts[i] > 0) latest.emplace(times.Seconds(i, counts[i]), i);
  }
}

}  // namespace

ShareTimes::ShareTimes(const ShareRequest& request)
    : workers_(request.workers),
      samples_(request.samples_per_partition),
      partitions_(request.partitions) {}

double ShareTimes::Seconds(WorkerId worker, uint32_t count) const {
  if (count == 0) return 0;
  const ShareWorker& w = workers_[worker];
  double samples = count * samples_;
  // Rounding must not exclude a number of samples that just fits.
  if (samples <= w.curve.most_samples * (1 + 4 * kAlmostWhole)) {
    samples = std::min(samples, w.curve.most_samples);
  }
  return w.fixed_seconds + SecondsFor(w.curve, samples);
}

double ShareTimes::Divisible(WorkerId worker, double seconds) const {
  const ShareWorker& w = workers_[worker];
  if (!w.present) return 0;
  const double partitions = SamplesWithin(w.curve, seconds - w.fixed_seconds) / samples_;
  return std::min<double>(partitions, std::min(w.most_partitions, partitions_));
}

uint32_t ShareTimes::Whole(WorkerId worker, double seconds) const {
  const double partitions = Divisible(worker, seconds);
  return static_cast<uint32_t>(partitions * (1 + kAlmostWhole) + kAlmostWhole);
}

uint32_t ShareTimes::Most(WorkerId worker) const {
  return Whole(worker, std::numeric_limits<double>::infinity());
}

double ShareTimes::Latest() const {
  double seconds = 0;
  for (WorkerId i = 0; i < workers_.size(); ++i) {
    if (workers_[i].present) seconds = std::max(seconds, Seconds(i, Most(i)));
  }
  // Rounding must not exclude a worker.
  return seconds * (1 + kAlmostWhole);
}

double ShareTimes::LeastTime(const std::function<bool(double seconds)>& enough) const {
  double low = 0;
  double high = Latest();
  while (high - low > kPrecision * high) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

double ShareTimes::EnoughFor(uint64_t partitions) const {
  double low = 0;
  double high = Latest();
  // Taking away one partition too many costs about as much as one more look at some workers.
  const uint64_t surplus = workers_.size() / kSurplusPart;
  while (high - low > kPrecision * high) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    uint64_t total = 0;
    for (WorkerId i = 0; i < workers_.size(); ++i) total += Whole(i, middle);
    (total >= partitions ? high : low) = middle;
    if (total >= partitions && total <= partitions + surplus) break;
  }
  return high;
}

double StepSeconds(const ShareRequest& request, const std::vector<uint32_t>& partitions) {
  MOTLEY_ASSERT(partitions.size() == request.workers.size());
  const ShareTimes times(request);
  double seconds = 0;
  for (WorkerId i = 0; i < partitions.size(); ++i) {
    seconds = std::max(seconds, times.Seconds(i, partitions[i]));
  }
  return seconds;
}

Result<BalancedShares> BalanceShares(const ShareRequest& request) {
  MOTLEY_RETURN_IF_ERROR(Check(request));
  const ShareTimes times(request);
  MOTLEY_RETURN_IF_ERROR(CheckRoom(request, times));
  const double seconds = times.EnoughFor(request.partitions);
  BalancedShares shares;
  shares.partitions.reserve(request.workers.size());
  uint64_t total = 0;
  for (WorkerId i = 0; i < request.workers.size(); ++i) {
    shares.partitions.push_back(times.Whole(i, seconds));
    total += shares.partitions.back();
  }
  MOTLEY_ASSERT(total >= request.partitions);
  TakeSurplus(times, total - request.partitions, shares.partitions);
  shares.step_seconds = StepSeconds(request, shares.partitions);
  return shares;
}

}  // namespace motley
