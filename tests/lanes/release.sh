# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: tools/release twice with the same result, its SBOM; Debian's packages in a fresh root; the Conan package (not in CI)
need_build git xz-utils faketime ruby python3 python3-venv mmdebstrap lintian cmake
venv=$(python_tools release 'conan>=2,<3 spdx-tools<1')
rm -rf "$top/build/release-test"
mkdir -p "$top/build/release-test"
"$top/tests/install/release.sh" "$top/build/release-test/files" "$venv"
archive=$(echo "$top"/build/release-test/files/unspool-*.tar.xz)
tar -C "$top/build/release-test" -xf "$archive"
source=$top/build/release-test/$(basename "$archive" .tar.xz)

# README.md's commands for the archive. DESTDIR is the environment's, so that they need not be changed.
# shellcheck source=tests/support/readme_command.sh
. "$top/tests/support/readme_command.sh"
stage=$top/build/release-test/stage
# With the times of the files, or make would run Automake, which people who unpack the archive need not have.
cp -Rp "$source" "$top/build/release-test/installed"
(
  cd "$top/build/release-test/installed"
  DESTDIR=$stage MAKEFLAGS=-j$jobs bash -c "$(readme_command 'the library and the command')" >"$top/build/release-test/install.log" 2>&1
) || {
  tail -n 40 "$top/build/release-test/install.log"
  exit 1
}
LD_LIBRARY_PATH=$stage/usr/local/lib "$stage/usr/local/bin/unspool" --version

"$top/tests/install/conan.sh" "$source" "$venv"
"$top/tests/install/debian.sh" "$archive"
