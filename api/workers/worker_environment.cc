// SPDX-License-Identifier: Apache-2.0
#include "api/workers/worker_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

namespace motley {
namespace {

// By the file for the address, and by the address to listen at.
struct {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, std::string> of;
} first_addresses;

constexpr char kServer[] = "MOTLEY_SERVER";
constexpr char kToken[] = "MOTLEY_TOKEN";
constexpr char kName[] = "MOTLEY_WORKER_NAME";
constexpr char kIndex[] = "MOTLEY_WORKER_INDEX";
constexpr char kThreads[] = "MOTLEY_WORKER_THREADS";
constexpr char kDevice[] = "MOTLEY_WORKER_DEVICE";
constexpr char kSampleTime[] = "MOTLEY_WORKER_SAMPLE_NS";
constexpr char kSpeed[] = "MOTLEY_WORKER_SPEED";
constexpr char kMemory[] = "MOTLEY_WORKER_MEMORY";
constexpr char kListen[] = "MOTLEY_LISTEN";
constexpr char kWorkers[] = "MOTLEY_WORKERS";
constexpr char kAddressFile[] = "MOTLEY_ADDRESS_FILE";
constexpr char kDeviceTimeout[] = "MOTLEY_DEVICE_TIMEOUT";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Leaves `out` alone when the variable is not set.
template <typename T>
Status TakeNumber(const char* name, T& out) {
  const std::string text = Variable(name);
  if (text.empty()) return Status::Ok();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc() && stop == end) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("the environment variable {} is '{}', which is not a valid number. Leave it to "
                  "the program that starts the job's processes",
                  name, text));
}

bool IsOurs(std::string_view variable) {
  for (const char* name :
       {kServer, kToken, kName, kIndex, kThreads, kDevice, kSampleTime, kSpeed, kMemory}) {
    if (variable.substr(0, variable.find('=')) == name) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> EnvironmentFor(const WorkerEnvironment& worker) {
  std::vector<std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!IsOurs(*variable)) all.emplace_back(*variable);
  }
  all.push_back(fmt::format("{}={}", kServer, worker.server));
  all.push_back(fmt::format("{}={}", kToken, worker.token));
  if (!worker.name.empty()) all.push_back(fmt::format("{}={}", kName, worker.name));
  all.push_back(fmt::format("{}={}", kIndex, worker.index));
  all.push_back(fmt::format("{}={}", kThreads, worker.threads));
  all.push_back(fmt::format("{}={}", kDevice, worker.device));
  all.push_back(fmt::format("{}={}", kMemory, worker.memory_bytes));
  if (worker.sample_time) {
    all.push_back(fmt::format("{}={}", kSampleTime, worker.sample_time->count()));
    all.push_back(fmt::format("{}={}", kSpeed, worker.speed));
  }
  return all;
}

Result<WorkerEnvironment> ReadWorkerEnvironment() {
  WorkerEnvironment worker;
  worker.server = Variable(kServer);
  worker.token = Variable(kToken);
  worker.name = Variable(kName);
  worker.device = Variable(kDevice);
  if (worker.server.empty()) {
    return Status::InvalidArgument(
        "a worker needs `server`, the address of its job, unless the job starts it");
  }
  int64_t sample_ns = 0;
  MOTLEY_RETURN_IF_ERROR(TakeNumber(kIndex, worker.index));
  MOTLEY_RETURN_IF_ERROR(TakeNumber(kThreads, worker.threads));
  MOTLEY_RETURN_IF_ERROR(TakeNumber(kSampleTime, sample_ns));
  MOTLEY_RETURN_IF_ERROR(TakeNumber(kSpeed, worker.speed));
  MOTLEY_RETURN_IF_ERROR(TakeNumber(kMemory, worker.memory_bytes));
  if (sample_ns > 0) worker.sample_time = Duration(sample_ns);
  if (std::isfinite(worker.speed) && worker.speed > 0) return worker;
  return Status::InvalidArgument(
      fmt::format("the environment variable {} must be a positive number", kSpeed));
}

std::string TokenFromEnvironment() { return Variable(kToken); }

Result<ServerEnvironment> ReadServerEnvironment() {
  ServerEnvironment server;
  server.listen = Variable(kListen);
  server.address_file = Variable(kAddressFile);
  MOTLEY_RETURN_IF_ERROR(TakeNumber(kWorkers, server.workers));
  return server;
}

std::string AddressToListenAt(const std::string& address_file, const std::string& listen) {
  const std::lock_guard lock(first_addresses.mutex);
  const auto found = first_addresses.of.find({address_file, listen});
  return found == first_addresses.of.end() ? listen : found->second;
}

void RememberAddress(const std::string& address_file, const std::string& listen,
                     const std::string& address) {
  const std::lock_guard lock(first_addresses.mutex);
  first_addresses.of.emplace(std::pair(address_file, listen), address);
}

Result<Patience> PatienceFromEnvironment() {
  Patience patience;
  if (Variable(kDeviceTimeout).empty()) return patience;
  constexpr double kMostSeconds = 1e6;
  double seconds = 0;
  const bool number = TakeNumber(kDeviceTimeout, seconds).ok();
  if (!(number && seconds > 0 && seconds <= kMostSeconds)) {
    return Status::InvalidArgument(fmt::format(
        "the environment variable {} is '{}'; it must be the time that work may take on a "
        "device, in seconds above 0 and up to {:.0f}, like 120",
        kDeviceTimeout, Variable(kDeviceTimeout), kMostSeconds));
  }
  patience.first = patience.least = FromSeconds(seconds);
  return patience;
}

}  // namespace motley
