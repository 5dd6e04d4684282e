/* SPDX-License-Identifier: MIT */
/* Samples the main thread and prints a flame graph, an SVG file for browsers. */
#include <unspool/unspool.h>

int main(void) {
    struct usp_sampler *sampler;
    struct usp_profile *profile;
    if (usp_sampler_create(NULL, &sampler, NULL, 0) != USP_OK || usp_sampler_start(sampler) != USP_OK) return 1;
    for (uint64_t end = usp_clock() + 300000000; usp_clock() < end;) continue; /* the program's work */
    int status = usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile);
    if (status == USP_OK) status = usp_print_profile(1, profile, USP_PROFILE_SVG);
    if (status == USP_OK) usp_profile_free(profile);
    usp_sampler_free(sampler);
    return status != USP_OK;
}
