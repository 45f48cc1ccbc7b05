// SPDX-License-Identifier: Apache-2.0
// The settings that a job passes to its worker processes, and `motley run` to the processes of a
// job, in environment variables. Arguments would be readable by everybody on the machine, and the
// token is one of the settings. docs/reference/environment.md lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "devices/watched_device.h"

namespace motley {

struct WorkerEnvironment {
  std::string server;
  std::string token;
  std::string name;  // Empty: named after its index.
  int32_t index = -1;
  uint32_t threads = 0;
  std::string device;                   // "opencl:0"; empty: the processor.
  std::optional<Duration> sample_time;  // Emulated time of a sample at speed 1.
  double speed = 1;
  uint64_t memory_bytes = 0;  // For samples; 0: chosen by the worker.
};

// "MOTLEY_SERVER=..." and so on, together with this process's own variables.
std::vector<std::string> EnvironmentFor(const WorkerEnvironment& worker);
// Reads the settings of this process. kInvalidArgument: no job started it, or a variable is
// invalid.
Result<WorkerEnvironment> ReadWorkerEnvironment();
// MOTLEY_TOKEN, or empty.
std::string TokenFromEnvironment();

// What `motley run` passes to the process that serves.
struct ServerEnvironment {
  std::string listen;    // The address to listen at; empty: none is given.
  uint32_t workers = 0;  // Workers that are started; 0: not given.
  // The file for the address at which the job listens; empty: nobody reads it.
  std::string address_file;
};

// kInvalidArgument: a variable is invalid.
Result<ServerEnvironment> ReadServerEnvironment();

// The first job of this process that writes `address_file` listens at `listen`, and the later ones
// where it did: workers that were started once look for all jobs of their program there.
std::string AddressToListenAt(const std::string& address_file, const std::string& listen);
// The job listens at `address`.
void RememberAddress(const std::string& address_file, const std::string& listen,
                     const std::string& address);
// MOTLEY_DEVICE_TIMEOUT is the number of seconds after which work on a device counts as lost (more
// on devices that took long before). kInvalidArgument: not a valid number.
Result<Patience> PatienceFromEnvironment();

}  // namespace motley
