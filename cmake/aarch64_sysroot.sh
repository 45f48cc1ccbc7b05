#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# aarch64_sysroot.sh FOLDER PACKAGE...: unpacks Debian's arm64 packages, with all their
# dependencies, below FOLDER/root. Installs nothing, and leaves apt's own state as it is.
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
echo "Unpacking Debian's arm64 libraries in $folder (downloads about 100 MB)"
"${apt[@]}" update && "${apt[@]}" --download-only install "$@" || {
  echo "aarch64_sysroot.sh: apt's mirrors (/etc/apt) do not have, or did not" \
    "hand out, Debian's packages for arm64; apt's own words are above" >&2
  exit 1
}
for package in "$folder"/archives/*.deb; do
  dpkg-deb --extract "$package" "$folder/root"
done
rm -r "$folder/archives" "$folder/lists"
echo "$packages" > "$folder/packages"
