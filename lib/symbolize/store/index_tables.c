/* SPDX-License-Identifier: MIT */
/* The symbols in an index file as a source of names (tables.h), for images whose file was not found. */
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/store/index_file.h"

#include <stdlib.h>

struct index_tables {
    struct uspi_tables contract;
    struct uspi_index_file *index;
    uint32_t strategy;
    uint64_t moved;
    usp_addr lowest; /* start of the first symbol */
};

/* In the number of a gathered symbol: the other bits are the number of its name. */
#define IS_NAME (UINT32_C(1) << 31)

enum { FUNCTION, OTHER_NAME };

/* Returns the number of a symbol's name with IS_NAME, or the symbol's own. */
static uint32_t number_of(uint64_t symbol, const struct uspi_index_symbol *of) {
    return of->name != 0 && of->name < IS_NAME - 1 ? IS_NAME | (uint32_t)of->name : (uint32_t)symbol;
}

/* Gathers a symbol, which ends before `end`, and the end itself. */
static int gather_symbol(struct uspi_gathering *gathering, const struct uspi_index_cursor *cursor,
                         const struct uspi_index_symbol *symbol, usp_addr start, usp_addr end, uint32_t rank) {
    if (!uspi_gathering_wants(gathering, start, end)) return USP_OK;
    const struct uspi_gathered_symbol candidate = {
        .start = start,
        .end = end,
        .symbol = (uint32_t)(cursor->number - 1),
        .rank = rank,
        .name = symbol->name != 0 && symbol->name < IS_NAME - 1 ? IS_NAME | (uint32_t)symbol->name : 0};
    int status = uspi_gather(gathering, &candidate);
    return status == USP_OK && rank == FUNCTION ? uspi_gather_boundary(gathering, end) : status;
}

/* Returns whether the addresses from `low` to `high`, which belongs to them, touch a window. */
static bool overlaps(const struct uspi_excerpt *excerpt, usp_addr low, usp_addr high) {
    for (uint32_t i = 0; i < excerpt->count; i++) {
        if (low < excerpt->windows[i].high && high >= excerpt->windows[i].low) return true;
    }
    return low > high;
}

/* Moves the cursor to the next group that has a function in a window of the excerpt, unless it is inside of one. Returns
 * false when no group follows. groups NULL: each group may have one. */
static bool seek(const struct index_tables *t, const struct uspi_excerpt *excerpt,
                 const struct uspi_index_groups *groups, struct uspi_index_cursor *cursor) {
    if (groups == NULL || cursor->number % USPI_INDEX_SYMBOLS_GROUP != 0) return true;
    for (uint64_t i = cursor->number / USPI_INDEX_SYMBOLS_GROUP; i < groups->count; i++) {
        const struct uspi_index_reach *group = &groups->groups[i];
        cursor->number = i * USPI_INDEX_SYMBOLS_GROUP;
        /* A function can begin at the end of the others, and have no size. */
        if (group->low <= group->high && overlaps(excerpt, group->low + t->moved, group->high + t->moved)) return true;
    }
    return false;
}

/* Returns what is known of the groups. It is made for an excerpt; a whole index reads them all anyway. */
static const struct uspi_index_groups *groups_for(struct uspi_index_file *index,
                                                  const struct uspi_gathering *gathering) {
    if (gathering->excerpt != NULL) return uspi_index_groups(index);
    return atomic_load_explicit(&index->groups, memory_order_acquire);
}

/* The symbols that are gathered: of one strategy, with their other names. */
struct pass {
    const struct index_tables *tables;
    struct uspi_gathering *gathering;
    struct uspi_index_cursor cursor;
    usp_addr function, end; /* the last gathered function, whose other names may follow */
    bool has_function;
};

/* Gathers the symbol that the cursor has just passed. */
static int gather_next(struct pass *pass, const struct uspi_index_symbol *symbol) {
    const struct index_tables *t = pass->tables;
    const usp_addr start = symbol->start + t->moved;
    if (pass->cursor.number > IS_NAME) return USP_OK;
    if (symbol->strategy == t->strategy) {
        if (!uspi_sum(start, symbol->size, &pass->end)) pass->end = start;
        pass->function = start;
        pass->has_function = true;
        return gather_symbol(pass->gathering, &pass->cursor, symbol, start, pass->end, FUNCTION);
    }
    if (uspi_index_is_other_name(symbol) && pass->has_function && start == pass->function) {
        return gather_symbol(pass->gathering, &pass->cursor, symbol, start, pass->end, OTHER_NAME);
    }
    if (symbol->strategy != USP_STRATEGY_NONE) pass->has_function = false;
    return USP_OK;
}

/* Finds the last function of any strategy that begins at or below an address, if it reaches past `end`, and moves the
 * cursor to it. Returns false when there is none, or it is damaged. */
static bool find_holder(const struct index_tables *t, usp_addr address, usp_addr end, struct uspi_index_cursor *cursor,
                        struct uspi_index_symbol *holder) {
    struct uspi_index_cursor at;
    if (!uspi_index_last_function(t->index, address - t->moved, cursor)) return false;
    at = *cursor;
    if (uspi_index_next_symbol(t->index, &at, holder) <= 0) return false;
    holder->start += t->moved;
    return holder->size >= end - holder->start;
}

static bool nearest(const struct uspi_tables *tables, usp_addr address, usp_addr *start) {
    struct uspi_index_cursor cursor;
    struct uspi_index_symbol holder;
    if (address == UINT64_MAX ||
        !find_holder((const struct index_tables *)tables, address, address + 1, &cursor, &holder)) {
        return false;
    }
    *start = holder.start;
    return true;
}

/* No function that begins before the holder is the answer, and a function of another strategy is a better one. */
static bool find_directly(const struct uspi_tables *tables, usp_addr address, uint32_t *number,
                          struct uspi_symbol_answer *named) {
    const struct index_tables *t = (const struct index_tables *)tables;
    struct uspi_index_cursor cursor;
    struct uspi_index_symbol holder;
    if (address == UINT64_MAX || !find_holder(t, address, address + 1, &cursor, &holder)) return false;
    /* The whole index leaves out symbols that are too far above its lowest start. */
    if (address - t->lowest >= UINT32_MAX || cursor.number >= IS_NAME) return false;
    *number = USPI_NO_SYMBOL;
    if (holder.strategy != t->strategy) return true;
    *number = number_of(cursor.number, &holder);
    *named = (struct uspi_symbol_answer){.start = holder.start, .size = holder.size, .is_nearest = true};
    return true;
}

/* Gathers for an excerpt of one window if a function begins with the window and reaches past it. No function that begins
 * before is the answer for an address in it, so only the window's own symbols are read. A function of another strategy is
 * gathered as a boundary: what this strategy has before it would be a worse answer. Returns 1, 0 if there is no such
 * function, or as gather does. */
static int gather_window(struct pass *pass) {
    struct uspi_gathering *gathering = pass->gathering;
    const struct index_tables *t = pass->tables;
    struct uspi_index_symbol symbol;
    if (gathering->excerpt == NULL || gathering->excerpt->count != 1) return 0;
    const struct uspi_window *window = &gathering->excerpt->windows[0];
    if (!find_holder(t, window->low, window->high, &pass->cursor, &symbol) || symbol.start != window->low) return 0;
    uspi_excerpt_pass(gathering->excerpt, t->lowest);
    int status = uspi_gather_boundary(gathering, symbol.start), got = 1;
    while (status == USP_OK && got > 0) {
        got = uspi_index_next_symbol(t->index, &pass->cursor, &symbol);
        if (got > 0 && symbol.start + t->moved >= window->high) break;
        status = got > 0 ? gather_next(pass, &symbol) : got;
    }
    return status == USP_OK ? 1 : status;
}

static int gather(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct index_tables *t = (const struct index_tables *)tables;
    struct pass pass = {.tables = t, .gathering = gathering};
    struct uspi_index_symbol symbol;
    int got = gather_window(&pass);
    if (got != 0) return got > 0 ? USP_OK : got;
    pass.cursor = (struct uspi_index_cursor){0};
    const struct uspi_index_groups *groups = groups_for(t->index, gathering);
    if (groups != NULL && !groups->has[t->strategy]) return USP_OK;
    if (gathering->excerpt == NULL) groups = NULL;
    if (groups != NULL) uspi_excerpt_pass(gathering->excerpt, groups->lowest[t->strategy] + t->moved);
    while (seek(t, gathering->excerpt, groups, &pass.cursor)) {
        got = uspi_index_next_symbol(t->index, &pass.cursor, &symbol);
        if (got <= 0) return got;
        const int status = gather_next(&pass, &symbol);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static int get(const struct uspi_tables *tables, uint32_t number, struct uspi_names *names,
               struct uspi_symbol_answer *named) {
    const struct index_tables *t = (const struct index_tables *)tables;
    struct uspi_index_symbol symbol;
    if ((number & IS_NAME) != 0) return uspi_index_text(t->index, number & ~IS_NAME, names, &named->name);
    int status = uspi_index_symbol(t->index, number, &symbol);
    if (status != USP_OK) return status;
    *named = (struct uspi_symbol_answer){.start = symbol.start + t->moved, .size = symbol.size};
    return uspi_index_text(t->index, symbol.name, names, &named->name);
}

/* Each start has only one function. */
static int prefer(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a > b) - (a < b);
}

static int find_key(const struct uspi_tables *tables, const char *name, uint64_t *key) {
    return uspi_string_pool_number_of(&((const struct index_tables *)tables)->index->strings, name, key);
}

/* Adds the names of all strategies, since aliases have none (index_write.h). */
static int add_keys(const struct uspi_tables *tables, struct uspi_by_name *names) {
    const struct index_tables *t = (const struct index_tables *)tables;
    struct uspi_index_cursor cursor = {0};
    struct uspi_index_symbol symbol;
    int got;
    while ((got = uspi_index_next_symbol(t->index, &cursor, &symbol)) > 0) {
        if (symbol.name != 0 && !uspi_by_name_add(names, symbol.name, symbol.start + t->moved))
            return USP_ERROR_NO_MEMORY;
    }
    return got;
}

static void close_tables(struct uspi_tables *tables) { free(tables); }

int uspi_index_tables_open(struct uspi_index_file *index, uint32_t strategy, uint64_t moved,
                           struct uspi_tables **tables) {
    struct uspi_index_cursor cursor = {0};
    struct uspi_index_symbol first;
    const uint64_t count = uspi_index_symbol_count(index);
    if (count == 0) return USP_ERROR_NOT_FOUND;
    if (uspi_index_next_symbol(index, &cursor, &first) < 0) return USP_ERROR_FORMAT;
    struct index_tables *t = calloc(1, sizeof *t);
    if (t == NULL) return USP_ERROR_NO_MEMORY;
    t->contract = (struct uspi_tables){.gather = gather,
                                       .get = get,
                                       .prefer = prefer,
                                       .close = close_tables,
                                       .memory = sizeof *t,
                                       .skips = true,
                                       .nearest = nearest,
                                       .find_directly = find_directly,
                                       .direct_limit = count / 4,
                                       .find_key = find_key,
                                       .add_keys = add_keys};
    t->index = index;
    t->strategy = strategy;
    t->moved = moved;
    t->lowest = first.start + moved;
    *tables = &t->contract;
    return USP_OK;
}
