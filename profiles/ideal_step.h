// SPDX-License-Identifier: Apache-2.0
// A lower bound for the time of a step, whatever divides the work and wherever the vector is
// summed. Pure.
//
// A worker computes on parameters that it has, and sends its vector when it has computed. The
// parameters of the next step may come while the vector is still under way, slice by slice. A
// worker that owns the part x of the vector exchanges only the rest. So it computes for T - (1 - x)
// c at most, where c = latencies + M max(1 / up, 1 / down). What a worker computes in a time t is
// f(t). The sum of all f is convex in x if each f is linear, so it is largest where one worker owns
// everything and computes all the time:
//
//   samples <= f_i(T) + sum over the others of f_j(T - c_j), for some i                    (1)
//
// Work that is divided without loss does no better than that. A set of n workers that add and
// forward send each element n - 1 times to sum it and n - 1 times to spread it, over the links of
// all nodes. So only the best n workers count in (1), with
//
//   n <= 1 + T (sum over all nodes of the links) / (2 M), each way                         (2)
//
// Answers cut into m parts take 1 / m of the time on the way up, and m times the work. The bound is
// the least for all m. Exact steps can come close to (1) if the owner of the vector is the
// narrowest of the workers, and never below it.
#pragma once

#include <functional>
#include <vector>

#include "profiles/profile.h"

namespace motley {

struct IdealWorker {
  std::function<double(double seconds)> samples;  // f: never falls, and is 0 at 0.
  double latency_seconds = 0;                     // Sum of both ways.
  double up_seconds = 0, down_seconds = 0;        // A vector alone on the worker's link.
};

struct IdealStep {
  std::vector<IdealWorker> workers;
  double samples = 0;
  // How many vectors the links of all nodes carry together in a second, in the narrower direction;
  // 0: no limit.
  double vectors_per_second = 0;
};

// The bound, rounded down by the part `precision` at most. `guess` > 0 only shortens the search.
double IdealSeconds(const IdealStep& step, double guess, double precision);

// The bound for devices without noise and overhead, at their usual speeds; 0 without workers.
// `servers`: the links of all servers that may sum the vector, together.
double IdealStepSeconds(const std::vector<WorkerProfile>& workers, const ServerRates& servers,
                        double vector_bytes, double samples);

// What `vectors_per_second` is for these nodes.
double VectorsPerSecond(const std::vector<WorkerProfile>& workers, const ServerRates& servers,
                        double vector_bytes);

}  // namespace motley
