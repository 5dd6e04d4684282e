# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the test scripts share. Sourced by them; each runs in the folder of the build (as make check does it), or anywhere
# when it looks at the source alone.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
started_in=$PWD
failures=0

# Behind a pipe scripts count (grep -c) and do not stop at the first (grep -q, awk's exit): with pipefail, what writes into a
# closed pipe fails.

# fail TEXT...: one finding; the script goes on and ends with `verdict`.
fail() {
  echo "$*"
  failures=$((failures + 1))
}

verdict() {
  [[ $failures -eq 0 ]] && exit 0
  echo "$(basename "$0"): $failures found"
  exit 1
}

# skip TEXT: Automake's status for a test that could not be made. Where USP_REQUIRE_TOOLS is set (CI), that is a failure.
skip() {
  echo "skipped: $*"
  [[ -z ${USP_REQUIRE_TOOLS-} ]] || exit 1
  exit 77
}

# runnable PROGRAM FOLDER: the file to run for what was built: itself or, where tests/support/under.h names an emulator, a script in
# the folder that runs it so.
runnable() {
  local script=$2/${1##*/}
  if [[ ${USP_TEST_UNDER-} != qemu-* ]]; then
    echo "$1"
    return
  fi
  printf '#!/bin/sh\nexec %s %s "$@"\n' "$USP_TEST_UNDER" "$1" >"$script"
  chmod +x "$script"
  echo "$script"
}

have() { command -v "$1" >/dev/null 2>&1; }

# need_tools TOOL...: skips the test unless all of them are installed.
need_tools() {
  local tool
  for tool; do have "$tool" || skip "$tool is not installed"; done
}

# part_needs TOOL...: whether all of them are installed, for a part of a script that is left out without them. Where
# USP_REQUIRE_TOOLS is set (CI), a part that is left out is a failure.
part_needs() {
  local tool
  for tool; do
    have "$tool" && continue
    echo "left out: what needs $tool, which is not installed"
    [[ -z ${USP_REQUIRE_TOOLS-} ]] || fail "$tool is not installed"
    return 1
  done
}

# make_work: a folder $work for what the script writes, gone when it ends.
make_work() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
}

# shellcheck source=tests/support/beside.sh
. "$top/tests/support/beside.sh"

# The C files below the folders given, relative to $top.
code() { (cd "$top" && find "$@" -name '*.[chm]' | sort); }

# Whatever the project consists of, relative to $top, what is not committed yet included. Only a clone knows what is ours
# and what a build has made; a release archive is not going to be changed, so the test that asks is skipped.
project_files() {
  local build=()
  # A build folder whose name .gitignore doesn't know.
  if [[ $started_in == "$top"/* ]]; then build=(":!:${started_in#"$top"/}"); fi
  git -C "$top" -c safe.directory="$top" ls-files --cached --others --exclude-standard -- "${build[@]}" |
    while read -r file; do if [[ -f $top/$file ]]; then echo "$file"; fi; done
}
need_clone() {
  if [[ ! -e $top/.git ]] || ! have git; then
    echo "skipped: not a clone, or no git"
    exit 77
  fi
}
# C text on standard input without comments and with string literals emptied. (Automake needs perl as well.)
strip_comments() { perl -0pe 's{/\*.*?\*/}{ }gs; s{//[^\n]*}{}g; s{"(?:[^"\\\n]|\\.)*"}{""}g'; }

# The functions that the public headers declare with USP_API, one a line.
public_functions() {
  cat "$top"/include/unspool/*.h | strip_comments | tr '\n' ' ' | grep -oE 'USP_API [^;{(]*\busp_[a-z0-9_]+ *\(' |
    grep -oE 'usp_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u
}

# The slices of tools/build-apple with the compiler's target for the oldest system of each, one a line.
apple_targets() {
  local slice arch version
  "$top/tools/build-apple" --list | while read -r slice _ arch version; do
    case ${slice%-*} in
    maccatalyst) version=ios$version-macabi ;;
    visionos) version=xros$version ;;
    visionos-simulator) version=xros$version-simulator ;;
    *-simulator) version=${slice%%-*}$version-simulator ;;
    *) version=${slice%%-*}$version ;;
    esac
    echo "$slice $arch-apple-$version"
  done
}

# The source files in Automake's lists, one a line: of the library and of the layer for Objective-C.
automake_sources() {
  cat "$top"/{arch,lib,lib/objc}/Makefile.inc | grep -oE '(^|[[:space:]])(arch|lib)/[A-Za-z0-9_/-]+\.[cm]\b' | tr -d '[:blank:]' | sort -u
}
