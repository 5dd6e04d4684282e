/* SPDX-License-Identifier: MIT */
/* Prints the stacks of a core file: core FILE. */
#include <stdio.h>
#include <unspool/unspool.h>

int main(int argc, char **argv) {
    struct usp_snapshot *snapshot;
    char error[512];
    if (argc != 2) return 2;
    if (usp_snapshot_open_core(argv[1], NULL, &snapshot, error, sizeof error) != USP_OK)
        return fprintf(stderr, "%s\n", error), 1;
    if (usp_print_snapshot(1, snapshot) != USP_OK) return 1;
    usp_snapshot_free(snapshot);
}
