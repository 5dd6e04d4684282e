# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the tests of the command: finds it, and a program that waits in known functions. Tests source this file in the
# folder of the build.

# shellcheck source=tests/support/script.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/script.sh"
make_work

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

patient=(--timeout 60000)
# run STATUS ARGUMENT...: runs unspool with these arguments; output in $work/out, $work/err. Fails unless the exit
# status is STATUS. `stack` may stop a process for a minute, because a thread of a busy machine can take longer to
# answer than 100 ms, the default; a --timeout among the arguments counts.
run() {
  local expected=$1 status=0
  shift
  if [[ ${1-} == stack ]]; then set -- stack "${patient[@]}" "${@:2}"; fi
  "$unspool" "$@" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq $expected ]] && return
  fail "unspool $*: exit status $status instead of $expected"
  cat "$work/out" "$work/err"
}

# record_until PATTERN FILE ARGUMENT...: records until FILE has the pattern, longer each time. On a busy machine a short
# recording may have no sample of a thread.
record_until() {
  local duration
  for duration in 0.2 0.8 3; do
    "$unspool" record --duration "$duration" "${@:3}" >"$work/out" 2>"$work/err" || continue
    [[ $(zcat -f "$2" | grep -acE -- "$1") -eq 0 ]] || return 0
  done
  run 0 record --duration 20 "${@:3}"
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
