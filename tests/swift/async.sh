#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Swift's async chains: programs that know who awaits them, compared with what the library captures of the calling thread, of
# another thread, and by a helper, with `unspool stack --async` from outside and of a core; and with Swift's own unwinder. Runs in
# the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_tools python3 gcore
[[ -e lib/.libs/libunspool.so ]] || skip "the library is static"
[[ $(uname -sm) == 'Linux x86_64' ]] || skip "not Linux on x86_64"
here=$top/tests/swift/async
read -ra cc <<<"${CC:-cc}"
"${cc[@]}" -O2 -Wall -Wextra -Werror -c "$here/observe.c" -I"$top/include" -o "$work/observe.o"

# compile NAME FLAG...: $work/NAME
compile() {
  "$swift_folder/swiftc" -swift-version 6 -warnings-as-errors -parse-as-library -module-name scenes "${@:2}" \
    "$here/scenes.swift" "$work/observe.o" -L"$PWD/lib/.libs" -lunspool -o "$work/$1" >"$work/log" 2>&1 || fail "$1: $(cat "$work/log")"
}
compare() { python3 "$here/compare.py" "$@" || fail "$*"; }

# stand PROGRAM SCENE: starts it and waits until it stands there. $pid, and in $truth what it says.
stand() {
  local said
  mkfifo "$work/said"
  "$1" "$2" >"$work/said" &
  pid=$!
  running+=("$pid")
  IFS=$'\t' read -r said _ truth <"$work/said"
  rm "$work/said"
  [[ $said == ready ]] || fail "$2 says $said"
}

# end PID: without the shell's word on it.
end() {
  { kill -KILL "$1" && wait "$1"; } 2>/dev/null || :
  running=()
}

# show FILE TARGET OPTION...: what the command shows of it. A thread that is not in its system call yet has run on: once more.
show() {
  local tries=100
  while ((tries-- > 0)); do
    # Where other programs keep the processors busy, a thread can be late.
    if "$unspool" stack --async --demangle short "${@:3}" "$2" >"$1" 2>/dev/null &&
      ! grep -qF 'the stack was not copied further' "$1"; then
      break
    fi
    sleep 0.01
  done
}
look() {
  show "$work/$1.json" "$2" --json
  compare json "$truth" "$work/$1.json"
}

compile plain -Onone -D COMPARE
compile optimized -O
compile small -Osize
compile marked -Onone -Xfrontend -swift-async-frame-pointer=always
for program in plain optimized small marked; do
  echo "$program"
  "$work/$program" >"$work/says" || fail "$program fails"
  compare lines "$work/says"
done
for program in optimized plain marked; do
  for scene in deep asyncLet group actor main sequence continuation behindContinuation; do
    stand "$work/$program" "$scene"
    look "$program-$scene" "$pid"
    if [[ $scene == deep || $scene == continuation ]]; then
      gcore -o "$work/core" "$pid" >/dev/null 2>&1 || fail "gcore"
      look "$program-$scene-core" "$work/core.$pid"
    fi
    end "$pid"
  done
done

# What people read.
stand "$work/optimized" throwing
show "$work/text" "$pid"
grep -qE '^    asynchronous callers, from frame [0-9]+ on$' "$work/text" || fail "the text has no join"
grep -qE ' generic\(_:_:\) await \+ 0$' "$work/text" || fail "the text does not name who awaits"
end "$pid"

# Threads that never rest, anywhere in their functions and in the runtime's: whatever is shown is true.
for level in -Onone -O; do
  "$swift_folder/swiftc" -swift-version 6 -parse-as-library -module-name busy "$level" "$here/busy.swift" -o "$work/busy" \
    >"$work/log" 2>&1 || fail "busy.swift: $(cat "$work/log")"
  start "$work/busy"
  chains=0
  : >"$work/busy.json"
  for ((round = 0; round < 100 && chains < 10; round++)); do
    for _ in 1 2 3 4 5; do
      "$unspool" stack --async --demangle short --json "$pid" >>"$work/busy.json" 2>/dev/null || :
    done
    chains=$(python3 "$here/compare.py" busy "$work/busy.json") || fail "busy.swift, $level"
  done
  echo "busy, $level: $chains chains in $((round * 5)) snapshots"
  [[ $chains -ge 10 ]] || fail "busy.swift, $level: $chains chains"
  end "$pid"
done
verdict
