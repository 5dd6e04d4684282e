/* SPDX-License-Identifier: MIT */
/* Binary search. */
#ifndef USPI_BASE_BISECT_H
#define USPI_BASE_BISECT_H

/* Makes `i`, a variable of an unsigned type, the first number from `from` on, below `to`, for which `condition` is
 * true; `to` if there is none. `condition` is an expression with `i`: false up to some number, and true from there on.
 * It may be evaluated for any number in between. A macro, so that each search is compiled with its own condition. */
#define USPI_FIRST(i, from, to, condition)                                                                             \
    do {                                                                                                               \
        __typeof__(i) uspi_low = (from), uspi_high = (to);                                                             \
        while (uspi_low < uspi_high) {                                                                                 \
            (i) = uspi_low + (uspi_high - uspi_low) / 2;                                                               \
            if (condition) {                                                                                           \
                uspi_high = (i);                                                                                       \
            } else {                                                                                                   \
                uspi_low = (i) + 1;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        (i) = uspi_low;                                                                                                \
    } while (0)

#endif
