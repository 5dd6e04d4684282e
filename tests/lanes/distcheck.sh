# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the release archive builds, tests, installs and uninstalls; programs use the installed library, shared and static; its functions and types are compared with the committed ones; the README's demo
need_build g++=g++ xz-utils git python3-jsonschema llvm-19 abigail-tools cmake
# The build of the lane check makes the archive, and is installed below. The archive is built once more, by itself.
configure_in check
dist=$top/build/dist
rm -rf "$dist"
mkdir -p "$dist"
rm -f "$top"/build/check/unspool-*.tar.xz
# Only some suites are built from the archive and run, without the static library. All suites ran in earlier lanes, and
# below the archive is checked to contain their sources.
some='tests/arch/test_x86_64 tests/capture/test_linux_calling_thread tests/snapshot/test_linux_process tests/symbolize/test_symbolize'
make_in check distcheck VERBOSE=1 TESTS="$some" check_PROGRAMS="$some tests/snapshot/linux_target" \
  'DISTCHECK_CONFIGURE_FLAGS=--disable-static CFLAGS=-O0' >"$dist/distcheck.log" 2>&1 || {
  tail -n 200 "$dist/distcheck.log" >&2
  exit 1
}
archive=$(echo "$top"/build/check/unspool-*.tar.xz)

# The archive must contain every file that git knows, except those that only a clone needs (.gitattributes).
if git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
  git -C "$top" ls-files -- . ':(exclude,attr:export-ignore)' | sort >"$dist/tracked"
  tar -tf "$archive" | sed 's,^[^/]*/,,' | sort >"$dist/archived"
  missing=$(comm -23 "$dist/tracked" "$dist/archived")
  [[ -z $missing ]] || {
    echo "not in the archive (EXTRA_DIST):" "$missing" >&2
    exit 1
  }
fi

# shellcheck source=tests/install/check.sh
. "$top/tests/install/check.sh"

# The shared library's functions and types, compared with those that are committed.
"$top/tests/install/abi.sh" "$top/build/check"

# The README's first command. The second time, nothing must be left to build.
rm -rf "$top/build/demo"
for round in 1 2; do
  echo "demo: $round"
  "$top/tools/quickstart" demo >"$dist/demo.log" 2>&1 || {
    cat "$dist/demo.log" >&2
    exit 1
  }
  grep -qE '[ -](bar|\[ViewController bar\]) \+ [0-9]+( \([^ ]+\))?$' "$dist/demo.log"
done
if grep -nE '^(configure|autoreconf|  (CC|CCLD|OBJC) )' "$dist/demo.log"; then
  echo "built twice" >&2
  exit 1
fi
