/* SPDX-License-Identifier: MIT */
/* Sampling without a thread: performs one tick and computes when the next one is due. sampler.c has the thread that
 * sleeps between ticks; tests use a script instead. */
#ifndef USPI_SAMPLER_SAMPLING_H
#define USPI_SAMPLER_SAMPLING_H

#include "lib/sampler/world.h"

#include <unspool/sampler.h>

struct uspi_sampling;

/* Makes a sampling. options are complete and valid; their arrays are copied. On success the caller frees *sampling.
 * Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_sampling_create(const struct usp_sampler_options *options, const struct uspi_world *world,
                         struct uspi_sampling **sampling);
void uspi_sampling_free(struct uspi_sampling *sampling);

/* Begins a run: lists the threads. Returns when the first tick is due. */
uint64_t uspi_sampling_begin(struct uspi_sampling *sampling);

/* Performs one tick. Returns when the next one is due, by the world's clock. */
uint64_t uspi_sampling_tick(struct uspi_sampling *sampling);

/* Whether the run is to end, initially false. A tick that is being performed then leaves out the threads that it has
 * not captured yet. Any thread may call them at any time. */
void uspi_sampling_set_ending(struct uspi_sampling *sampling, bool is_ending);
bool uspi_sampling_is_ending(struct uspi_sampling *sampling);

/* Ends the run: adds the pending samples of threads that have not run to the profile. */
void uspi_sampling_end(struct uspi_sampling *sampling);

/* Implement the public functions of these names. Any thread may call them at any time. */
int uspi_sampling_read(struct uspi_sampling *sampling, uint64_t from, uint64_t to, uint64_t thread,
                       struct usp_profile **profile);
void uspi_sampling_get_run(struct uspi_sampling *sampling, struct usp_profile_run *run);
bool uspi_sampling_is_alive(struct uspi_sampling *sampling);

#endif
