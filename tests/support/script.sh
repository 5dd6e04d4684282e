# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the test scripts, which source it. Each runs in the folder of the build, as in make check, or anywhere if it
# examines only the source.

# Signals that the caller ignores (nohup, a shell's background) would be ignored by all that a script starts, and a shell
# cannot change that.
if [[ -n $(trap -p HUP INT QUIT PIPE TERM) ]] && env --default-signal true 2>/dev/null; then
  exec env --default-signal "$BASH" "$0" "$@"
fi

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
started_in=$PWD
failures=0

# After a pipe, scripts read everything (grep -c, grep >/dev/null) instead of stopping at the first match (grep -q, awk's
# exit): with pipefail, a command that writes to a closed pipe fails. check-shell.sh looks for grep -q.

# fail TEXT...: reports an error; the script continues and ends with `verdict`.
fail() {
  echo "$*"
  failures=$((failures + 1))
}

verdict() {
  [[ $failures -eq 0 ]] && exit 0
  echo "$(basename "$0"): $failures found"
  exit 1
}

# skip TEXT: ends the script with Automake's status for a test that could not run. If USP_REQUIRE_TOOLS is set (CI),
# that is a failure.
skip() {
  echo "skipped: $*"
  [[ -z ${USP_REQUIRE_TOOLS-} ]] || exit 1
  exit 77
}

# The size of tests: see tests/support/under.h. is_full_size: whether a large test is to run as a whole. note_sample: for
# large tests; prints the line by which `make check` counts the samples.
is_full_size() { [[ ${USP_TEST_SCALE:-0} -ge 1 ]]; }
note_sample() { is_full_size || echo "sample: this test ran a part of its full size"; }

# runnable PROGRAM FOLDER: prints the file to run for a program that was built: itself or, where tests/support/under.h
# names an emulator, a script in the folder that runs it in the emulator.
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

# python3 ARGUMENT...: the interpreter that make check has looked up (tests/Makefile.inc), as long as the shell finds the
# same python3.
if [[ -s tests/support/interpreter ]]; then
  mapfile -t interpreter <tests/support/interpreter
  if [[ -x ${interpreter[1]-} && $(type -P python3) == "${interpreter[0]}" ]]; then
    python3() { "${interpreter[1]}" "$@"; }
  fi
fi

# use_command: sets $unspool to the command of this build: itself rather than Libtool's script, which starts ten processes.
# shellcheck disable=SC2034 # the caller reads $unspool
use_command() {
  unspool=$started_in/tools/unspool
  [[ -x $started_in/tools/.libs/unspool ]] || return 0
  unspool=$started_in/tools/.libs/unspool
  export LD_LIBRARY_PATH=$started_in/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

have() { command -v "$1" >/dev/null 2>&1; }

# is_sanitized: whether this build has sanitizers, whose time and memory say nothing.
is_sanitized() { grep -q -- '^CFLAGS = .*-fsanitize' Makefile; }

# need_tools TOOL...: skips the test unless all of them are installed.
need_tools() {
  local tool
  for tool; do have "$tool" || skip "$tool is not installed"; done
}

# part_needs TOOL...: whether all of them are installed, for a part of a script that is left out without them. If
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

# make_work: makes a folder $work for the script's files. When the script ends, the folder is removed, after the processes
# in the list `running` were killed.
running=()
make_work() {
  work=$(mktemp -d)
  trap clean_up EXIT
}
# shellcheck disable=SC2317,SC2329 # called by trap
clean_up() {
  # Programs may have ended.
  [[ ${#running[@]} -eq 0 ]] || kill -KILL "${running[@]}" 2>/dev/null || :
  wait
  rm -rf "$work"
}

# Timings decide no test, and the machine may be busy. A script waits for a program by these functions, never for a fixed
# time. check-shell.sh looks for loops of its own.

# wait_until COMMAND...: repeats a command until it succeeds. Fails if it has not within two minutes.
wait_until() {
  local end=$((SECONDS + 120))
  until "$@"; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.02
  done
}

# start COMMAND ARGUMENT...: starts a program and waits until it has written the line "ready". Its process id is in $pid.
start() {
  local said
  mkfifo "$work/said"
  "$@" >"$work/said" &
  pid=$!
  running+=("$pid")
  read -r said <"$work/said"
  rm "$work/said"
  [[ $said == ready ]] || skip "$* does not start"
}

# stop: ends the program that `start` has started last, so that it takes no more of the processors' time.
stop() { stop_process "${running[-1]}"; }

# stop_process PID: ends a program that `start` has started.
stop_process() {
  local i
  # Without a message of the shell's.
  disown "$1"
  kill -KILL "$1"
  for i in "${!running[@]}"; do
    [[ ${running[i]} != "$1" ]] || unset "running[i]"
  done
}

# shellcheck source=tests/support/beside.sh
. "$top/tests/support/beside.sh"

# code FOLDER...: prints the C files below the folders, relative to $top.
code() { (cd "$top" && find "$@" -name '*.[chm]' | sort); }

# project_files: prints all files of the project, relative to $top, including those that are not committed yet. Only a
# clone tells the project's files from those of a build. In a release archive the test that calls this is skipped,
# because the archive does not change.
project_files() {
  local build=()
  # The build folder's name may not be in .gitignore.
  if [[ $started_in == "$top"/* ]]; then build=(":!:${started_in#"$top"/}"); fi
  git -C "$top" -c safe.directory="$top" ls-files --cached --others --exclude-standard -- "${build[@]}" |
    while read -r file; do if [[ -f $top/$file ]]; then echo "$file"; fi; done
}
# sample_changed FILE...: sets the array $sample to the files that have changed since the lane `format`, which examines
# all, last passed; to all of them at full size, or where that commit is not known.
# shellcheck disable=SC2034 # the caller reads $sample
sample_changed() {
  local passed git=(git -C "$top" -c safe.directory="$top")
  sample=("$@")
  if is_full_size; then return; fi
  passed=$(awk '$1 == "format" { print $2 }' "$top/tests/lanes/last-green" 2>/dev/null || :)
  if [[ -z $passed ]] || ! "${git[@]}" cat-file -e "$passed^{commit}" 2>/dev/null; then return; fi
  note_sample
  mapfile -t sample < <(grep -xF -f <(printf '%s\n' "$@") \
    <("${git[@]}" diff --name-only "$passed" && "${git[@]}" ls-files --others --exclude-standard))
}
# project_version: prints the version, which configure.ac has.
project_version() { sed -nE 's/^AC_INIT\(\[unspool\], \[([0-9.]+)\].*/\1/p' "$top/configure.ac"; }
need_clone() {
  if [[ ! -e $top/.git ]] || ! have git; then
    echo "skipped: not a clone, or no git"
    exit 77
  fi
}
# strip_comments: prints C text from standard input without comments and with empty string literals. (Automake needs
# perl, too.)
strip_comments() { perl -0pe 's{/\*.*?\*/}{ }gs; s{//[^\n]*}{}g; s{"(?:[^"\\\n]|\\.)*"}{""}g'; }

# public_functions: prints the functions that the public headers declare with USP_API, one on each line.
public_functions() {
  cat "$top"/include/unspool/*.h | strip_comments | tr '\n' ' ' | grep -oE 'USP_API [^;{(]*\busp_[a-z0-9_]+ *\(' |
    grep -oE 'usp_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u
}

# apple_targets: prints all slices of tools/build-apple, each with the compiler's target for its oldest system, one on
# each line.
apple_targets() {
  local slice arch version
  "$top/tools/build-apple" --old --list | while read -r slice _ arch version; do
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

# automake_sources: prints the source files in Automake's lists, of the library and of the Objective-C layer, one on
# each line.
automake_sources() {
  cat "$top"/{arch,lib,lib/objc}/Makefile.inc | grep -oE '(^|[[:space:]])(arch|lib)/[A-Za-z0-9_/-]+\.[cm]\b' | tr -d '[:blank:]' | sort -u
}
