#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests Swift's async chains: programs that know which functions await them are compared with captures of the calling
# thread, of another thread, and by a helper; with `unspool stack --async` from outside and of a core; and with Swift's
# own unwinder. Run in the build folder.
set -euo pipefail
# shellcheck source=tests/swift/common.sh
. "$(dirname "$0")/common.sh"
[[ -e lib/.libs/libunspool.so ]] || skip "the library is static"
read -ra cc <<<"${CC:-cc}"
"${cc[@]}" -O2 -Wall -Wextra -Werror -c "$here/observe.c" -I"$top/include" -o "$work/observe.o"

# scenes NAME ARGUMENT...: compiles $work/NAME.
scenes() { must_compile "$1" scenes "${@:2}" -warnings-as-errors "$work/observe.o" -L"$PWD/lib/.libs" -lunspool; }

# stand PROGRAM SCENE: starts the program and waits until it has reached the scene. Sets $pid, and $truth to the
# functions that the program names.
stand() {
  start_until $'ready\t*' "$@"
  truth=$(grep '^ready' "$work/truth" | cut -f 3)
}

# show FILE TARGET OPTION...: writes the command's output about the target, once the thread is in its system call.
show() { wait_until is_whole "$@" || fail "no whole stack: $(cat "$1")"; }
# shellcheck disable=SC2317,SC2329 # called by wait_until
is_whole() {
  "$unspool" stack --async "${@:3}" "$2" >"$1" 2>/dev/null && ! grep -qF 'the stack was not copied further' "$1"
}
look() {
  show "$work/$1.json" "$2" --json --demangle short
  compare json "$truth" "$work/$1.json"
}

scenes plain -Onone -D COMPARE
scenes optimized -O
scenes small -Osize
scenes marked -Onone -Xfrontend -swift-async-frame-pointer=always
for program in plain optimized small marked; do
  echo "$program"
  ways=(self thread helper)
  [[ $program != plain ]] || ways+=(swift)
  in_time "$work/$program" >"$work/says" || fail "$program fails"
  compare lines "$work/says" "${ways[@]}"
done
for program in optimized plain marked; do
  for scene in deep asyncLet group actor main sequence continuation afterContinuation; do
    stand "$work/$program" "$scene"
    look "$program-$scene" "$pid"
    if [[ $scene == deep || $scene == continuation ]]; then
      core "$pid"
      look "$program-$scene-core" "$work/core.$pid"
    fi
    end "$pid"
  done
done

# The text for people.
stand "$work/optimized" throwing
show "$work/text" "$pid"
grep -qE '^    asynchronous callers, from frame [0-9]+ on$' "$work/text" || fail "the text has no join"
grep -qE ' generic\(_:_:\) await \+ 0$' "$work/text" || fail "the text does not name who awaits"
show "$work/text" "$pid" --demangle full
grep -q ' await resume partial function for ' "$work/text" || fail "--demangle full is not full"
show "$work/text" "$pid" --json
grep -q '"symbol": *"([0-9]*) await resume partial function for ' "$work/text" || fail "JSON has not the full name"
end "$pid"

# Threads that never rest are captured anywhere in their functions and in the runtime's. Every reported chain must be
# true, and none must be missing because a thread has run on.
for level in Onone O; do
  must_compile busy busy "-$level"
  start_until ready "$work/busy"
  : >"$work/busy.json"
  for ((round = 0; round < 100; round++)); do
    "$unspool" stack --async --demangle short --no-lines --json "$pid" >>"$work/busy.json" 2>/dev/null || :
  done
  echo "busy, $level"
  compare busy "$work/busy.json"
  end "$pid"
done
verdict
