// SPDX-License-Identifier: Apache-2.0
// Checks that a model fits into a node's memory before any of it is allocated. A machine that
// overcommits memory would kill the process later, without a message. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>

#include "base/status.h"
#include "devices/device.h"
#include "runtime/job.h"
#include "training/models/model.h"

namespace motley {

// Vectors as long as the model that a node holds at its busiest. For code "auto" this is the
// minimum, with the code that needs the fewest.
uint64_t ServerVectors(const JobOptions& options);
// The number of versions of the parameters that may exist at a time within `memory_bytes` (0: any
// number): those in ServerVectors, and more for slow readers if there is room.
uint64_t MostVersions(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes);
// The part of ServerVectors that may be sums and answers of the open step, so that code "auto"
// chooses one that keeps within `memory_bytes`; 0: any number.
uint32_t MostSums(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes);
uint64_t WorkerVectors(WireFormat wire = WireFormat::kFloat32);

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
