#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares `unspool stack` of real programs, and of their cores, with gdb and eu-stack: interpreters of this system, and
# a program whose threads stop in many places, linked in several ways. Runs in the folder of the build. USP_LIVE_MORE=1:
# also programs that are large or run under a just-in-time compiler, as far as they are installed.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools gdb python3
gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 || skip "gdb has no Python"
# gdb sees an emulator's process as the emulator itself.
[[ ${USP_TEST_UNDER-} != qemu-* ]] || skip "gdb sees the emulator"
measures=()
if have eu-stack; then
  measures=(--eu-stack eu-stack)
elif [[ -n ${USP_REQUIRE_TOOLS-} ]]; then
  skip "no eu-stack"
fi
read -ra cc <<<"${CC:-cc}"
here=$top/tests/unwind

compare() {
  python3 "$here/live.py" --core "$work/core" "${measures[@]}" "$unspool" gdb "$@" | tee -a "$work/compared" || fail "$*"
}

# build NAME FLAG...: returns whether the compiler succeeds.
build() {
  local name=$1
  shift
  "${cc[@]}" -O2 -fomit-frame-pointer -fexceptions -pthread "$@" "$here/live_stuck.c" -o "$work/$name" 2>"$work/build.log"
}
build stuck_plain || fail "live_stuck.c: $(cat "$work/build.log")"
compare "$work/stuck_plain"
if build stuck_static -DSTATIC -static-pie; then compare "$work/stuck_static"; fi
if build stuck_fixed -no-pie; then compare "$work/stuck_fixed"; fi
# 32-bit programs on a 64-bit kernel, if it runs them.
if [[ $(uname -m) == x86_64 ]] && have i686-linux-gnu-gcc; then
  cc=(i686-linux-gnu-gcc)
  # The compiler may be installed without its libc.
  if ! build stuck_narrow -DSTATIC -static; then
    [[ -z ${USP_REQUIRE_COMPILERS-} ]] || fail "live_stuck.c: $(cat "$work/build.log")"
  elif "$work/stuck_narrow" probe; then
    compare "$work/stuck_narrow"
  fi
fi

# A shell in a function that waits for a child; interpreters with threads, and in the middle of a calculation.
if [[ -x /bin/bash ]]; then
  # shellcheck disable=SC2016 # the inner shell's
  compare /bin/bash -c 'f() { if [[ $1 -gt 0 ]]; then f $(($1 - 1)); else echo ready; sleep 1000 & wait; fi; }; f 8; :'
fi
if [[ -x /usr/bin/python3 ]]; then
  cat >"$work/threads.py" <<'END'
import threading, time
def down(n):
    return time.sleep(1000) if n == 0 else sorted([1, 2], key=lambda x: down(n - 1))
def busy():
    while True: "".join(sorted("unspool" * 100))
for f, a in ((down, (3,)), (busy, ()), (down, (0,))): threading.Thread(target=f, args=a, daemon=True).start()
print("ready", flush=True)
down(5)
END
  compare /usr/bin/python3 "$work/threads.py"
fi
if have perl; then
  # shellcheck disable=SC2016 # perl's
  compare perl -e '$| = 1; print "ready\n"; sub f { my $n = shift; return $n ? join(",", map { f($n - 1) } 1..3) : "x" } f(6) while 1'
fi
# A gdb process, examined by another gdb.
compare "$(command -v gdb)" -nx -q -batch -ex 'python import time; print("ready", flush=True); time.sleep(1000)'
read -ra cxx <<<"${CXX:-c++}"
if have "${cxx[0]}"; then
  "${cxx[@]}" -O2 -fomit-frame-pointer "$here/live_throwing.cc" -o "$work/throwing" 2>"$work/build.log" ||
    fail "live_throwing.cc: $(cat "$work/build.log")"
  if [[ -x $work/throwing ]]; then compare "$work/throwing"; fi
fi

if [[ -n ${USP_LIVE_MORE-} ]]; then
  if have node; then
    cat >"$work/down.js" <<'END'
function down(n) {
  if (n > 0) return [1].forEach(() => down(n - 1));
  console.log("ready");
  require("child_process").execSync("sleep 1000");
}
down(5);
END
    compare "$(command -v node)" "$work/down.js"
  fi
  if have rustc; then
    rustc -O -o "$work/rust" "$here/live_threads.rs" 2>"$work/build.log" || fail "live_threads.rs: $(cat "$work/build.log")"
    if [[ -x $work/rust ]]; then compare "$work/rust"; fi
  fi
  if have java; then
    cat >"$work/Down.java" <<'END'
class Down {
    static void down(int n) throws Exception {
        if (n > 0) { down(n - 1); return; }
        System.out.println("ready");
        Thread.sleep(1000000);
    }
    public static void main(String[] a) throws Exception { down(5); }
}
END
    compare "$(command -v java)" -Xint "$work/Down.java"
  fi
fi
awk '
  match($0, /, [a-z-]+: [0-9]+ stacks, [0-9]+ frames compared, /) {
    split(substr($0, RSTART + 2), words, " ")
    stacks[words[1]] += words[2]
    frames[words[1]] += words[4]
  }
  END { for (tool in stacks) print "against " tool " " stacks[tool] " stacks, " frames[tool] " frames compared" }
' "$work/compared"
verdict
