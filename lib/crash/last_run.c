/* SPDX-License-Identifier: MIT */
/* How the last run ended. Only a report and a clean end are certain; everything else is a guess, in the order of the
 * evidence's strength. */
#include "lib/crash/kit.h"

#include <inttypes.h>
#include <stdio.h>

#define SAY(...) snprintf(run->evidence, sizeof run->evidence, __VA_ARGS__)

static bool has_oom_kills(const struct uspi_os_run *then, const struct uspi_os_run *now) {
    return then->has_oom_kills && now->has_oom_kills && now->oom_kills > then->oom_kills;
}

static uint32_t judge(const struct uspi_crash_run_file *last, const char *version, struct usp_crash_run *run) {
    struct uspi_os_run now;
    (void)uspi_os_run_describe(&now);
    if (last->has_report) {
        SAY("it has written a report");
        return USP_CRASH_CRASHED;
    }
    if (last->has_ended) {
        SAY("it has noted its end");
        return USP_CRASH_ENDED;
    }
    if (version != NULL && version[0] != '\0' && last->version[0] != '\0' && strcmp(version, last->version) != 0) {
        SAY("a guess: its version was %s, this is %.60s", last->version, version);
        return USP_CRASH_UPDATED;
    }
    if (now.boot[0] != '\0' && last->facts.boot[0] != '\0' && strcmp(now.boot, last->facts.boot) != 0) {
        SAY("a guess: the system has started since");
        return USP_CRASH_RESTARTED;
    }
    if (last->facts.pid == now.pid && last->facts.start == now.start) {
        SAY("this process has executed the program anew");
        return USP_CRASH_EXECUTED;
    }
    if (has_oom_kills(&last->facts, &now)) {
        SAY("a guess: the kernel has killed %" PRIu64 " processes of its control group since, for lack of memory",
            now.oom_kills - last->facts.oom_kills);
        return USP_CRASH_OUT_OF_MEMORY;
    }
    SAY("it has left neither a report nor a note of its end: SIGKILL, _exit, or another signal");
    return USP_CRASH_UNEXPLAINED;
}

int usp_crash_last_run(const char *directory, const char *version, struct usp_crash_run *run) {
    struct uspi_crash_run_file last;
    if (directory == NULL || run == NULL) return USP_ERROR_ARGUMENT;
    memset(run, 0, sizeof *run);
    const struct uspi_crash_kit *kit = uspi_os_crash_context();
    const int lock = uspi_os_lock_old_folder(directory);
    const int status = uspi_crash_settle(directory, kit != NULL ? kit->run : "", 0, 0, &last);
    uspi_os_unlock_folder(lock);
    if (status == USP_ERROR_NOT_FOUND) return USP_OK;
    if (status != USP_OK) return status;
    run->verdict = judge(&last, version, run);
    run->pid = last.facts.pid;
    run->started = last.started;
    if (last.ended > last.started) run->lasted = last.ended - last.started;
    if (run->verdict == USP_CRASH_CRASHED) run->crashes = last.crashes + 1;
    if (uspi_crash_has_report(directory, last.report)) snprintf(run->report, sizeof run->report, "%s", last.report);
    return USP_OK;
}
