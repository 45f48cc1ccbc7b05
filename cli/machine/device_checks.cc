// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/device_checks.h"

#include <algorithm>
#include <memory>

#include "api/device_call.h"
#include "api/workers/worker_device.h"
#include "api/workers/worker_environment.h"
#include "cli/report/table.h"
#include "devices/check/device_check.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "runtime/uv_loop.h"

namespace motley {
namespace {

constexpr uint64_t kSeed = 1;  // Fixed, so that failures can be repeated.

// Each kernel is a separate work item, so that the error names a kernel that hangs.
Status Check(const ListedDevice& listed, Phases& phases,
             std::vector<check::CheckedKernel>& kernels) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  WorkerDeviceOptions options;
  MOTLEY_ASSIGN_OR_RETURN(options.patience, PatienceFromEnvironment());
  options.patience->least = options.patience->first;  // Many kernels are compiled first.
  MOTLEY_ASSIGN_OR_RETURN(const auto opened, WorkerDevice::Open(*loop, {{listed}}, options));
  Device& device = opened->front();
  const auto& checks = check::KernelChecks();
  for (const check::KernelCheck& one : checks) {
    const auto checked =
        std::make_shared<check::CheckedKernel>();  // A device that hangs may keep it.
    const auto work = [checked, &device, &one]() -> Status {
      MOTLEY_ASSIGN_OR_RETURN(*checked, check::CheckOnDevice(device, one, kSeed, /*large=*/true));
      return Status::Ok();
    };
    MOTLEY_RETURN_IF_ERROR(CallOnDevice(*loop, device, work));
    kernels.push_back(*checked);
    phases.Show(static_cast<double>(kernels.size()) / static_cast<double>(checks.size()));
  }
  return Status::Ok();
}

std::string Verdict(const CheckedDevice& device) {
  const auto right = std::count_if(device.kernels.begin(), device.kernels.end(),
                                   [](const auto& kernel) { return kernel.ok(); });
  return fmt::format("{}: {} kernels are right, {} wrong{}", device.label, right,
                     device.kernels.size() - static_cast<size_t>(right),
                     device.status.ok() ? "" : "; it failed in the next one");
}

// JSON has no infinity; it becomes null, like NaN.
nlohmann::ordered_json ToJson(const check::CheckedKernel& kernel) {
  return {{"kernel", kernel.kernel},
          {"worst_error", kernel.worst},
          {"tolerance", kernel.tolerance},
          {"where", kernel.where},
          {"ok", kernel.ok()}};
}

}  // namespace

bool CheckedDevice::ok() const {
  return status.ok() &&
         std::all_of(kernels.begin(), kernels.end(), [](const auto& k) { return k.ok(); });
}

std::vector<CheckedDevice> CheckDevices(const std::vector<ListedDevice>& devices, Phases& phases) {
  std::vector<CheckedDevice> checked;
  for (const ListedDevice& device : devices) {
    CheckedDevice& one = checked.emplace_back(device.Label(), device.name);
    phases.Begin(fmt::format("checking the kernels of {} ({})", one.label, one.name));
    one.status = Check(device, phases, one.kernels);
    phases.Finish(Verdict(one));
  }
  return checked;
}

std::string ChecksText(const std::vector<CheckedDevice>& devices) {
  std::string text;
  for (const CheckedDevice& device : devices) {
    text += fmt::format("{}{} ({})\n", text.empty() ? "" : "\n", device.label, device.name);
    Table table({"kernel", "worst error", "tolerance", "ok"});
    for (const check::CheckedKernel& kernel : device.kernels) {
      table.Add({kernel.kernel, fmt::format("{:.2g}", kernel.worst),
                 fmt::format("{:.2g}", kernel.tolerance), kernel.ok() ? "yes" : "NO"});
    }
    text += table.Format();
    for (const check::CheckedKernel& kernel : device.kernels) {
      if (!kernel.ok()) text += fmt::format("{} is wrong at {}\n", kernel.kernel, kernel.where);
    }
    if (!device.status.ok())
      text += fmt::format("the device failed: {}\n", device.status.ToString());
  }
  return text;
}

std::string ChecksJson(const std::vector<CheckedDevice>& devices) {
  auto list = nlohmann::ordered_json::array();
  for (const CheckedDevice& device : devices) {
    auto kernels = nlohmann::ordered_json::array();
    for (const check::CheckedKernel& kernel : device.kernels) kernels.push_back(ToJson(kernel));
    list.push_back({{"device", device.label},
                    {"name", device.name},
                    {"ok", device.ok()},
                    {"error", device.status.ok() ? "" : device.status.ToString()},
                    {"kernels", std::move(kernels)}});
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace motley
