/* SPDX-License-Identifier: MIT */
/* Sampling without a thread: what happens at one tick, and when the next one is due. The thread that sleeps between ticks is
 * sampler.c's; a test's script can be in its place. */
#ifndef USPI_SAMPLING_H
#define USPI_SAMPLING_H

#include "lib/sampler/world.h"

#include <unspool/sampler.h>

struct uspi_sampling;

/* options are complete and sensible; their arrays are copied. On success *sampling is the caller's to free. USP_OK,
 * USP_ERROR_NO_MEMORY. */
int uspi_sampling_create(const struct usp_sampler_options *options, const struct uspi_world *world,
                         struct uspi_sampling **sampling);
void uspi_sampling_free(struct uspi_sampling *sampling);

/* A run begins: learns which threads there are. Returns when the first tick is due. */
uint64_t uspi_sampling_begin(struct uspi_sampling *sampling);

/* One tick. Returns when the next one is due, by the world's clock. */
uint64_t uspi_sampling_tick(struct uspi_sampling *sampling);

/* The run ends: what is known of threads that have not run goes to the profile. */
void uspi_sampling_end(struct uspi_sampling *sampling);

/* As the public functions of these names. May be called at any time, by any thread. */
int uspi_sampling_read(struct uspi_sampling *sampling, uint64_t from, uint64_t to, uint64_t thread,
                       struct usp_profile **profile);
void uspi_sampling_get_run(struct uspi_sampling *sampling, struct usp_profile_run *run);
bool uspi_sampling_is_alive(struct uspi_sampling *sampling);

#endif
