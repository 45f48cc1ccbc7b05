// SPDX-License-Identifier: Apache-2.0
// The kernels of a queue, with the largest work groups that the device supports for all of them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>
#include <utility>

#include "devices/opencl/cl_errors.h"
#include "devices/opencl/program.h"
#include "devices/opencl/queue.h"

namespace motley::opencl {
namespace {

// All kernels except those for processors, which have groups of one item.
constexpr auto kInGroups = static_cast<size_t>(KernelName::kPackPanels);
// A processor runs a group's items in a loop, so it needs more groups than cores, not large groups.
constexpr size_t kGroupOfProcessor = 64;
constexpr size_t kGroupOfOthers = 256;
// 32 columns of this depth are 32 KiB.
constexpr size_t kDepthOfTiles = 256;

Result<std::vector<Kernel>> KernelsOf(cl_program program, bool is_processor) {
  const size_t count = is_processor ? std::size(kKernelNames) : kInGroups;
  std::vector<Kernel> kernels;
  for (const char* name : std::span(kKernelNames).first(count)) {
    cl_int code = CL_SUCCESS;
    kernels.emplace_back(clCreateKernel(program, name, &code));
    if (code != CL_SUCCESS) {
      return Status::Internal(
          fmt::format("the program has no kernel '{}': {}", name, ErrorName(code)));
    }
  }
  return kernels;
}

// The largest group that the device supports for every kernel with groups.
size_t MostItems(const std::vector<Kernel>& kernels, cl_device_id device) {
  size_t least = SIZE_MAX;
  for (const Kernel& kernel : std::span(kernels).first(kInGroups)) {
    size_t items = 0;
    clGetKernelWorkGroupInfo(kernel.get(), device, CL_KERNEL_WORK_GROUP_SIZE, sizeof(items), &items,
                             nullptr);
    least = std::min(least, items);
  }
  return least;
}

}  // namespace

Status Queue::Compile(const std::string& cache_folder) {
  const size_t wanted = device_.is_processor ? kGroupOfProcessor : kGroupOfOthers;
  group_items_ = std::bit_floor(std::clamp<size_t>(device_.most_group_items, 1, wanted));
  for (;; group_items_ /= 2) {
    std::string flags = fmt::format("-cl-std=CL1.2 -DGROUP={}", group_items_);
    if (device_.has_doubles) flags += " -DFP64";
    if (lanes() > 0) flags += fmt::format(" -DLANES={} -DDEPTH={}", lanes(), kDepthOfTiles);
    const ProgramOptions options{std::move(flags), cache_folder};
    MOTLEY_ASSIGN_OR_RETURN(Program program,
                            BuildProgram(context_.get(), device_, kKernelSource, options));
    MOTLEY_ASSIGN_OR_RETURN(auto kernels, KernelsOf(program.get(), device_.is_processor));
    if (group_items_ > 1 && MostItems(kernels, device_.id) < group_items_) continue;
    program_ = std::move(program);
    kernels_ = std::move(kernels);
    return Status::Ok();
  }
}

}  // namespace motley::opencl
