/* SPDX-License-Identifier: MIT */
/* Watches the main thread's loop, and prints a report of a turn that takes too long. A loop calls usp_monitor_waiting
 * before it waits, and usp_monitor_turn_begin for each turn. */
#include <unspool/unspool.h>

int main(void) {
    struct usp_monitor *monitor;
    struct usp_monitor_options options;
    struct usp_monitor_statistics seen = {0};
    usp_monitor_options_init(&options);
    options.ended = usp_print_hang;
    if (usp_monitor_create(&options, &monitor) != USP_OK || usp_monitor_start(monitor) != USP_OK) return 1;
    usp_monitor_turn_begin(monitor);
    while (seen.hangs == 0) usp_monitor_get_statistics(monitor, &seen); /* a turn without end */
    usp_monitor_free(monitor);
}
