/* SPDX-License-Identifier: MIT */
/* The table of known stacks (stack_table.h). It neither captures nor symbolicates.
 *
 * The table looks up a stack by its addresses first. That needs no images and nearly always succeeds for a known stack.
 * Otherwise it looks the stack up by (image, offset) pairs, because loading a library again at another address changes
 * only the addresses. */
#include <unspool/stack_table.h>

#include "lib/base/hash.h"
#include "lib/base/path.h"
#include "lib/base/sized.h"
#include "lib/images/own_images.h"
#include "lib/object/bytes.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

/* An image at an address where a stack of the table has been in it. An unloaded image stays described as long as a
 * stack, or a record of one, has frames in it. */
struct known_image {
    struct known_image *next;
    uint64_t holders;       /* number of references, from places and from known_of */
    struct usp_image image; /* its path is owned */
    uint64_t digest[2];     /* hash of its build; does not depend on the load address */
};

/* The position of a frame, which is the same in every launch. */
struct frame_key {
    uint64_t offset;           /* in the image; for a frame outside all images, the address */
    struct known_image *image; /* NULL: outside all images */
    uint32_t kind;             /* enum usp_frame_kind */
};

/* A stack's frames and places. Records may refer to it after the table has evicted the stack. */
struct body {
    uint32_t holders; /* number of references, from the entry and from records */
    struct usp_stack stack;
    struct frame_key *places; /* one for each frame */
    struct usp_frame frames[];
};

/* The keys by which an entry is found. */
enum index { BY_ADDRESSES, BY_PLACES, BY_NUMBER, INDEXES };

struct entry {
    uint64_t key[INDEXES];
    struct entry *next[INDEXES]; /* the next entry in the same bucket, for each key */
    struct entry *newer, *older;
    uint64_t count, first, last, epoch;
    uint64_t identity[2];
    struct body *body;
};

struct usp_stack_table {
    struct usp_stack_table_options options;
    struct uspi_lock *lock; /* protects all members below */
    struct usp_images *own; /* the images of this process at `epoch` */
    uint64_t epoch;
    struct known_image **known_of; /* for each image of the list; NULL: not looked up yet */
    struct known_image *known_images;
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

static void mix_both(uint64_t hash[2], uint64_t value) {
    hash[0] = uspi_mix(hash[0], value);
    hash[1] = uspi_mix(hash[1], value);
}

static uint64_t hash_addresses(const struct usp_stack *stack, uint64_t epoch) {
    uint64_t hash = uspi_mix(stack->count, epoch);
    for (uint32_t i = 0; i < stack->count; i++) hash = uspi_mix(hash, stack->frames[i].pc);
    return hash;
}

/* Hashes what must be equal in equal stacks besides their frames. */
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

/* Whether two images are of the same build, at any address. Without build ids, equal last components of their paths
 * count as the same build. */
static bool is_same_build(const struct usp_image *a, const struct usp_image *b) {
    if (a->build_id_size != b->build_id_size) return false;
    if (a->build_id_size == 0) return strcmp(uspi_last_component(a->path), uspi_last_component(b->path)) == 0;
    return memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

static bool same_places(const struct frame_key *a, const struct frame_key *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (a[i].offset != b[i].offset || a[i].kind != b[i].kind) return false;
        if (a[i].image == b[i].image) continue;
        if (a[i].image == NULL || b[i].image == NULL) return false;
        if (!is_same_build(&a[i].image->image, &b[i].image->image)) return false;
    }
    return true;
}

static struct entry *find_places(struct usp_stack_table *table, const struct body *body, uint64_t key) {
    struct entry *entry = *bucket_of(table, BY_PLACES, key);
    for (; entry != NULL; entry = entry->next[BY_PLACES]) {
        if (entry->key[BY_PLACES] != key || !same_shape(&entry->body->stack, &body->stack)) continue;
        if (same_places(entry->body->places, body->places, body->stack.count)) return entry;
    }
    return NULL;
}

static struct entry *find_number(struct usp_stack_table *table, uint64_t number) {
    struct entry *entry = *bucket_of(table, BY_NUMBER, number);
    while (entry != NULL && entry->key[BY_NUMBER] != number) entry = entry->next[BY_NUMBER];
    return entry;
}

/* ---- order by last sighting ---- */

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

/* ---- known images ---- */

static void release_image(struct usp_stack_table *table, struct known_image *known) {
    if (known == NULL || --known->holders > 0) return;
    struct known_image **link = &table->known_images;
    while (*link != known) link = &(*link)->next;
    *link = known->next;
    table->statistics.images--;
    free((char *)(uintptr_t)known->image.path);
    free(known);
}

static void digest_image(struct known_image *known) {
    const struct usp_image *image = &known->image;
    const char *name = uspi_last_component(image->path);
    const uint8_t *bytes = image->build_id_size > 0 ? image->build_id : (const uint8_t *)name;
    size_t n = image->build_id_size > 0 ? image->build_id_size : strlen(name);
    known->digest[0] = 1;
    known->digest[1] = 2;
    mix_both(known->digest, image->build_id_size);
    for (size_t i = 0; i < n; i++) mix_both(known->digest, bytes[i]);
}

static bool is_same_image(const struct usp_image *a, const struct usp_image *b) {
    return a->load_address == b->load_address && a->end == b->end && a->flags == b->flags && is_same_build(a, b) &&
           strcmp(a->path, b->path) == 0;
}

/* Returns the known image for an image of the list, with one more reference. Adds it if it is new. NULL when memory is
 * exhausted. */
static struct known_image *hold_image(struct usp_stack_table *table, const struct usp_image *image) {
    struct known_image *known = table->known_images;
    while (known != NULL && !is_same_image(&known->image, image)) known = known->next;
    if (known == NULL) {
        known = calloc(1, sizeof *known);
        char *path = strdup(image->path);
        if (known == NULL || path == NULL) {
            free(known);
            free(path);
            return NULL;
        }
        known->image = *image;
        known->image.path = path;
        digest_image(known);
        known->next = table->known_images;
        table->known_images = known;
        table->statistics.images++;
    }
    known->holders++;
    return known;
}

static const struct usp_images *images_of(const struct usp_stack_table *table) {
    return table->options.images != NULL ? table->options.images : table->own;
}

/* Releases the known images of the current list. */
static void forget_current(struct usp_stack_table *table) {
    const size_t count = usp_images_count(images_of(table));
    for (size_t i = 0; table->known_of != NULL && i < count; i++) release_image(table, table->known_of[i]);
    free(table->known_of);
    table->known_of = NULL;
}

/* Finds the place of a frame, which gets a reference to its image. The image is that of the call site: another image
 * may begin directly after it. Returns false when memory is exhausted. */
static bool find_place(struct usp_stack_table *table, uint32_t arch, const struct usp_frame *frame,
                       struct frame_key *place) {
    const struct usp_images *images = images_of(table);
    const struct usp_image *image = usp_images_find(images, usp_frame_call_site(arch, frame));
    *place = (struct frame_key){.offset = frame->pc, .kind = frame->kind};
    if (image == NULL) return true;
    struct known_image **known = &table->known_of[image - usp_images_get(images, 0)];
    if (*known == NULL) *known = hold_image(table, image);
    if (*known == NULL) return false;
    place->image = *known;
    place->image->holders++;
    place->offset = frame->pc - image->load_address;
    return true;
}

/* ---- bodies ---- */

/* Returns a copy of the stack, without places; NULL when memory is exhausted. */
static struct body *copy_stack(const struct usp_stack *stack) {
    struct body *body = NULL;
    uint64_t size;
    if (uspi_product(stack->count, sizeof *body->frames + sizeof *body->places, &size) &&
        uspi_sum(size, sizeof *body, &size) && size <= SIZE_MAX) {
        body = calloc(1, (size_t)size);
    }
    if (body == NULL) return NULL;
    body->holders = 1;
    body->stack = *stack;
    body->stack.frames = body->frames;
    body->stack.capacity = stack->count;
    body->places = (struct frame_key *)(body->frames + stack->count);
    if (stack->count > 0) memcpy(body->frames, stack->frames, stack->count * sizeof *body->frames);
    return body;
}

/* Drops a reference. The caller holds the lock, or frees the table. */
static void release_body(struct usp_stack_table *table, struct body *body) {
    if (--body->holders > 0) return;
    for (uint32_t i = 0; i < body->stack.count; i++) release_image(table, body->places[i].image);
    free(body);
}

/* Returns a copy of the stack with its places, and sets its identity. NULL when memory is exhausted. */
static struct body *make_body(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t identity[2]) {
    static const uint64_t no_digest[2] = {0, 0};
    struct body *body = copy_stack(stack);
    if (body == NULL) return NULL;
    identity[0] = UINT64_C(0x756e73706f6f6c31); /* two arbitrary start values that never change */
    identity[1] = UINT64_C(0x737461636b696431);
    mix_shape(identity, stack);
    for (uint32_t i = 0; i < stack->count; i++) {
        struct frame_key *place = &body->places[i];
        if (!find_place(table, stack->arch, &stack->frames[i], place)) {
            release_body(table, body);
            return NULL;
        }
        const uint64_t *digest = place->image != NULL ? place->image->digest : no_digest;
        identity[0] = uspi_mix(identity[0], digest[0]);
        identity[1] = uspi_mix(identity[1], digest[1]);
        mix_both(identity, place->offset);
        mix_both(identity, place->kind);
    }
    return body;
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
    release_body(table, entry->body);
    free(entry);
}

/* Makes the table's images those of the process at `epoch` or later. The caller holds the table's lock.
 * uspi_own_images_get takes no lock of the loader's, so a thread that holds the loader's lock may wait for the
 * table's. */
static int refresh_images(struct usp_stack_table *table, uint64_t epoch) {
    if (table->options.images != NULL || (table->own != NULL && table->epoch == epoch)) return USP_OK;
    struct usp_images *fresh = NULL;
    uint64_t generation;
    int status = uspi_own_images_get(&fresh, &generation);
    if (status == USP_ERROR_UNSUPPORTED) return USP_OK; /* there are no images: places are addresses */
    if (status != USP_OK) return status;
    struct known_image **known_of = calloc(usp_images_count(fresh) + 1, sizeof *known_of);
    if (known_of == NULL) {
        usp_images_free(fresh);
        return USP_ERROR_NO_MEMORY;
    }
    forget_current(table);
    usp_images_free(table->own);
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

/* Updates an entry whose stack was seen at other addresses, or among other images, because a library was loaded anew.
 * Takes ownership of the body. */
static void move_entry(struct usp_stack_table *table, struct entry *entry, struct body *body, uint64_t epoch,
                       uint64_t key) {
    release_body(table, entry->body);
    entry->body = body;
    unlink_entry(table, BY_ADDRESSES, entry);
    entry->epoch = epoch;
    entry->key[BY_ADDRESSES] = key;
    link_entry(table, BY_ADDRESSES, entry);
}

/* Adds an entry that lacks only its number and sightings, and takes ownership of it. Evicts the oldest entries to make
 * room. */
static void add_entry(struct usp_stack_table *table, struct entry *entry, uint64_t time) {
    const struct usp_stack_table_options *options = &table->options;
    const uint32_t count = entry->body->stack.count;
    while (table->oldest != NULL && (table->statistics.stacks >= options->max_stacks ||
                                     table->statistics.frames + count > options->max_frames)) {
        evict_oldest(table);
    }
    entry->count = 1;
    entry->first = entry->last = time;
    entry->key[BY_NUMBER] = ++table->next_number;
    for (enum index index = 0; index < INDEXES; index++) link_entry(table, index, entry);
    become_newest(table, entry);
    table->statistics.stacks++;
    table->statistics.frames += count;
}

/* Adds a stack whose addresses are not in the table. */
static int add_by_places(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time, uint64_t epoch,
                         uint64_t key, struct entry **found) {
    uint64_t identity[2];
    int status = refresh_images(table, epoch);
    if (status != USP_OK) return status;
    struct body *body = make_body(table, stack, identity);
    if (body == NULL) return USP_ERROR_NO_MEMORY;
    *found = find_places(table, body, identity[0]);
    if (*found != NULL) {
        move_entry(table, *found, body, epoch, key);
        see_again(table, *found, time);
        return USP_OK;
    }
    struct entry *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        release_body(table, body);
        return USP_ERROR_NO_MEMORY;
    }
    memcpy(fresh->identity, identity, sizeof fresh->identity);
    fresh->body = body;
    fresh->epoch = epoch;
    fresh->key[BY_ADDRESSES] = key;
    fresh->key[BY_PLACES] = identity[0];
    add_entry(table, fresh, time);
    *found = fresh;
    return USP_OK;
}

int usp_stack_table_add(struct usp_stack_table *table, const struct usp_stack *stack, uint64_t time, uint64_t *number) {
    if (table == NULL || stack == NULL || (stack->count > 0 && stack->frames == NULL)) return USP_ERROR_ARGUMENT;
    uint64_t epoch = table->options.images == NULL ? usp_images_generation() : 0;
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
    return entry != NULL ? USP_OK : USP_ERROR_NOT_FOUND;
}

int usp_stack_record_images(const struct usp_stack_record *record, struct usp_images **images) {
    if (images == NULL) return USP_ERROR_ARGUMENT;
    *images = NULL;
    if (record == NULL || record->opaque == NULL) return USP_ERROR_ARGUMENT;
    /* Needs no lock: the record refers to the body, the body to its images, and neither changes. */
    const struct body *body = record->opaque;
    struct usp_image *distinct = calloc((size_t)body->stack.count + 1, sizeof *distinct);
    size_t count = 0;
    if (distinct == NULL) return USP_ERROR_NO_MEMORY;
    for (uint32_t i = 0; i < body->stack.count; i++) {
        size_t k = 0;
        if (body->places[i].image == NULL) continue;
        const struct usp_image *image = &body->places[i].image->image;
        while (k < count && !is_same_image(&distinct[k], image)) k++;
        if (k == count) distinct[count++] = *image;
    }
    int status = usp_images_create(distinct, count, images);
    free(distinct);
    return status;
}

void usp_stack_table_release(struct usp_stack_table *table, struct usp_stack_record *record) {
    if (table == NULL || record == NULL || record->opaque == NULL) return;
    uspi_lock_take(table->lock);
    release_body(table, record->opaque);
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

/* ---- creating a table ---- */

static bool complete(const struct usp_stack_table_options *given, struct usp_stack_table_options *options) {
    usp_stack_table_options_init(options);
    return USPI_COMPLETE(options, given) && options->max_stacks > 0 && options->max_stacks <= 1u << 24 &&
           options->max_frames > 0;
}

static bool make_parts(struct usp_stack_table *table) {
    table->lock = uspi_lock_create();
    for (table->bucket_count = 16; table->bucket_count < table->options.max_stacks;) table->bucket_count *= 2;
    for (enum index index = 0; index < INDEXES; index++) {
        table->buckets[index] = calloc(table->bucket_count, sizeof *table->buckets[index]);
        if (table->buckets[index] == NULL) return false;
    }
    if (table->options.images != NULL) {
        table->known_of = calloc(usp_images_count(table->options.images) + 1, sizeof(struct known_image *));
        if (table->known_of == NULL) return false;
    }
    return table->lock != NULL;
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
        release_body(table, entry->body);
        free(entry);
    }
    for (enum index index = 0; index < INDEXES; index++) free(table->buckets[index]);
    forget_current(table);
    usp_images_free(table->own);
    uspi_lock_free(table->lock);
    free(table);
}
