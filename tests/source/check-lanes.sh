#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests which lanes CI runs, how it ends, and what it notes, with the real tools/ci-lane in a repository whose lanes do
# nothing; and when lanes run a test again in an emulator.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
make_work
cd "$top"

# The paths of the table must exist, and the lists must agree.
while read -r lane path; do
  [[ -e $path ]] || fail "tools/ci-lane: the lane $lane has the path $path, which does not exist"
done < <(tools/ci-lane --paths)

# The faults of the lane sabotage must fit the source.
tests/sabotage/run.sh --fit || fail "tests/sabotage: see above"

# Copies what the command needs, and replaces each lane.
clone=$work/clone
mkdir -p "$clone/tests/lanes" "$clone/tests/support" "$clone/tools" "$clone/.ci"
cp .ci/run "$clone/.ci/"
cp tools/ci-lane tools/build.sh tools/packages.sh "$clone/tools/"
cp tests/lanes/common.sh "$clone/tests/lanes/"
cp tests/support/beside.sh "$clone/tests/support/"
mapfile -t lanes < <(tools/ci-lane --list | awk '{ print $1 }')
cd "$clone"
for lane in "${lanes[@]}"; do echo ': # About: nothing' >"tests/lanes/$lane.sh"; done
echo build/ >.gitignore
unset "${!USP_@}"
export GIT_AUTHOR_NAME=name GIT_AUTHOR_EMAIL=name@example.org GIT_COMMITTER_NAME=name GIT_COMMITTER_EMAIL=name@example.org
git init -q .
when=1700000000

# commit: commits everything, each time a day later.
commit() {
  when=$((when + 86400))
  git add -A
  GIT_AUTHOR_DATE="$when +0000" GIT_COMMITTER_DATE="$when +0000" git commit -q --allow-empty -m change
}
# plan_has LANE, plan_lacks LANE: whether CI would run the lane.
plan_has() { tools/ci-lane --plan | grep -xc "$1" >/dev/null || fail "CI leaves out the lane $1: $2"; }
plan_lacks() { ! tools/ci-lane --plan | grep -xc "$1" >/dev/null || fail "CI runs the lane $1: $2"; }
# noted LANE: prints the commit at which the lane passed.
noted() { awk -v lane="$1" '$1 == lane { print $2 }' tests/lanes/last-green 2>/dev/null || :; }
# run_ends STATUS LINE COMMAND...: runs a command, whose status and last line must be these. LINE may be a pattern.
run_ends() {
  local expected=$1 line=$2 status=0
  shift 2
  "$@" >"$work/out" 2>&1 || status=$?
  # shellcheck disable=SC2053 # the line may be a pattern
  [[ $status -eq $expected && $(tail -n 1 "$work/out") == $line ]] ||
    fail "$*: status $status, not $expected; its last line is: $(tail -n 1 "$work/out")"
}

# Nothing has passed, so everything runs, but not the sample of what runs as a whole.
commit
plan_has swift 'it never passed'
plan_lacks apple-sample 'apple and apple-emulated include it'
plan_lacks soak 'it is a long one'
run_ends 0 'CI passed' tools/ci-lane --all
grep -qx 'next long lane: soak' "$work/out" || fail "--all names no long lane: $(tail -n 3 "$work/out")"
[[ $(wc -l <tests/lanes/last-green) -eq $(grep -c '^== .*: ok after ' "$work/out") ]] || fail "not every lane is noted"
[[ $(noted fuzz) == "$(git rev-parse HEAD)" ]] || fail "the lane fuzz is not noted"

# Now the base lanes run, of those that take turns one.
commit
[[ $(tools/ci-lane --plan | tr '\n' ' ') == 'check format clang apple-sample tsan asan s390x distcheck ' ]] ||
  fail "CI without a change runs $(tools/ci-lane --plan | tr '\n' ' ')"
# The other one has its turn after that.
run_ends 0 '== s390x: ok after *' tools/ci-lane s390x
plan_has i686 'its turn'
plan_lacks s390x 'the turn of i686'

# Changes: committed, in the folder, in a folder's file, in the lane itself.
mkdir -p swift lib/objc
: >swift/code.swift
commit
plan_has swift 'swift/ was changed'
plan_lacks objc 'nothing of it was changed'
: >lib/objc/code.m
git add lib/objc/code.m
plan_has objc 'lib/objc was changed in this folder'
git rm -qf lib/objc/code.m
echo '# changed' >>tests/lanes/fuzz.sh
plan_has fuzz 'the lane itself was changed'
git checkout -q tests/lanes/fuzz.sh
sed -i 's/^go [0-9a-f]*/go 0123456789012345678901234567890123456789/' tests/lanes/last-green
plan_has go 'the commit that is noted is not known'

# A change that is not committed and settings of a test prove another tree than the commit's.
before=$(noted clang)
commit
echo '# changed' >>tests/lanes/fuzz.sh
tools/ci-lane clang >/dev/null
[[ $(noted clang) == "$before" ]] || fail 'a lane is noted although the folder has changes'
git checkout -q tests/lanes/fuzz.sh
USP_TEST_PART=1 tools/ci-lane clang >/dev/null
[[ $(noted clang) == "$before" ]] || fail 'a lane is noted although a variable changed it'
tools/ci-lane clang >/dev/null
[[ $(noted clang) == "$(git rev-parse HEAD)" ]] || fail 'a lane that passes is not noted'

# Endings: a missing tool, a failure, no time.
before=$(noted swift)
echo 'without "no toolchain"' >>tests/lanes/swift.sh
commit
run_ends 0 'CI passed without: swift (no toolchain)' .ci/run
[[ $(noted swift) == "$before" ]] || fail 'a lane that was left out is noted'
commit
echo 'false; echo goes on' >>tests/lanes/format.sh
run_ends 1 'CI failed in lane: format' .ci/run
! grep -qE '^(goes on|== clang)' "$work/out" || fail "after a failure the run continues"
USP_CI_LIMIT=1 run_ends 1 'CI failed: no time for: check format clang apple-sample swift tsan asan s390x distcheck' .ci/run
echo 'sleep 20' >tests/lanes/check.sh
USP_LANE_LIMIT=1 run_ends 1 'CI failed in lane: check' .ci/run
# ---- by_emulator.sh: a test is run again only after an assertion in the emulator's own source, three times at most
cat >"$work/fails" <<'END'
#!/bin/sh
echo x >>"$0.runs"
[ "$(grep -c x "$0.runs")" -gt "$1" ] || { echo "$2"; exit 1; }
END
chmod +x "$work/fails"
# runs_are TIMES STATUS FAILURES MESSAGE: expects so many runs of a test that first fails so often.
runs_are() {
  local status=0
  rm -f "$work/fails.runs"
  "$top/tests/support/by_emulator.sh" "$work/fails" "$3" "$4" >/dev/null || status=$?
  [[ $(grep -c x "$work/fails.runs") -eq $1 && $status -eq $2 ]] || fail "by_emulator.sh, \"$4\": status $status"
}
own='ERROR:../../accel/tcg/cpu-exec.c:954:cpu_exec: assertion failed: (cpu == current_cpu)'
runs_are 3 0 2 "$own"
runs_are 3 1 9 "$own"
runs_are 1 1 1 "tests/a.c:3:F:case:test:0: Assertion 'a == b' failed"

# A test of which make check runs a sample is in the list that the lane `full` runs at full size. make check itself finds
# that out only when all tests have passed.
listed=$(sed -n '/^sampled_tests = /,/[^\\]$/p' "$top/tests/Makefile.inc")
while read -r file; do
  [[ $listed == *"${file%.c}"* ]] || fail "$file runs as a sample: tests/Makefile.inc does not have it in sampled_tests"
done < <(cd "$top" && grep -rl note_sample tests --include='*.sh' --include='*.c' | grep -vE '^tests/(support|source)/')
verdict
