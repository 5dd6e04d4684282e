/* SPDX-License-Identifier: MIT */
/* Implements uspi_os_thread_id_inside (os.h): a process in a container knows its threads by other ids. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/proc.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

int64_t uspi_os_thread_id_inside(int64_t pid, uint64_t thread) {
    static const char name[] = "\nNSpid:";
    char text[4096];
    if (thread > INT32_MAX) return 0;
    if (uspi_proc_read(pid, (int64_t)thread, "status", text, sizeof text) <= 0) return 0;
    const char *line = strstr(text, name);
    /* Linux writes it since 4.1; without it the thread has one id. */
    if (line == NULL) return (int64_t)thread;
    int64_t last = 0;
    for (line += sizeof name - 1; *line == '\t';) {
        char *end;
        const long long number = strtoll(line, &end, 10);
        if (end == line) break;
        last = number;
        line = end;
    }
    return last;
}

#endif
