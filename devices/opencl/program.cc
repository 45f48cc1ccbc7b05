// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/program.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "devices/opencl/cl_errors.h"
#include "devices/opencl/program_cache.h"

namespace motley::opencl {
namespace {

constexpr size_t kMostLogBytes = 3000;

std::string LogOf(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  if (log.size() > kMostLogBytes) log = log.substr(0, kMostLogBytes) + " ...";
  return log.empty() ? "the compiler left no log" : log;
}

Result<Program> Compile(cl_context context, const FoundDevice& device, std::string_view source,
                        const std::string& flags) {
  const char* text = source.data();
  const size_t size = source.size();
  cl_int code = CL_SUCCESS;
  Program program(clCreateProgramWithSource(context, 1, &text, &size, &code));
  if (code == CL_SUCCESS) {
    code = clBuildProgram(program.get(), 1, &device.id, flags.c_str(), nullptr, nullptr);
  }
  if (code == CL_SUCCESS) return program;
  const std::string log = program == nullptr ? "" : ": " + LogOf(program.get(), device.id);
  return Status::Internal(
      fmt::format("its driver cannot compile the OpenCL program ({}){}", ErrorName(code), log));
}

// Null when the driver rejects the binary.
Program Load(cl_context context, const FoundDevice& device, const std::string& binary,
             const std::string& flags) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int of_binary = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  Program program(
      clCreateProgramWithBinary(context, 1, &device.id, &size, &bytes, &of_binary, &code));
  if (code != CL_SUCCESS || of_binary != CL_SUCCESS) return nullptr;
  code = clBuildProgram(program.get(), 1, &device.id, flags.c_str(), nullptr, nullptr);
  return code == CL_SUCCESS ? std::move(program) : nullptr;
}

// Empty when the driver has no binary.
std::string BinaryOf(cl_program program) {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
      CL_SUCCESS) {
    return "";
  }
  std::string binary(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  const cl_int code =
      clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, nullptr);
  return code == CL_SUCCESS ? binary : "";
}

}  // namespace

std::string ProgramKey(const FoundDevice& device, std::string_view source,
                       const std::string& flags) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", device.platform_text, device.name, device.version_text,
                     flags, source);
}

Result<Program> BuildProgram(cl_context context, const FoundDevice& device, std::string_view source,
                             const ProgramOptions& options) {
  const std::string key = ProgramKey(device, source, options.flags);
  const bool keeps = !options.cache_folder.empty();
  if (const auto binary = keeps ? ReadCached(options.cache_folder, key) : std::nullopt) {
    if (Program program = Load(context, device, *binary, options.flags)) return program;
  }
  MOTLEY_ASSIGN_OR_RETURN(Program program, Compile(context, device, source, options.flags));
  if (keeps) {
    // If the folder is not writable, the next run compiles again.
    if (const std::string binary = BinaryOf(program.get()); !binary.empty()) {
      WriteCached(options.cache_folder, key, binary);
    }
  }
  return program;
}

}  // namespace motley::opencl
