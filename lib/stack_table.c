/* SPDX-License-Identifier: MIT */
/* The table of known stacks: see stack_table.h. Captures come from elsewhere, names from the symbolizer.
 *
 * A stack is looked for twice. First by its addresses as they are, which costs no look at the images and is how nearly all
 * sightings end; then by (image, offset) pairs, because a library that came back elsewhere changes addresses only. */
#include <unspool/stack_table.h>

#include "lib/os.h"
#include "lib/symbolize/expected.h"

#include <stdlib.h>
#include <string.h>

/* Where a frame is in every launch. No padding: places are compared as bytes. */
struct place {
    uint64_t offset; /* in the image; outside all images the address */
    uint32_t image;  /* index in known_images, NO_IMAGE */
    uint32_t kind;
};
#define NO_IMAGE UINT32_MAX

/* A build that was met, wherever it was loaded. */
struct known_image {
    uint8_t build_id[USP_BUILD_ID_MAX];
    uint32_t build_id_size;
    char *name; /* the last part of its path; identifies an image without build-id */
    uint64_t digest[2];
};

/* A stack's frames and names, which records may hold after the stack has gone. */
struct body {
    uint32_t holders; /* the entry and each record */
    struct usp_stack stack;
    struct usp_symbol *symbols; /* NULL: not named yet; set once */
    struct usp_frame frames[];
};

/* By what an entry is found. */
enum index { BY_ADDRESSES, BY_PLACES, BY_NUMBER, INDEXES };

struct entry {
    uint64_t key[INDEXES];
    struct entry *next[INDEXES]; /* in the same bucket */
    struct entry *newer, *older;
    uint64_t count, first, last, epoch;
    uint64_t identity[2];
    struct body *body;
    struct place places[];
};

struct usp_stack_table {
    struct usp_stack_table_options options;
    struct uspi_lock *naming; /* held while a stack is being named; taken before `lock` */
    struct uspi_lock *lock;   /* for all that follows */
    struct usp_images *own;   /* of this process, at `epoch` */
    uint64_t epoch;
    uint32_t *known_of; /* for each image of the list: 1 + index in known_images, 0 not looked up yet */
    struct known_image *known_images;
    size_t known_count, known_room;
    struct entry **buckets[INDEXES];
    size_t bucket_count; /* a power of two */
    struct entry *newest, *oldest;
    uint64_t next_number;
    struct usp_stack_table_statistics statistics;
};

void usp_stack_table_options_init(struct usp_stack_table_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->max_stacks = 4096;
    options->max_frames = 262144;
}

/* ---- hashing ---- */

/* splitmix64's finalizer (Steele, Lea, Flood, 2014) at each element: what comes first matters. */
static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) + UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static void mix_both(uint64_t hash[2], uint64_t value) {
    hash[0] = mix(hash[0], value);
    hash[1] = mix(hash[1], value);
}

static uint64_t hash_addresses(const struct usp_stack *stack, uint64_t epoch) {
    uint64_t hash = mix(stack->count, epoch);
    for (uint32_t i = 0; i < stack->count; i++) hash = mix(hash, stack->frames[i].pc);
    return hash;
}

/* What of a stack must be equal beside its frames. */
static void mix_shape(uint64_t hash[2], const struct usp_stack *stack) {
    mix_both(hash, stack->arch);
    mix_both(hash, stack->count);
    mix_both(hash, stack->physical);
    mix_both(hash, stack->omitted);
    mix_both(hash, stack->omitted > 0 ? stack->omitted_at : USP_NO_INDEX);
    mix_both(hash, stack->count > stack->physical ? stack->async_join : USP_NO_INDEX);
}

static bool same_shape(const struct usp_stack *a, const struct usp_stack *b) {
    return a->arch == b->arch && a->count == b->count && a->physical == b->physical && a->omitted == b->omitted &&
           (a->omitted == 0 || a->omitted_at == b->omitted_at) &&
           (a->count == a->physical || a->async_join == b->async_join);
}

static bool same_addresses(const struct usp_stack *a, const struct usp_stack *b) {
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->frames[i].pc != b->frames[i].pc || a->frames[i].kind != b->frames[i].kind) return false;
    }
    return true;
}

/* ---- buckets ---- */

static struct entry **bucket_of(struct usp_stack_table *table, enum index index, uint64_t key) {
    return &table->buckets[index][key & (table->bucket_count - 1)];
}

static void link_entry(struct usp_stack_table *table, enum index index, struct entry *entry) {
    struct entry **bucket = bucket_of(table, index, entry->key[index]);
    entry->next[index] = *bucket;
    *bucket = entry;
}

static void unlink_entry(struct usp_stack_table *table, enum index index, const struct entry *entry) {
    struct entry **link = bucket_of(table, index, entry->key[index]);
    while (*link != entry) link = &(*link)->next[index];
    *link = entry->next[index];
}

static struct entry *find_addresses(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t epoch,
                                    uint64_t key) {
    struct entry *entry = *bucket_of(table, BY_ADDRESSES, key);
    for (; entry != NULL; entry = entry->next[BY_ADDRESSES]) {
        if (entry->key[BY_ADDRESSES] != key || entry->epoch != epoch) continue;
        if (same_shape(&entry->body->stack, stack) && same_addresses(&entry->body->stack, stack)) return entry;
    }
    return NULL;
}

static struct entry *find_places(struct usp_stack_table *table, const struct usp_stack *stack,
                                 const struct place *places, uint64_t key) {
    struct entry *entry = *bucket_of(table, BY_PLACES, key);
    for (; entry != NULL; entry = entry->next[BY_PLACES]) {
        if (entry->key[BY_PLACES] != key || !same_shape(&entry->body->stack, stack)) continue;
        if (stack->count == 0 || memcmp(entry->places, places, stack->count * sizeof *places) == 0) return entry;
    }
    return NULL;
}

static struct entry *find_number(struct usp_stack_table *table, uint64_t number) {
    struct entry *entry = *bucket_of(table, BY_NUMBER, number);
    while (entry != NULL && entry->key[BY_NUMBER] != number) entry = entry->next[BY_NUMBER];
    return entry;
}

/* ---- from the least recently seen to the last ---- */

static void leave_order(struct usp_stack_table *table, struct entry *entry) {
    *(entry->newer != NULL ? &entry->newer->older : &table->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &table->oldest) = entry->newer;
}

static void become_newest(struct usp_stack_table *table, struct entry *entry) {
    entry->newer = NULL;
    entry->older = table->newest;
    *(table->newest != NULL ? &table->newest->newer : &table->oldest) = entry;
    table->newest = entry;
}

/* ---- bodies ---- */

static struct body *make_body(const struct usp_stack *stack) {
    struct body *body = calloc(1, sizeof *body + stack->count * sizeof *body->frames);
    if (body == NULL) return NULL;
    body->holders = 1;
    body->stack = *stack;
    body->stack.frames = body->frames;
    body->stack.capacity = stack->count;
    if (stack->count > 0) memcpy(body->frames, stack->frames, stack->count * sizeof *body->frames);
    return body;
}

/* Under the lock. */
static void let_go(struct body *body) {
    if (--body->holders > 0) return;
    free(body->symbols);
    free(body);
}

static void fill_record(const struct entry *entry, struct usp_stack_record *record) {
    memset(record, 0, sizeof *record);
    record->number = entry->key[BY_NUMBER];
    record->count = entry->count;
    record->first = entry->first;
    record->last = entry->last;
    for (unsigned i = 0; i < USP_STACK_IDENTITY_SIZE; i++) {
        record->identity[i] = (uint8_t)(entry->identity[i / 8] >> 8 * (i % 8));
    }
    record->stack = entry->body->stack;
    record->symbols = entry->body->symbols;
    record->opaque = entry->body;
}

static void evict_oldest(struct usp_stack_table *table) {
    struct entry *entry = table->oldest;
    if (table->options.evicted != NULL) {
        struct usp_stack_record record;
        fill_record(entry, &record);
        table->options.evicted(table->options.context, &record);
    }
    table->statistics.evicted_stacks++;
    table->statistics.evicted_sightings += entry->count;
    table->statistics.stacks--;
    table->statistics.frames -= entry->body->stack.count;
    for (enum index index = 0; index < INDEXES; index++) unlink_entry(table, index, entry);
    leave_order(table, entry);
    let_go(entry->body);
    free(entry);
}

/* ---- images ---- */

static const struct usp_images *images_of(const struct usp_stack_table *table) {
    return table->options.images != NULL ? table->options.images : table->own;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_same_build(const struct known_image *known, const struct usp_image *image) {
    if (known->build_id_size != image->build_id_size) return false;
    if (known->build_id_size == 0) return strcmp(known->name, last_part(image->path)) == 0;
    return memcmp(known->build_id, image->build_id, known->build_id_size) == 0;
}

static void digest_image(struct known_image *known) {
    const uint8_t *bytes = known->build_id_size > 0 ? known->build_id : (const uint8_t *)known->name;
    size_t n = known->build_id_size > 0 ? known->build_id_size : strlen(known->name);
    known->digest[0] = 1;
    known->digest[1] = 2;
    mix_both(known->digest, known->build_id_size);
    for (size_t i = 0; i < n; i++) mix_both(known->digest, bytes[i]);
}

/* The index of an image's build, new or not; NO_IMAGE when memory lacks. */
static uint32_t know_image(struct usp_stack_table *table, const struct usp_image *image) {
    for (size_t i = 0; i < table->known_count; i++) {
        if (is_same_build(&table->known_images[i], image)) return (uint32_t)i;
    }
    if (table->known_count == table->known_room) {
        size_t room = table->known_room == 0 ? 32 : table->known_room * 2;
        struct known_image *grown = realloc(table->known_images, room * sizeof *grown);
        if (grown == NULL) return NO_IMAGE;
        table->known_images = grown;
        table->known_room = room;
    }
    struct known_image *known = &table->known_images[table->known_count];
    memset(known, 0, sizeof *known);
    known->name = strdup(last_part(image->path));
    if (known->name == NULL) return NO_IMAGE;
    known->build_id_size = image->build_id_size < USP_BUILD_ID_MAX ? image->build_id_size : USP_BUILD_ID_MAX;
    memcpy(known->build_id, image->build_id, known->build_id_size);
    digest_image(known);
    return (uint32_t)table->known_count++;
}

static bool find_place(struct usp_stack_table *table, const struct usp_frame *frame, struct place *place) {
    const struct usp_images *images = images_of(table);
    const struct usp_image *image = usp_images_find(images, frame->pc);
    *place = (struct place){.offset = frame->pc, .image = NO_IMAGE, .kind = frame->kind};
    if (image == NULL) return true;
    uint32_t *known = &table->known_of[image - usp_images_get(images, 0)];
    if (*known == 0) *known = know_image(table, image) + 1;
    if (*known == 0) return false;
    place->image = *known - 1;
    place->offset = frame->pc - image->load_address;
    return true;
}

/* The places of a stack, and its identity. False when memory lacks. */
static bool find_all_places(struct usp_stack_table *table, const struct usp_stack *stack, struct place *places,
                            uint64_t identity[2]) {
    static const uint64_t no_digest[2] = {0, 0};
    identity[0] = UINT64_C(0x756e73706f6f6c31); /* any two numbers, but always these */
    identity[1] = UINT64_C(0x737461636b696431);
    mix_shape(identity, stack);
    for (uint32_t i = 0; i < stack->count; i++) {
        if (!find_place(table, &stack->frames[i], &places[i])) return false;
        uint32_t image = places[i].image;
        const uint64_t *digest = image != NO_IMAGE ? table->known_images[image].digest : no_digest;
        identity[0] = mix(identity[0], digest[0]);
        identity[1] = mix(identity[1], digest[1]);
        mix_both(identity, places[i].offset);
        mix_both(identity, places[i].kind);
    }
    return true;
}

/* Makes the table's images those of the process at `epoch` or later. The lock is held, and is given up meanwhile: asking the
 * loader takes its lock, whose holder may be waiting for ours. */
static int refresh_images(struct usp_stack_table *table, uint64_t epoch) {
    if (table->options.images != NULL || (table->own != NULL && table->epoch == epoch)) return USP_OK;
    struct usp_images *fresh = NULL;
    uspi_lock_give(table->lock);
    int status = usp_images_self(&fresh);
    uint32_t *known_of = status == USP_OK ? calloc(usp_images_count(fresh) + 1, sizeof *known_of) : NULL;
    uspi_lock_take(table->lock);
    if (status == USP_ERROR_UNSUPPORTED) return USP_OK; /* no images: addresses stay what they are */
    if (known_of == NULL) {
        usp_images_free(fresh);
        return USP_ERROR_NO_MEMORY;
    }
    usp_images_free(table->own);
    free(table->known_of);
    table->own = fresh;
    table->known_of = known_of;
    table->epoch = epoch;
    return USP_OK;
}

/* ---- adding ---- */

static void see_again(struct usp_stack_table *table, struct entry *entry, uint64_t time) {
    entry->count++;
    if (time < entry->first) entry->first = time;
    if (time > entry->last) entry->last = time;
    if (entry == table->newest) return;
    leave_order(table, entry);
    become_newest(table, entry);
}

/* The same stack at other addresses: a library was loaded elsewhere. Its names have to be looked up again. */
static int move_entry(struct usp_stack_table *table, struct entry *entry, const struct usp_stack *stack, uint64_t epoch,
                      uint64_t key) {
    if (!same_addresses(&entry->body->stack, stack)) {
        struct body *body = make_body(stack);
        if (body == NULL) return USP_ERROR_NO_MEMORY;
        let_go(entry->body);
        entry->body = body;
    }
    unlink_entry(table, BY_ADDRESSES, entry);
    entry->epoch = epoch;
    entry->key[BY_ADDRESSES] = key;
    link_entry(table, BY_ADDRESSES, entry);
    return USP_OK;
}

/* Takes the entry over, whose places and identity are there. */
static int add_entry(struct usp_stack_table *table, struct entry *entry, const struct usp_stack *stack, uint64_t time) {
    const struct usp_stack_table_options *options = &table->options;
    entry->body = make_body(stack);
    if (entry->body == NULL) {
        free(entry);
        return USP_ERROR_NO_MEMORY;
    }
    while (table->oldest != NULL && (table->statistics.stacks >= options->max_stacks ||
                                     table->statistics.frames + stack->count > options->max_frames)) {
        evict_oldest(table);
    }
    entry->count = 1;
    entry->first = entry->last = time;
    entry->key[BY_NUMBER] = ++table->next_number;
    for (enum index index = 0; index < INDEXES; index++) link_entry(table, index, entry);
    become_newest(table, entry);
    table->statistics.stacks++;
    table->statistics.frames += stack->count;
    return USP_OK;
}

/* A stack whose addresses are not known. */
static int add_by_places(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time, uint64_t epoch,
                         uint64_t key, struct entry **found) {
    int status = refresh_images(table, epoch);
    if (status != USP_OK) return status;
    struct entry *fresh = calloc(1, sizeof *fresh + stack->count * sizeof *fresh->places);
    if (fresh == NULL) return USP_ERROR_NO_MEMORY;
    if (!find_all_places(table, stack, fresh->places, fresh->identity)) {
        free(fresh);
        return USP_ERROR_NO_MEMORY;
    }
    fresh->epoch = epoch;
    fresh->key[BY_ADDRESSES] = key;
    fresh->key[BY_PLACES] = fresh->identity[0];
    struct entry *known = find_places(table, stack, fresh->places, fresh->identity[0]);
    *found = known != NULL ? known : fresh;
    if (known == NULL) return add_entry(table, fresh, stack, time);
    free(fresh);
    status = move_entry(table, known, stack, epoch, key);
    if (status == USP_OK) see_again(table, known, time);
    return status;
}

int usp_stack_table_add(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time, uint64_t *number) {
    if (table == NULL || stack == NULL || (stack->count > 0 && stack->frames == NULL)) return USP_ERROR_ARGUMENT;
    uint64_t epoch = table->options.images == NULL ? uspi_os_images_generation() : 0;
    uint64_t key = hash_addresses(stack, epoch);
    int status = USP_OK;
    uspi_lock_take(table->lock);
    struct entry *entry = find_addresses(table, stack, epoch, key);
    if (entry != NULL) {
        see_again(table, entry, time);
    } else if (stack->count > table->options.max_frames) {
        table->statistics.refused++;
        status = USP_ERROR_FULL;
    } else {
        status = add_by_places(table, stack, time, epoch, key, &entry);
    }
    if (status == USP_OK) {
        table->statistics.sightings++;
        if (number != NULL) *number = entry->key[BY_NUMBER];
    }
    uspi_lock_give(table->lock);
    return status;
}

/* ---- reading ---- */

/* The call sites of a stack, as what is going to be named. */
struct sites {
    struct uspi_expected expected;
    const struct usp_stack *stack;
};

static void visit_sites(const struct uspi_expected *expected, bool (*take)(void *context, usp_addr address),
                        void *context) {
    const struct usp_stack *stack = ((const struct sites *)expected)->stack;
    for (uint32_t i = 0; i < stack->count; i++) {
        if (!take(context, usp_frame_call_site(stack->arch, &stack->frames[i]))) return;
    }
}

static struct usp_symbol *name_all(struct usp_symbolizer *symbolizer, const struct usp_stack *stack) {
    const struct sites sites = {{visit_sites}, stack};
    struct usp_symbol *symbols = calloc((size_t)stack->count + 1, sizeof *symbols);
    if (symbols == NULL) return NULL;
    for (uint32_t i = 0; i < stack->count; i++) {
        usp_addr site = usp_frame_call_site(stack->arch, &stack->frames[i]);
        if (uspi_symbolize_expecting(symbolizer, site, &sites.expected, &symbols[i]) != USP_ERROR_NO_MEMORY) continue;
        free(symbols);
        return NULL;
    }
    return symbols;
}

/* Names a body that the caller holds, unless another thread was faster. */
static int name_body(struct usp_stack_table *table, struct body *body) {
    int status = USP_OK;
    uspi_lock_take(table->naming);
    uspi_lock_take(table->lock);
    bool is_named = body->symbols != NULL;
    uspi_lock_give(table->lock);
    if (!is_named) {
        struct usp_symbol *symbols = name_all(table->options.symbolizer, &body->stack);
        uspi_lock_take(table->lock);
        body->symbols = symbols;
        if (symbols != NULL) table->statistics.namings++;
        uspi_lock_give(table->lock);
        if (symbols == NULL) status = USP_ERROR_NO_MEMORY;
    }
    uspi_lock_give(table->naming);
    return status;
}

int usp_stack_table_get(struct usp_stack_table *table, uint64_t number, struct usp_stack_record *record) {
    if (table == NULL || record == NULL) return USP_ERROR_ARGUMENT;
    memset(record, 0, sizeof *record);
    uspi_lock_take(table->lock);
    struct entry *entry = find_number(table, number);
    if (entry != NULL) {
        fill_record(entry, record);
        entry->body->holders++;
    }
    uspi_lock_give(table->lock);
    if (entry == NULL) return USP_ERROR_NOT_FOUND;
    if (table->options.symbolizer == NULL || record->symbols != NULL) return USP_OK;
    struct body *body = record->opaque;
    int status = name_body(table, body);
    if (status == USP_OK) {
        record->symbols = body->symbols;
    } else {
        usp_stack_table_release(table, record);
    }
    return status;
}

void usp_stack_table_release(struct usp_stack_table *table, struct usp_stack_record *record) {
    if (table == NULL || record == NULL || record->opaque == NULL) return;
    uspi_lock_take(table->lock);
    let_go(record->opaque);
    uspi_lock_give(table->lock);
    memset(record, 0, sizeof *record);
}

size_t usp_stack_table_numbers(struct usp_stack_table *table, uint64_t *numbers, size_t capacity) {
    size_t count = 0;
    if (table == NULL) return 0;
    uspi_lock_take(table->lock);
    for (const struct entry *entry = table->newest; entry != NULL; entry = entry->older) {
        if (count < capacity) numbers[count] = entry->key[BY_NUMBER];
        count++;
    }
    uspi_lock_give(table->lock);
    return count;
}

void usp_stack_table_get_statistics(struct usp_stack_table *table, struct usp_stack_table_statistics *statistics) {
    memset(statistics, 0, sizeof *statistics);
    if (table == NULL) return;
    uspi_lock_take(table->lock);
    *statistics = table->statistics;
    uspi_lock_give(table->lock);
}

/* ---- making one ---- */

static bool complete(const struct usp_stack_table_options *given, struct usp_stack_table_options *options) {
    usp_stack_table_options_init(options);
    if (given == NULL) return true;
    if (given->size < offsetof(struct usp_stack_table_options, reserved)) return false;
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    return options->max_stacks > 0 && options->max_stacks <= 1u << 24 && options->max_frames > 0;
}

static bool make_parts(struct usp_stack_table *table) {
    table->naming = uspi_lock_create();
    table->lock = uspi_lock_create();
    for (table->bucket_count = 16; table->bucket_count < table->options.max_stacks;) table->bucket_count *= 2;
    for (enum index index = 0; index < INDEXES; index++) {
        table->buckets[index] = calloc(table->bucket_count, sizeof *table->buckets[index]);
        if (table->buckets[index] == NULL) return false;
    }
    if (table->options.images != NULL) {
        table->known_of = calloc(usp_images_count(table->options.images) + 1, sizeof *table->known_of);
        if (table->known_of == NULL) return false;
    }
    return table->naming != NULL && table->lock != NULL;
}

int usp_stack_table_create(const struct usp_stack_table_options *options, struct usp_stack_table **table) {
    if (table == NULL) return USP_ERROR_ARGUMENT;
    *table = NULL;
    struct usp_stack_table *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    int status = USP_OK;
    if (!complete(options, &made->options)) {
        status = USP_ERROR_ARGUMENT;
    } else if (!make_parts(made)) {
        status = USP_ERROR_NO_MEMORY;
    }
    if (status != USP_OK) {
        usp_stack_table_free(made);
        return status;
    }
    *table = made;
    return USP_OK;
}

void usp_stack_table_free(struct usp_stack_table *table) {
    if (table == NULL) return;
    while (table->oldest != NULL) {
        struct entry *entry = table->oldest;
        leave_order(table, entry);
        let_go(entry->body);
        free(entry);
    }
    for (enum index index = 0; index < INDEXES; index++) free(table->buckets[index]);
    for (size_t i = 0; i < table->known_count; i++) free(table->known_images[i].name);
    free(table->known_images);
    free(table->known_of);
    usp_images_free(table->own);
    uspi_lock_free(table->naming);
    uspi_lock_free(table->lock);
    free(table);
}
