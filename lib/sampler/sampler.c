/* SPDX-License-Identifier: MIT */
/* Implements usp_sampler_*: starts and stops the thread that samples. sampling.c performs its ticks. */
#include "lib/sampler/sampling.h"

#include "lib/base/sized.h"

#include <stdio.h>
#include <stdlib.h>

struct usp_sampler {
    struct uspi_world world;
    struct uspi_own_world own;         /* used if is_own */
    struct uspi_process_world process; /* used if not is_own */
    bool is_own;                       /* the sampler samples this process */
    struct uspi_sampling *sampling;
    int64_t pid;                    /* id of the process that made the sampler; a child process has another one */
    struct uspi_lock *changes;      /* held while the thread is started or stopped */
    struct uspi_own_thread *thread; /* NULL: the sampler does not run */
};

void usp_sampler_options_init(struct usp_sampler_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->interval = 10000000;
    options->jitter = 250;
    options->budget_cpu = 10;
    options->budget_stopped = 5;
    options->max_frames = 256;
    options->max_threads = 1024;
    options->memory = UINT64_C(8) << 20;
}

static bool complete(const struct usp_sampler_options *given, struct usp_sampler_options *options) {
    const uint32_t known = USP_SAMPLER_KEEP | USP_SAMPLER_ASYNC;
    usp_sampler_options_init(options);
    if (!USPI_COMPLETE(options, given)) return false;
    if (options->which > USP_SAMPLER_NAMED || (options->flags & ~known) != 0 || options->memory < 65536) return false;
    if (options->thread_count > 0 && options->threads == NULL) return false;
    if (options->name_count > 0 && options->names == NULL) return false;
    return options->interval >= 100000 && options->interval <= UINT64_C(3600000000000) && options->jitter <= 1000 &&
           options->max_frames >= 4 && options->max_frames <= 1u << 20 && options->max_threads > 0 &&
           options->max_threads <= 1u << 20;
}

static void sample(void *context) {
    struct usp_sampler *sampler = context;
    uint64_t due = uspi_sampling_begin(sampler->sampling);
    while (!uspi_sampling_is_ending(sampler->sampling)) {
        /* A wake-up means that the sampler is stopping, or is left over from the stop before this start. */
        if (sampler->world.sleep(sampler->world.context, due)) continue;
        due = uspi_sampling_tick(sampler->sampling);
    }
    uspi_sampling_end(sampler->sampling);
}

static int begin_world(struct usp_sampler *sampler, int64_t process, char *error, size_t error_size) {
    sampler->is_own = process == 0 || process == uspi_os_process_id();
    if (sampler->is_own) return uspi_own_world_begin(&sampler->own, &sampler->world);
    return uspi_process_world_begin(&sampler->process, process, &sampler->world, error, error_size);
}

static void end_world(struct usp_sampler *sampler) {
    if (sampler->is_own) {
        uspi_own_world_end(&sampler->own);
    } else {
        uspi_process_world_end(&sampler->process);
    }
}

int usp_sampler_create(const struct usp_sampler_options *options, struct usp_sampler **sampler, char *error,
                       size_t error_size) {
    struct usp_sampler_options completed;
    if (error == NULL) error_size = 0;
    if (error_size > 0) error[0] = '\0';
    if (sampler == NULL) return USP_ERROR_ARGUMENT;
    *sampler = NULL;
    if (!complete(options, &completed)) {
        snprintf(
            error, error_size,
            "an option is out of its range: the interval is 100 us to an hour, max_frames 4 to 1048576, max_threads "
            "1 to 1048576, memory at least 65536 bytes");
        return USP_ERROR_ARGUMENT;
    }
    struct usp_sampler *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    int status = begin_world(made, completed.process, error, error_size);
    if (status != USP_OK) {
        free(made);
        return status;
    }
    made->pid = uspi_os_process_id();
    made->changes = uspi_lock_create();
    status =
        made->changes != NULL ? uspi_sampling_create(&completed, &made->world, &made->sampling) : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        *sampler = made;
    } else {
        usp_sampler_free(made);
    }
    return status;
}

int usp_sampler_start(struct usp_sampler *sampler) {
    int status = USP_OK;
    if (sampler == NULL) return USP_ERROR_ARGUMENT;
    uspi_lock_take(sampler->changes);
    if (sampler->thread == NULL) {
        uspi_sampling_set_ending(sampler->sampling, false);
        status = uspi_os_thread_start("unspool sampler", sample, sampler, &sampler->thread);
    }
    uspi_lock_give(sampler->changes);
    return status;
}

int usp_sampler_stop(struct usp_sampler *sampler) {
    if (sampler == NULL) return USP_ERROR_ARGUMENT;
    uspi_lock_take(sampler->changes);
    if (sampler->thread != NULL) {
        uspi_sampling_set_ending(sampler->sampling, true);
        sampler->world.wake(sampler->world.context);
        uspi_os_thread_join(sampler->thread);
        sampler->thread = NULL;
    }
    uspi_lock_give(sampler->changes);
    return USP_OK;
}

void usp_sampler_free(struct usp_sampler *sampler) {
    if (sampler == NULL) return;
    /* In a child process the locks are not taken: a thread of the parent may have held them at the fork. */
    if (sampler->pid == uspi_os_process_id() && sampler->changes != NULL) {
        (void)usp_sampler_stop(sampler);
    }
    uspi_sampling_free(sampler->sampling);
    end_world(sampler);
    uspi_lock_free(sampler->changes);
    free(sampler);
}

int usp_sampler_read(struct usp_sampler *sampler, uint64_t from, uint64_t to, uint64_t thread,
                     struct usp_profile **profile) {
    if (sampler == NULL || profile == NULL) return USP_ERROR_ARGUMENT;
    return uspi_sampling_read(sampler->sampling, from, to, thread, profile);
}

void usp_sampler_get_run(struct usp_sampler *sampler, struct usp_profile_run *run) {
    if (run == NULL) return;
    memset(run, 0, sizeof *run);
    if (sampler != NULL) uspi_sampling_get_run(sampler->sampling, run);
}

bool usp_sampler_is_alive(struct usp_sampler *sampler) {
    return sampler != NULL && uspi_sampling_is_alive(sampler->sampling);
}
