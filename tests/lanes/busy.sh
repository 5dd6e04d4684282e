# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: suites with threads, processes and timers ten times beside four busy loops, then all of make check twice: each passes at its first attempt (not in CI)
need_build g++=g++ libunicorn-dev lld=ld.lld mold=mold
configure_in check
make_in check all
make_in check test-programs

# spin: keeps a processor busy until the lane ends.
spin() { while kill -0 $$ 2>/dev/null; do for ((n = 0; n < 100000; n++)); do :; done; done; }
loops=()
for _ in 1 2 3 4; do
  spin &
  loops+=($!)
done

# round NAME ARGUMENT...: runs these tests once. The lane continues after a failure, so that one run shows all of them.
failed=0
round() {
  echo "-- $1"
  make_in check "${@:2}" VERBOSE=1 && return 0
  failed=$((failed + 1))
  echo "$1: $(cd "$top/build/check" && grep -rlx ':test-result: FAIL' --include='*.trs' tests | sed 's/\.trs$//' | tr '\n' ' ')" |
    tee -a "$work/failures"
}
live=$(programs check live '^$')
for ((n = 1; n <= ${USP_BUSY_ROUNDS:-10}; n++)); do round "round $n" check-TESTS "TESTS=${USP_BUSY_TESTS:-$live}"; done
if [[ -z ${USP_BUSY_TESTS-} ]]; then for n in 1 2; do round "make check, $n" check; done; fi
kill "${loops[@]}"
if [[ $failed -gt 0 ]]; then
  echo "failed at the first attempt:"
  cat "$work/failures"
  exit 1
fi
