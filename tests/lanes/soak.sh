# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: 10,000 crashes in storms; an hour of captures: they leave no trace, do not disturb new programs, and no thread waits for another (not in CI)
need_build
configure_in soak --disable-static
make_in soak all
make_in soak test-programs
make_in soak tests/crash/crasher tests/tool/stuck
(cd build/soak && USP_CRASHES=${USP_CRASHES:-2500} "$top/tests/crash/storms.sh")
# An hour with the build, on two processors: a scale of 62 took 54 minutes without it.
export USP_TEST_SCALE=${USP_SOAK_SCALE:-66}
# Check's own limits are for `make check`.
export CK_TIMEOUT_MULTIPLIER=10
(
  cd build/soak || exit
  for suite in no_trace contention exec; do "./tests/capture/test_linux_$suite"; done
  USP_TEST_SCALE=$((USP_TEST_SCALE / 8 + 1)) ./tests/capture/test_linux_storm
)
