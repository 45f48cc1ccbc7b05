// SPDX-License-Identifier: Apache-2.0
// Names for the codes that OpenCL and CLBlast return. Any thread.
#pragma once

#include <CL/cl.h>

#include <string>

namespace motley::opencl {

// "CL_OUT_OF_RESOURCES", "CLBlast -2041" (see clblast.h): the text that users search for.
std::string ErrorName(cl_int code);

// MOTLEY_DRIVER_NO_MEMORY if smaller allocations could still succeed, else MOTLEY_DRIVER_LOST.
int DriverCode(cl_int code);

}  // namespace motley::opencl
