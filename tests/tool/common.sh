# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the tests of the command share: where it is, and a program that stands still in known functions. Sourced by them, in
# the folder of the build.

# shellcheck source=tests/support/script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
work=$(mktemp -d)
running=()
# shellcheck disable=SC2329 # called by trap
clean_up() {
  [[ ${#running[@]} -eq 0 ]] || kill -KILL "${running[@]}" 2>/dev/null
  wait
  rm -rf "$work"
}
trap clean_up EXIT

# Nothing that this user has indexed or fetched.
unset UNSPOOL_INDEX_STORE
export XDG_CACHE_HOME=$work/cache

# The command itself rather than Libtool's script around it, in a folder that any user can read.
chmod 755 "$work"
if [[ -x tools/.libs/unspool ]]; then
  cp tools/.libs/unspool lib/.libs/libunspool.so.* "$work"
  export LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  cp tools/unspool "$work"
fi
cp tests/tool/stuck "$work"
unspool=$work/unspool
# shellcheck disable=SC2034 # used where this is sourced
stuck=$work/stuck

# start COMMAND ARGUMENT...: runs it until it says that it is ready. Its process id is in $pid.
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

# run STATUS ARGUMENT...: the command with these arguments; output in $work/out, $work/err. Any other exit status fails.
run() {
  local expected=$1 status=0
  shift
  "$unspool" "$@" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq $expected ]] && return
  fail "unspool $*: exit status $status instead of $expected"
  cat "$work/out" "$work/err"
}

out_has() { grep -qE -- "$1" "$work/out" || fail "the output lacks: $1" "$(cat "$work/out")"; }
out_lacks() { ! grep -qE -- "$1" "$work/out" || fail "the output has: $1" "$(cat "$work/out")"; }
err_has() { grep -qE -- "$1" "$work/err" || fail "standard error lacks: $1" "$(cat "$work/err")"; }
err_is_empty() { [[ ! -s $work/err ]] || fail "on standard error: $(cat "$work/err")"; }

# frames HEADING: the symbols under the heading of a thread that matches, one a line, without inlined calls.
frames() {
  awk -v heading="$1" '/^Thread /{ on = ($0 ~ heading) } { sub(/ \([^ ]+:[0-9]+\)$/, "") }
    on && /^[0-9]+.* \+ [0-9]+$/ { print $(NF - 2) }' "$work/out"
}

# expect_frames HEADING NAME...: these names in this order, whatever stands before and behind them.
expect_frames() {
  local heading=$1 found
  shift
  found=$(frames "$heading" | tr '\n' ' ')
  [[ " $found" == *" $* "* ]] || fail "$heading: \"$found\" lacks \"$*\""
}

# validate SCHEMA FILE...: the JSON in the files is as doc/schema/ describes it. Where that cannot be asked, the test is
# skipped from there on; so it comes last.
validate() {
  local schema=$1 python file
  shift
  for python in python3 /usr/bin/python3 ''; do
    if have "$python" && "$python" -c 'import jsonschema' 2>/dev/null; then break; fi
  done
  if [[ -z $python ]]; then
    [[ $failures -eq 0 ]] || verdict
    skip "python3-jsonschema is not installed"
  fi
  for file; do
    "$python" "$top/tests/tool/validate.py" "$top/doc/schema/$schema.schema.json" "$file" ||
      fail "$file: not as $schema.schema.json describes it"
  done
}
