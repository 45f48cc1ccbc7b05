#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The CUDA driver and its tests in a folder that runs on a machine with a device and nothing else
# (docs/how-to/cuda.md). cuBLAS is not taken along: it is half a gigabyte, and where a toolkit is, it is.
set -eu
if [ $# -ne 2 ]; then
  echo "usage: $0 BUILD_FOLDER NEW_FOLDER; then, wherever that is copied to: NEW_FOLDER/run" >&2
  exit 2
fi
build=$1
to=$2
if [ ! -f "$build/modules/motley-cuda.so" ] || [ ! -f "$build/tests/cuda_tests" ]; then
  echo "cuda_bundle: $build has no CUDA driver or no tests of it; configure says why," >&2
  echo "cmake --build $build --target cuda_tests motley_cuda makes them" >&2
  exit 1
fi
mkdir -p "$to/lib" "$to/modules"
cp "$build/tests/cuda_tests" "$to/"
cp "$build/modules/motley-cuda.so" "$to/modules/"
# All but the C library, which belongs to the system, as the devices' driver does.
ldd "$to/cuda_tests" "$to/modules/motley-cuda.so" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv)\.so' | sort -u |
  while read -r library; do cp -L "$library" "$to/lib/"; done
cat > "$to/run" <<'END'
#!/bin/sh
# Arguments are for GoogleTest: --gtest_filter='Cuda/KernelsSuite.*'. TOOL runs the tests under
# something: TOOL=compute-sanitizer ./run
here=$(cd "$(dirname "$0")" && pwd)
MOTLEY_MODULE_DIR=$here/modules
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export MOTLEY_MODULE_DIR LD_LIBRARY_PATH
exec ${TOOL:-} "$here/cuda_tests" "$@"
END
chmod +x "$to/run"
