// SPDX-License-Identifier: Apache-2.0
// Whether a model fits into a node's memory, asked before any of it is taken: a machine that lends
// memory it does not have ends the process later, without words. Any thread.
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

// Vectors as long as the model that a node holds at its busiest. Of code "auto": at the least, with
// the code that takes fewest.
uint64_t ServerVectors(const JobOptions& options);
// How many versions of the parameters may exist at a time within `memory_bytes` (0: any number):
// those that ServerVectors counts, and more for slow readers where there is room.
uint64_t MostVersions(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes);
// How many of ServerVectors may be sums and answers of the open step, if code "auto" is to choose
// one that keeps within `memory_bytes`; 0: any number.
uint32_t MostSums(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes);
uint64_t WorkerVectors();

// kResource when `vectors` of `parameters` floats do not fit into `memory_bytes` (0: not known, so
// everything fits): how much `who` needs, how much may be used, and what to do about it.
Status CheckMemory(std::string_view who, uint64_t parameters, uint64_t vectors,
                   uint64_t memory_bytes);

// The same for the memory of a device of its own on which the whole model is trained, be it one of
// several that are joined: with batches as small as they can be. Host memory always does.
Status CheckDevice(const Device& device, const Model& model);

// What is said when memory runs out all the same.
Status NoMemory(std::string_view what);

// What `call` returns (a Status or Result), or kResource when there was no memory for `what`.
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
