// SPDX-License-Identifier: Apache-2.0
// Checks that a model fits into a node's memory before any of it is allocated. A machine that
// overcommits memory would kill the process later, without a message. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/status.h"
#include "devices/device.h"
#include "runtime/job.h"
#include "training/models/model.h"

namespace motley {

// Vectors as long as the model that a node holds at its busiest. For code "auto" this is the
// minimum, with the code that needs the fewest. A server whose workers hold the shards has a vector
// only while it sends, judges, saves or returns one.
uint64_t ServerVectors(const JobOptions& options);
// The number of versions of the parameters that may exist at a time within `memory_bytes` (0: any
// number): those in ServerVectors, and more for slow readers if there is room.
uint64_t MostVersions(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes);
// The part of ServerVectors that may be sums and answers of the open step, so that code "auto"
// chooses one that keeps within `memory_bytes`; 0: any number.
uint32_t MostSums(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes);
uint64_t WorkerVectors(WireFormat wire = WireFormat::kFloat32);

// Bytes that each process of a job usually takes at its busiest, if all workers keep up with the
// steps. Late workers and slow readers need more, for older versions. Samples and memory that
// processes share are not included.
struct UsualMemory {
  uint64_t server = 0;
  uint64_t worker = 0;  // All of a worker, with its part of the vector if it owns or follows one.
  uint64_t part = 0;    // That part: what an average worker owns and follows.
};
// `at_workers`: the workers hold the shards.
UsualMemory UsualMemoryOf(const JobOptions& options, uint64_t parameters, bool at_workers);
// A sentence for users, such as "needs about 1.5 GiB at the server and 5.2 GiB at each worker,
// beside the samples".
std::string DescribeMemory(const JobOptions& options, uint64_t parameters);

// kResource when `vectors` of `parameters` floats do not fit into `memory_bytes` (0: unknown, so
// everything fits). The message says how much `who` needs, how much may be used, and what to do.
Status CheckMemory(std::string_view who, uint64_t parameters, uint64_t vectors,
                   uint64_t memory_bytes);

// Checks the separate memory of a device, or of one in a joined device, on which the whole
// model is trained with the smallest batches possible. Host memory always passes.
Status CheckDevice(const Device& device, const Model& model);

// The error when memory runs out in spite of the checks.
Status NoMemory(std::string_view what);

// Returns the result of `call` (a Status or Result), or kResource when there was no memory for
// `what`.
template <typename Call>
auto OrNoMemory(std::string_view what, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return NoMemory(what);
  } catch (const std::length_error&) {
    return NoMemory(what);
  }
}

}  // namespace motley
