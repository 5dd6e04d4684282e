/* SPDX-License-Identifier: MIT */
/* The functions and labels of a symbol file (symfile.h) as a table of symbols. */
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/symfile/symfile.h"

#include <stdlib.h>

struct symfile_tables {
    struct uspi_tables contract;
    struct uspi_symfile *symfile;
    uint64_t moved;
};

/* If a function and a label have the same start, the function wins. */
enum { RANK_FUNCTION, RANK_LABEL };

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct symfile_tables *t = (const struct symfile_tables *)tables;
    const struct uspi_symfile *f = t->symfile;
    for (uint64_t i = 0; i < f->count + f->labels && i < USPI_NO_SYMBOL; i++) {
        struct uspi_symfile_function function;
        if (!f->function(f, i, &function)) continue;
        const struct uspi_gathered_symbol candidate = {.start = function.start + t->moved,
                                                       .end = function.end + t->moved,
                                                       .symbol = (uint32_t)i,
                                                       .rank = i < f->count ? RANK_FUNCTION : RANK_LABEL};
        int status = uspi_gather(gathering, &candidate);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct symfile_tables *t = (const struct symfile_tables *)tables;
    struct uspi_symfile_function function;
    if (!t->symfile->function(t->symfile, number, &function)) return USP_ERROR_FORMAT;
    const char *name = t->symfile->name(t->symfile, number, names);
    if (name == NULL) return USP_ERROR_NOT_FOUND;
    named->start = function.start + t->moved;
    named->size = function.end - function.start;
    named->name = name;
    return USP_OK;
}

/* Prefers the first one, as the lines do. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a > b) - (a < b);
}

static void close_tables(struct uspi_tables *tables) {
    struct symfile_tables *t = (struct symfile_tables *)tables;
    t->symfile->close(t->symfile);
    free(t);
}

int uspi_symfile_tables_open(struct uspi_bytes file, const struct usp_image *image, struct uspi_tables **tables) {
    struct symfile_tables *t = calloc(1, sizeof *t);
    if (t == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_symfile_open(file, &t->symfile);
    if (status == USP_OK && t->symfile->count + t->symfile->labels == 0) {
        t->symfile->close(t->symfile);
        status = USP_ERROR_NOT_FOUND;
    }
    if (status != USP_OK) {
        free(t);
        return status;
    }
    const struct uspi_symfile *f = t->symfile;
    if (f->is_relative || (image->flags & USP_IMAGE_MACHO) != 0)
        t->moved = image->load_address - image->slide - f->header;
    t->contract = (struct uspi_tables){
        .gather = gather, .get = get, .prefer = prefer, .close = close_tables, .memory = sizeof *t + f->memory};
    *tables = &t->contract;
    return USP_OK;
}
