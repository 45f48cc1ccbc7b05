// SPDX-License-Identifier: Apache-2.0
// What the numbers mean that OpenCL and CLBlast return. Any thread.
#pragma once

#include <CL/cl.h>

#include <string>

namespace motley::opencl {

// "CL_OUT_OF_RESOURCES", "CLBlast -2041" (clblast.h names those): what people search for.
std::string ErrorName(cl_int code);

// MOTLEY_DRIVER_NO_MEMORY where something smaller could go on, else MOTLEY_DRIVER_LOST.
int DriverCode(cl_int code);

}  // namespace motley::opencl
