#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# aarch64_sysroot.sh FOLDER PACKAGE...: Debian's arm64 packages with all they need, unpacked below
# FOLDER/root. Nothing is installed, and apt's own state stays as it is.
set -euo pipefail

folder=$1
shift
packages="$*"
[ "$(cat "$folder/packages" 2>/dev/null)" = "$packages" ] && exit
rm -rf "$folder"
mkdir -p "$folder"/{lists/partial,archives/partial,root}
: > "$folder/status"
apt=(apt-get -q -y --no-install-recommends -o APT::Architecture=arm64 -o APT::Architectures=arm64
  -o Dir::State="$folder" -o Dir::State::lists="$folder/lists" -o Dir::State::status="$folder/status"
  -o Dir::Cache="$folder" -o Dir::Cache::archives="$folder/archives")
if [ "$(id -u)" -eq 0 ]; then apt+=(-o APT::Sandbox::User=root); fi
echo "Unpacking Debian's arm64 libraries in $folder (some 100 MB are fetched)"
"${apt[@]}" update && "${apt[@]}" --download-only install "$@" || {
  echo "aarch64_sysroot.sh: the mirrors that apt is set up for (/etc/apt) do not have, or do not" \
    "hand out, Debian's packages for arm64; apt's own words are above" >&2
  exit 1
}
for package in "$folder"/archives/*.deb; do
  dpkg-deb --extract "$package" "$folder/root"
done
rm -r "$folder/archives" "$folder/lists"
echo "$packages" > "$folder/packages"
