# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the tests of the command: finds it, and starts a program that waits in known functions. Tests source this
# file in the folder of the build.

# shellcheck source=tests/support/script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
work=$(mktemp -d)
running=()
# shellcheck disable=SC2329 # called by trap
clean_up() {
  # Programs may have ended.
  [[ ${#running[@]} -eq 0 ]] || kill -KILL "${running[@]}" 2>/dev/null || :
  wait
  rm -rf "$work"
}
trap clean_up EXIT

# Ignore indexes and files that this user has stored.
unset UNSPOOL_INDEX_STORE
export XDG_CACHE_HOME=$work/cache

# The command itself rather than Libtool's wrapper script, in a folder that any user can read.
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

# start COMMAND ARGUMENT...: starts a command and waits until it reports that it is ready. Its process id is in $pid.
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

# run STATUS ARGUMENT...: runs unspool with these arguments; output in $work/out, $work/err. Fails unless the exit
# status is STATUS. `stack` may stop a process for 10 s, because a thread of a busy machine can take longer to answer
# than 100 ms, the default; a --timeout among the arguments counts.
run() {
  local expected=$1 status=0
  shift
  if [[ ${1-} == stack ]]; then set -- stack --timeout 10000 "${@:2}"; fi
  "$unspool" "$@" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq $expected ]] && return
  fail "unspool $*: exit status $status instead of $expected"
  cat "$work/out" "$work/err"
}

out_has() { grep -qE -- "$1" "$work/out" || fail "the output lacks: $1" "$(cat "$work/out")"; }
out_lacks() { ! grep -qE -- "$1" "$work/out" || fail "the output has: $1" "$(cat "$work/out")"; }
err_has() { grep -qE -- "$1" "$work/err" || fail "standard error lacks: $1" "$(cat "$work/err")"; }
err_is_empty() { [[ ! -s $work/err ]] || fail "on standard error: $(cat "$work/err")"; }

# frames HEADING: prints the symbols below the heading of a thread that matches, one on each line, without inlined
# calls.
frames() {
  awk -v heading="$1" '/^Thread /{ on = ($0 ~ heading) } { sub(/ \([^ ]+:[0-9]+\)$/, "") }
    on && /^[0-9]+.* \+ [0-9]+$/ { print $(NF - 2) }' "$work/out"
}

# expect_frames HEADING NAME...: checks that the stack has these names in this order, with any names before and after
# them.
expect_frames() {
  local heading=$1 found
  shift
  found=$(frames "$heading" | tr '\n' ' ')
  [[ " $found" == *" $* "* ]] || fail "$heading: \"$found\" lacks \"$*\""
}

# paths_once WHAT MESSAGE: checks that standard error is this message alone, an extended regular expression, and that no
# word with a slash and no file of this folder stands in it twice.
paths_once() {
  local twice
  [[ $(wc -l <"$work/err") -eq 1 ]] || fail "$1: not one message: $(cat "$work/err")"
  err_has "^unspool: $2\$"
  twice=$(tr -s ' ' '\n' <"$work/err" | sed 's/[:;,]*$//' | sort | uniq -d |
    while read -r word; do if [[ $word == */* || -e $word ]]; then echo "$word"; fi; done)
  [[ -z $twice ]] || fail "$1: \"$twice\" stands twice: $(cat "$work/err")"
}

# validate SCHEMA FILE...: checks that the JSON in the files conforms to doc/schema/. Where no validator is installed,
# the rest of the test is skipped, so this comes last. open_keys lists the keys whose objects may have any members.
open_keys=()
validate() {
  local schema=$top/doc/schema/$1.schema.json python status=77 said
  shift
  for python in python3 /usr/bin/python3; do
    have "$python" || continue
    status=0
    said=$("$python" "$top/tests/tool/validate.py" "${open_keys[@]/#/--open=}" "$schema" "$@" 2>&1) || status=$?
    [[ $status -eq 77 ]] || break
  done
  case $status in
  0) ;;
  77)
    [[ $failures -eq 0 ]] || verdict
    skip "python3-jsonschema is not installed"
    ;;
  *) fail "$said" ;;
  esac
}
