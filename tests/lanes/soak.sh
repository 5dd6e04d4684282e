# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: an hour of captures: no trace is left, new programs are left alone, no thread waits for another (not in CI)
need_build
configure_in soak --disable-static
make_in soak all test-programs
# Minutes for each of some ten tests.
export USP_TEST_SCALE=${USP_SOAK_SCALE:-80}
(
  cd build/soak || exit
  for suite in no_trace contention exec; do "./tests/capture/test_linux_$suite"; done
  USP_TEST_SCALE=$((USP_TEST_SCALE / 8 + 1)) ./tests/capture/test_linux_storm
)
