// SPDX-License-Identifier: Apache-2.0
// Owners of OpenCL's reference-counted objects.
#pragma once

#include <CL/cl.h>

#include <memory>
#include <type_traits>

namespace motley::opencl {

template <auto release>
struct Release {
  template <typename T>
  void operator()(T object) const {
    release(object);
  }
};

template <typename T, auto release>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Release<release>>;

using Context = Handle<cl_context, clReleaseContext>;
using Commands = Handle<cl_command_queue, clReleaseCommandQueue>;
using Program = Handle<cl_program, clReleaseProgram>;
using Kernel = Handle<cl_kernel, clReleaseKernel>;
using Event = Handle<cl_event, clReleaseEvent>;

}  // namespace motley::opencl
