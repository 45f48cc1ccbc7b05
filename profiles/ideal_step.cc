// SPDX-License-Identifier: Apache-2.0
#include "profiles/ideal_step.h"

#include <algorithm>

namespace motley {
namespace {

constexpr int kHalvings = 60;

double Transfer(double bytes, double bytes_per_second) {
  return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
}

// The time of a step on a worker's own link: parameters one way, the vector the other.
double OwnLinkSeconds(const LinkProfile& link, double bytes) {
  const LinkDirection up = link.Up(), down = link.Down();
  return up.latency_seconds + down.latency_seconds + Transfer(bytes, up.bytes_per_second) +
         Transfer(bytes, down.bytes_per_second);
}

struct Ready {
  double speed = 0;            // Samples per second.
  double latency_seconds = 0;  // Sum of both directions.
  double link_seconds = 0;     // On its own link, latency included.
};

// The samples computed in a step of this many seconds. `order` is fastest first.
double SamplesWithin(const std::vector<Ready>& order, double server_seconds, double seconds) {
  double samples = 0, served = 0;
  for (const Ready& worker : order) {
    // A vector passes both links at the same time, so the slower one counts.
    const double link =
        std::max(worker.link_seconds, worker.latency_seconds + served + server_seconds);
    const double left = seconds - link;
    if (left <= 0) continue;
    samples += worker.speed * left;
    served += server_seconds;
  }
  return samples;
}

}  // namespace

double IdealStepSeconds(const std::vector<WorkerProfile>& workers, const ServerRates& server,
                        double vector_bytes, double samples) {
  std::vector<Ready> order;
  for (const WorkerProfile& worker : workers) {
    order.push_back({worker.device.samples_per_second, OwnLinkSeconds(worker.link, 0),
                     OwnLinkSeconds(worker.link, vector_bytes)});
  }
  if (order.empty()) return 0;
  std::stable_sort(order.begin(), order.end(),
                   [](const Ready& a, const Ready& b) { return a.speed > b.speed; });
  const double server_seconds =
      Transfer(vector_bytes, server.out) + Transfer(vector_bytes, server.in);
  // The upper bound is the time of the fastest worker alone.
  double low = 0;
  double high = order.front().link_seconds + server_seconds + samples / order.front().speed;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (SamplesWithin(order, server_seconds, middle) < samples ? low : high) = middle;
  }
  return high;
}

}  // namespace motley
