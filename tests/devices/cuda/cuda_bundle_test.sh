#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What cuda_bundle.sh makes runs from where it was moved to, with its own plug-in.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$here/cuda_bundle.sh" "$1" "$folder/first"
mv "$folder/first" "$folder/moved"
ls "$folder"/moved/lib/libfmt.so* >/dev/null
"$folder/moved/run" --gtest_filter='CudaDriverTest.*' | tee "$folder/said"
grep -q 'PASSED.* 3 tests' "$folder/said"
if grep -q SKIPPED "$folder/said"; then exit 1; fi
# Without its plug-in it says what is missing, and where.
rm "$folder/moved/modules/motley-cuda.so"
if "$folder/moved/run" --gtest_filter='CudaDriverTest.IsThere*' > "$folder/said"; then exit 1; fi
grep -q "$folder/moved/modules/motley-cuda.so" "$folder/said"
if "$here/cuda_bundle.sh" "$folder" "$folder/none" 2> "$folder/said"; then exit 1; fi
grep -q 'has no CUDA driver' "$folder/said"
