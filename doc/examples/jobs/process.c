/* SPDX-License-Identifier: MIT */
/* Prints the stacks of another process: process PID. */
#include <stdio.h>
#include <stdlib.h>
#include <unspool/unspool.h>

int main(int argc, char **argv) {
    struct usp_snapshot *snapshot;
    char error[512];
    if (argc != 2) return 2;
    if (usp_snapshot_create_process(atoi(argv[1]), NULL, &snapshot, error, sizeof error) != USP_OK)
        return fprintf(stderr, "%s\n", error), 1;
    if (usp_print_snapshot(1, snapshot) != USP_OK) return 1;
    usp_snapshot_free(snapshot);
}
