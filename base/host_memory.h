// SPDX-License-Identifier: Apache-2.0
// How much memory this process may use: the one place that answers it. The machine's memory, the
// limits of the control groups (containers) above the process, and its own limits (ulimit -v, -d)
// all count. Any thread; every call reads the system's files anew.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

// `root` stands before /proc and /sys in every path; tests give a folder of their own.

// Bytes that this process and others of its container or machine may use together; 0: not known.
uint64_t SharedMemoryBytes(const std::string& root = "");

// Bytes that this process may use at most, by its own limits as well; 0: not known.
uint64_t HostMemoryBytes(const std::string& root = "");

// Of HostMemoryBytes, what is free now, or is a cache that the system would give up; 0: not known.
// A process that has reached its limit has 1, because 0 has that other meaning.
uint64_t AvailableMemoryBytes(const std::string& root = "");

}  // namespace motley
