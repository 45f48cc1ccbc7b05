# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE -DSOURCES=a.cl;b.cl -P embed_kernels.cmake writes the concatenated sources as the
# text kKernelSource of kernel_names.h.
set(text "")
foreach(source IN LISTS SOURCES)
  file(READ ${source} part)
  string(APPEND text "${part}")
endforeach()
# The text is cut into pieces: compilers need not accept strings of more than 65,536 bytes.
set(lines "")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE ${OUT} "// From devices/opencl/kernels; do not edit.
#include \"devices/opencl/kernel_names.h\"

namespace motley::opencl {
const std::string_view kKernelSource =
    \"${text}\";
}  // namespace motley::opencl
")
