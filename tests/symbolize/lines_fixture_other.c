/* SPDX-License-Identifier: MIT */
/* A second unit of the fixtures of lines_matrix.sh. An optimizer that knows both inlines it. To be compiled with
 * -DLINES_TWO_UNITS. */
#include "lines_fixture.h"

static int scaled(int a) { return a * 5 + sink; }

int other_unit(int a) {
    sink = a;
    return scaled(a) ^ scaled(header_twice(a));
}
