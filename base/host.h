// SPDX-License-Identifier: Apache-2.0
// This machine's name, and how much of its memory this process may use. Three things limit memory:
// the machine has so much, the control groups (containers) above the process allow so much, and so
// do the process's own limits (ulimit -v, -d). Any thread; every call asks the system again.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

// The name of this machine, or "this-machine" if it has none.
std::string HostName();

// Every path to /proc and /sys starts with `root`, so that tests can use a folder of their own.

// The bytes that this process and others in its container or machine may use together; 0: not
// known.
uint64_t SharedMemoryBytes(const std::string& root = "");

// The most bytes that this process may use, its own limits included; 0: not known.
uint64_t HostMemoryBytes(const std::string& root = "");

// The part of HostMemoryBytes that is free now, caches that the system would give up included; 0:
// not known. A process that has reached its limit gets 1.
uint64_t AvailableMemoryBytes(const std::string& root = "");

}  // namespace motley
