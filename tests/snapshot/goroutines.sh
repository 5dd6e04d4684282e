#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool stack --goroutines`: the goroutines of a process, and of its core, are compared with what the program
# says of itself. Programs without debug information, without symbols and not by Go are refused in words. USP_GO: other
# go programs that make the test program, separated by colons. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools go python3
use_command
make_work
export GO111MODULE=off GOCACHE=$work/cache GOPATH=$work/path GOTOOLCHAIN=local GOFLAGS='' CGO_ENABLED=0
source=$top/tests/snapshot/go/waiting.go compare=$top/tests/snapshot/goroutines.py
mkfifo "$work/input"

# begin PROGRAM: starts it as $pid, with output to $work/said and Go's dump to $work/dump, and waits until all of its
# goroutines wait.
begin() {
  GOTRACEBACK=system "$1" <>"$work/input" >"$work/said" 2>"$work/dump" &
  pid=$!
  running+=("$pid")
  wait_until grep -qsx ready "$work/said" || fail "$1 has not begun: $(cat "$work/dump")"
  wait_until rests
}
# rests: whether the main goroutine waits.
# shellcheck disable=SC2317,SC2329 # called by wait_until
rests() {
  "$unspool" stack --goroutines --no-lines "$pid" >"$work/out" 2>&1 && grep -q '^Goroutine 1 \[select\]$' "$work/out"
}

# refuse PROGRAM TEXT: the goroutines of the program are refused with that text, and the threads are shown.
refuse() {
  local status=0
  "$unspool" stack --goroutines --no-lines "$pid" >"$work/out" 2>"$work/err" || status=$?
  [[ $status -eq 1 ]] || fail "$1: exit status $status instead of 1"
  grep -q "$2" "$work/err" || fail "$1: refused with: $(cat "$work/err")"
  grep -q '^Thread' "$work/out" || fail "$1: no threads are shown"
}

IFS=: read -ra others <<<"${USP_GO-}"
for go in go "${others[@]}"; do
  version=$("$go" version)
  echo "-- $version"
  (cd "$work" && "$go" build -o program "$source")
  begin "$work/program"
  grep -q 'main\.reads' "$work/out" || fail "$version: the goroutine in a system call is not shown as a thread"
  "$unspool" stack --goroutines --json "$pid" >"$work/live" || fail "$version: exit status $?"
  "$unspool" stack --goroutines --merge "$pid" >"$work/merged" || fail "$version: --merge: exit status $?"
  grep -c 'main\.deep' "$work/merged" >/dev/null || fail "$version: --merge shows no goroutines"
  if part_needs gcore; then
    gcore -o "$work/core" "$pid" >"$work/gcore" 2>&1 || fail "$version: gcore: $(cat "$work/gcore")"
    "$unspool" stack --goroutines --json "$work/core.$pid" >"$work/dead" || fail "$version: core: exit status $?"
  fi
  kill -QUIT "$pid"
  wait "$pid" 2>/dev/null || :
  for report in live dead; do
    [[ $report == live || -e $work/dead ]] || continue
    python3 "$compare" "$work/$report" "$work/dump" || fail "$version: the goroutines ($report) differ"
  done
  rm -f "$work"/{live,dead,said} "$work"/core.*
done

(cd "$work" && go build -ldflags=-w -o without-lines "$source" && go build -ldflags='-s -w' -o stripped "$source")
for refusal in 'without-lines no debug information of Go' 'stripped no image has Go'; do
  program=${refusal%% *}
  "$work/$program" <>"$work/input" >"$work/said" 2>"$work/dump" &
  pid=$!
  running+=("$pid")
  wait_until grep -qsx ready "$work/said"
  refuse "$program" "${refusal#* }"
  rm "$work/said"
done
sleep 1000 &
pid=$!
running+=("$pid")
refuse 'a program that is not by Go' 'no image has Go'
verdict
