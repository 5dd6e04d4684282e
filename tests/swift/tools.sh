#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Counts how many frames of async Swift programs tools show, true and false ones, of the same stopped stack: `unspool
# stack --async` and gdb from outside, and Swift's own Runtime.Backtrace, which the program calls just before it stands
# still. Prints a line for each kind of program, and fails when unspool shows a false frame, or fewer true ones than
# another tool. Not part of a lane: doc/swift.md has its figures. Run in the build folder.
set -euo pipefail
# shellcheck source=tests/swift/common.sh
. "$(dirname "$0")/common.sh"
need_tools gdb
[[ -e lib/.libs/libunspool.so && -x tests/demangle/demangle_lines ]] || skip "the library is static, or demangle_lines is not built"
read -ra cc <<<"${CC:-cc}"
"${cc[@]}" -O2 -c "$here/observe.c" -I"$top/include" -o "$work/observe.o"
scenes=(deep throwing resumed asyncLet group insideGroup detached actor main sequence continuation afterContinuation)
grep -oE 'from\("[A-Za-z.]+"\)' "$here/scenes.swift" | sed 's/.*("\(.*\)")/\1/' | sort -u >"$work/own"

# stands PROGRAM SCENE: starts the program and waits until it has reached the scene. False: it has ended before.
stands() {
  : >"$work/truth"
  "$@" >"$work/truth" 2>/dev/null &
  pid=$!
  running=("$pid")
  wait_until is_ready_or_has_ended && kill -0 "$pid" 2>/dev/null || return 1
  truth=$(sed -n 's/^ready\t[^\t]*\t//p' "$work/truth")
}

# The line is there when its end is.
# shellcheck disable=SC2317,SC2329 # called by wait_until
is_ready_or_has_ended() {
  if kill -0 "$pid" 2>/dev/null; then grep -q '^ready' "$work/truth" && [[ -z $(tail -c 1 "$work/truth") ]]; fi
}

by_unspool() {
  "$unspool" stack --async --json --demangle short "$1" >"$work/json" 2>/dev/null || :
  python3 - "$work/json" <<'END'
import json, sys
for thread in json.load(open(sys.argv[1]))["threads"]:
    names = [f.get("symbol", "?" + f["address"]) for f in thread.get("frames", []) + thread.get("async", {}).get("frames", [])]
    if "observe(_:)" in names:
        print("\n".join(names))
END
}

by_gdb() {
  gdb -batch -nx -p "$1" -ex 'thread apply all bt' 2>/dev/null |
    sed -n 's/^Thread .*/thread/p; s/^#[0-9]* *\(0x[0-9a-f]*\) in ?? (.*/?\1/p; s/^#[0-9]* .*in \([^ ?]*\) (.*/\1/p' |
    tests/demangle/demangle_lines short | awk '/^thread$/ { if (has) exit; text = ""; next } { text = text $0 "\n" }
      $0 == "observe(_:)" { has = 1 } END { if (has) printf "%s", text }'
}

by_swift() { sed -n 's/^frames\t//p' "$work/truth" | tr ';' '\n' | tests/demangle/demangle_lines short; }

# SwiftPM passes the option for frame pointers.
pointers='-Xcc -fno-omit-frame-pointer'
levels=('-Onone' '-O' "-O $pointers" "-Osize $pointers" "-O $pointers -Xfrontend -swift-async-frame-pointer=always")
for level in "${levels[@]}"; do
  read -ra flags <<<"$level"
  for kind in plain compare; do
    compiled=("${flags[@]}")
    [[ $kind == plain ]] || compiled+=(-D COMPARE)
    must_compile $kind scenes "${compiled[@]}" "$work/observe.o" -L"$PWD/lib/.libs" -lunspool
  done
  ended=0
  : >"$work/counts"
  for scene in "${scenes[@]}"; do
    if ! stands "$work/compare" "$scene"; then
      ended=$((ended + 1))
      stands "$work/plain" "$scene" || fail "$scene does not stand, $level"
    fi
    by_unspool "$pid" >"$work/unspool.names"
    by_gdb "$pid" >"$work/gdb.names"
    by_swift >"$work/swift.names"
    tr ';' '\n' <<<"$truth" >"$work/program.names"
    cp "/proc/$pid/maps" "$work/maps"
    python3 "$here/tools.py" "$truth" "$work/own" "$work/maps" program="$work/program.names" unspool="$work/unspool.names" gdb="$work/gdb.names" \
      swift="$work/swift.names" | tee "$work/one" >>"$work/counts"
    awk -v scene="$scene" '{ true_[$1] = $2; false_[$1] = $3 } END { if (false_["unspool"] > 0 || true_["unspool"] < true_["program"])
      print scene ": unspool has " true_["unspool"] " of " true_["program"] ", false: " false_["unspool"] }' "$work/one" >"$work/bad"
    [[ ! -s $work/bad ]] || fail "$level, $(cat "$work/bad")"
    end "$pid"
  done
  awk -v level="$level" -v ended="$ended" '{ true_[$1] += $2; false_[$1] += $3 } END {
    printf "%s: %d functions; true and false: unspool %d, %d; Runtime.Backtrace %d, %d; gdb %d, %d; programs that Runtime.Backtrace ended: %d\n",
      level, true_["program"], true_["unspool"], false_["unspool"], true_["swift"], false_["swift"], true_["gdb"], false_["gdb"], ended }' \
    "$work/counts"
done
verdict
