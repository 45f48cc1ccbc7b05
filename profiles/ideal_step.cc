// SPDX-License-Identifier: Apache-2.0
#include "profiles/ideal_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace motley {
namespace {

constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1e9;
constexpr double kPrecision = 1e-9;
constexpr double kMostParts = 16;  // Codes with more parts count as if sending took no time.
constexpr double kEndless = std::numeric_limits<double>::infinity();

double Transfer(double bytes, double bytes_per_second) {
  return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
}

// Workers that compute `work` times the samples, and whose answers are cut into `parts`.
class Bound {
 public:
  Bound(const IdealStep& step, double work, double parts)
      : step_(step), samples_(work * step.samples), parts_(parts) {}

  // The workers could compute all samples in this time without links.
  bool Computed(double seconds) const {
    double all = 0;
    for (const IdealWorker& worker : step_.workers) all += worker.samples(seconds);
    return all >= samples_;
  }

  // The workers can compute the samples of a step in this time.
  bool Done(double seconds) const {
    std::vector<double> beside;  // What each worker computes if it owns nothing.
    double all = 0;
    for (const IdealWorker& worker : step_.workers) {
      const double own =
          worker.latency_seconds + std::max(worker.up_seconds / parts_, worker.down_seconds);
      beside.push_back(own < seconds ? worker.samples(seconds - own) : 0);
      all += beside.back();
    }
    const double least = LeastOfBest(beside, seconds, all);
    for (size_t i = 0; i < beside.size(); ++i) {
      // The owner is one of the best, or replaces the last of them.
      const double without = all - std::max(beside[i], least);
      if (without + step_.workers[i].samples(seconds) >= samples_) return true;
    }
    return false;
  }

 private:
  // Leaves only the best workers, as many as the links bear, in the sum, and returns the last
  // one's.
  double LeastOfBest(const std::vector<double>& beside, double seconds, double& all) const {
    const double links = step_.vectors_per_second;
    const double most = 1 + seconds * links / (1 + 1 / parts_);
    if (links <= 0 || most >= static_cast<double>(beside.size())) return 0;
    std::vector<double> order = beside;
    const auto last = order.begin() + static_cast<ptrdiff_t>(most) - 1;
    std::nth_element(order.begin(), last, order.end(), std::greater<>());
    all = std::accumulate(order.begin(), last + 1, 0.0);
    return *last;
  }

  const IdealStep& step_;
  const double samples_, parts_;
};

// Beyond so many parts the way down takes each worker longer than the way up.
double MostParts(const IdealStep& step) {
  double most = 1;
  for (const IdealWorker& worker : step.workers) {
    if (worker.up_seconds <= worker.down_seconds) continue;
    const double parts = worker.down_seconds > 0 ? worker.up_seconds / worker.down_seconds : 1e9;
    most = std::max(most, std::ceil(parts));
  }
  return std::min(most, static_cast<double>(step.workers.size()));
}

}  // namespace

double IdealSeconds(const IdealStep& step, double guess, double precision) {
  double best = kMostSeconds;
  const double most = std::min(MostParts(step), kMostParts + 1);
  for (double parts = 1; parts <= most; ++parts) {
    const Bound bound(step, parts, parts <= kMostParts ? parts : kEndless);
    if (!bound.Computed(best)) break;
    if (!bound.Done(best)) continue;
    double low = std::min(guess, best), high = low;
    while (low > kLeastSeconds && bound.Done(low)) low /= 2;
    while (high < best && !bound.Done(high)) high *= 2;
    while (high - low > precision * low) {
      const double middle = (low + high) / 2;
      (bound.Done(middle) ? high : low) = middle;
    }
    best = low;
  }
  return best;
}

double VectorsPerSecond(const std::vector<WorkerProfile>& workers, const ServerRates& servers,
                        double vector_bytes) {
  double up = servers.out, down = servers.in;
  bool up_limited = servers.out > 0, down_limited = servers.in > 0;
  for (const WorkerProfile& worker : workers) {
    const double sends = worker.link.Up().bytes_per_second;
    const double receives = worker.link.Down().bytes_per_second;
    up_limited = up_limited && sends > 0;
    down_limited = down_limited && receives > 0;
    up += sends;
    down += receives;
  }
  if (vector_bytes <= 0 || (!up_limited && !down_limited)) return 0;
  if (!up_limited) return down / vector_bytes;
  if (!down_limited) return up / vector_bytes;
  return std::min(up, down) / vector_bytes;
}

double IdealStepSeconds(const std::vector<WorkerProfile>& workers, const ServerRates& servers,
                        double vector_bytes, double samples) {
  if (workers.empty()) return 0;
  IdealStep step;
  step.samples = samples;
  step.vectors_per_second = VectorsPerSecond(workers, servers, vector_bytes);
  double speed = 0;
  for (const WorkerProfile& worker : workers) {
    const LinkDirection up = worker.link.Up(), down = worker.link.Down();
    const double each = worker.device.samples_per_second;
    speed += each;
    step.workers.push_back({.samples = [each](double seconds) { return each * seconds; },
                            .latency_seconds = up.latency_seconds + down.latency_seconds,
                            .up_seconds = Transfer(vector_bytes, up.bytes_per_second),
                            .down_seconds = Transfer(vector_bytes, down.bytes_per_second)});
  }
  return IdealSeconds(step, samples / speed, kPrecision);
}

}  // namespace motley
