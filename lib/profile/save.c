/* SPDX-License-Identifier: MIT */
/* Converts a profile to bytes and back, for a file that outlives the process: images, threads, the tree and its totals,
 * each with its numbers. Everything that is read is checked before it is used. Numbers are little-endian. An unused
 * entry begins with 0, an unused node with all ones. */
#include "arch/backend.h"
#include "lib/profile/profile.h"

#include "arch/little_endian.h"
#include "lib/os/os.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 1u
#define PATH_MOST      4095u
/* Maximum number of items of each kind: a tree of 2^24 nodes takes 500 MB. */
#define COUNT_MOST (UINT32_C(1) << 24)

/* ---- writing ---- */

struct sink {
    uint8_t *to;
    size_t capacity, used;
};

static void put(struct sink *sink, const void *bytes, size_t n) {
    if (n <= sink->capacity && sink->used <= sink->capacity - n) memcpy(sink->to + sink->used, bytes, n);
    /* Counts bytes that do not fit too: in the end `used` is the size needed. */
    sink->used = n <= SIZE_MAX - sink->used ? sink->used + n : SIZE_MAX;
}

static void put_number(struct sink *sink, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    uspi_store_le(bytes, value, width);
    put(sink, bytes, width);
}

static void put32(struct sink *sink, uint32_t value) { put_number(sink, value, 4); }
static void put64(struct sink *sink, uint64_t value) { put_number(sink, value, 8); }

static void put_string(struct sink *sink, const char *string) {
    size_t n = strlen(string);
    if (n > PATH_MOST) n = PATH_MOST;
    put32(sink, (uint32_t)n);
    put(sink, string, n);
}

static void put_image(struct sink *sink, const struct uspi_profile_image *known) {
    const struct usp_image *image = &known->image;
    /* Readers do not need images without frames. */
    bool has_nodes = known->uses > (known->is_kept ? 1u : 0u);
    put32(sink, has_nodes);
    if (!has_nodes) return;
    put64(sink, image->load_address);
    put64(sink, image->text_low);
    put64(sink, image->text_high);
    put64(sink, image->end);
    put64(sink, image->slide);
    put32(sink, image->arch);
    put32(sink, image->flags & ~(uint32_t)USP_IMAGE_TEXT_OFFSET); /* the offset has no place here */
    put32(sink, image->build_id_size);
    put(sink, image->build_id, sizeof image->build_id);
    put_string(sink, image->path);
}

static void put_thread(struct sink *sink, const struct uspi_profile_thread *thread) {
    put32(sink, thread->uses > 0);
    if (thread->uses == 0) return;
    put64(sink, thread->info.thread.id);
    put32(sink, thread->info.flags);
    put_string(sink, thread->info.name);
    put_string(sink, thread->info.queue);
}

static void put_node(struct sink *sink, const struct uspi_node *node) {
    put32(sink, node->uses > 0 ? node->kind : UINT32_MAX);
    if (node->uses == 0) return;
    put64(sink, node->offset);
    put32(sink, node->image);
    put32(sink, node->parent);
}

static void put_total(struct sink *sink, const struct uspi_total *total) {
    put64(sink, total->samples);
    if (total->samples == 0) return;
    put64(sink, total->wall);
    put64(sink, total->cpu);
    put32(sink, total->thread);
    put32(sink, total->node);
}

static bool has_lock(const struct uspi_profile_thread *thread) {
    return thread->uses > 0 && thread->info.lock_owner != 0;
}

static bool is_listed(const struct uspi_profile_thread *thread) {
    return thread->uses > 0 && thread->no_stack != USP_OK;
}

static uint32_t count_threads(const struct usp_profile *profile,
                              bool (*is_counted)(const struct uspi_profile_thread *thread)) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->threads.begun; i++) count += is_counted(uspi_profile_thread(profile, i));
    return count;
}

/* Puts the owners of the locks that threads wait for. */
static void put_locks(struct sink *sink, const struct usp_profile *profile) {
    put32(sink, count_threads(profile, has_lock));
    for (uint32_t i = 0; i < profile->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(profile, i);
        if (!has_lock(thread)) continue;
        put32(sink, i);
        put32(sink, thread->info.lock_kind);
        put32(sink, thread->info.deadlock);
        put64(sink, thread->info.lock_owner);
    }
}

/* Puts the threads without a stack. */
static void put_listed(struct sink *sink, const struct usp_profile *profile) {
    put32(sink, count_threads(profile, is_listed));
    for (uint32_t i = 0; i < profile->threads.begun; i++) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(profile, i);
        if (!is_listed(thread)) continue;
        put32(sink, i);
        put32(sink, (uint32_t)thread->no_stack);
        put32(sink, thread->info.run_state);
    }
}

/* Puts what was added to the format later. Earlier readers end before it, so it is left out when it is empty. */
static void put_more(struct sink *sink, const struct usp_profile *profile) {
    const bool has_listed = count_threads(profile, is_listed) > 0;
    if (has_listed || count_threads(profile, has_lock) > 0) put_locks(sink, profile);
    if (has_listed) put_listed(sink, profile);
}

int uspi_profile_save(struct usp_profile *profile, uint8_t *to, size_t capacity, size_t *used) {
    struct sink sink = {.to = to, .capacity = capacity};
    uspi_lock_take(profile->lock);
    put32(&sink, FORMAT_VERSION);
    put32(&sink, profile->options.arch);
    put64(&sink, (uint64_t)profile->options.pid);
    put_string(&sink, profile->program);
    put32(&sink, profile->images.begun);
    put32(&sink, profile->threads.begun);
    put32(&sink, profile->nodes.begun);
    put32(&sink, profile->totals.begun);
    put32(&sink, profile->marked);
    for (uint32_t i = 0; i < profile->images.begun; i++) put_image(&sink, uspi_profile_image(profile, i));
    for (uint32_t i = 0; i < profile->threads.begun; i++) put_thread(&sink, uspi_profile_thread(profile, i));
    for (uint32_t i = 0; i < profile->nodes.begun; i++) put_node(&sink, uspi_node(profile, i));
    for (uint32_t i = 0; i < profile->totals.begun; i++) put_total(&sink, uspi_total(profile, i));
    put_more(&sink, profile);
    uspi_lock_give(profile->lock);
    *used = sink.used;
    return sink.used <= capacity ? USP_OK : USP_ERROR_FULL;
}

/* ---- reading ---- */

struct source {
    const uint8_t *bytes;
    size_t size, at;
    int status;
};

static const uint8_t *take(struct source *source, size_t n) {
    if (source->status == USP_OK && n > source->size - source->at) source->status = USP_ERROR_TRUNCATED;
    if (source->status != USP_OK) return NULL;
    source->at += n;
    return source->bytes + (source->at - n);
}

static uint64_t take_number(struct source *source, unsigned width) {
    const uint8_t *bytes = take(source, width);
    return bytes != NULL ? uspi_le(bytes, width) : 0;
}

static uint32_t take32(struct source *source) { return (uint32_t)take_number(source, 4); }
static uint64_t take64(struct source *source) { return take_number(source, 8); }

static void refuse(struct source *source) {
    if (source->status == USP_OK) source->status = USP_ERROR_FORMAT;
}

/* Reads a string into a buffer of a given size; a longer string is malformed. */
static void take_string(struct source *source, char *to, size_t size) {
    uint32_t n = take32(source);
    if (n >= size) refuse(source);
    const uint8_t *bytes = take(source, source->status == USP_OK ? n : 0);
    memset(to, 0, size);
    if (bytes != NULL) memcpy(to, bytes, n);
}

/* A profile that is being read. */
struct loading {
    struct source source;
    struct usp_profile *profile;
    uint32_t counts[4]; /* images, threads, nodes, totals */
    uint32_t marked;
    uint32_t *images, *threads, *nodes; /* maps saved numbers to numbers in the profile; USPI_NONE: not in use */
    struct uspi_node *raw;              /* nodes as they were saved */
};

static void load_image(struct loading *loading, uint32_t i) {
    struct source *source = &loading->source;
    char path[PATH_MOST + 1];
    struct usp_image image = {.path = path};
    loading->images[i] = USPI_NONE;
    if (take32(source) == 0) return;
    image.load_address = take64(source);
    image.text_low = take64(source);
    image.text_high = take64(source);
    image.end = take64(source);
    image.slide = take64(source);
    image.arch = take32(source);
    image.flags = take32(source);
    image.build_id_size = take32(source);
    const uint8_t *build = take(source, sizeof image.build_id);
    if (build != NULL) memcpy(image.build_id, build, sizeof image.build_id);
    take_string(source, path, sizeof path);
    bool has_text = image.text_low != 0 || image.text_high != 0;
    if (image.end < image.load_address || image.build_id_size > USP_BUILD_ID_MAX || !uspi_arch_is_known(image.arch) ||
        (has_text &&
         (image.text_low < image.load_address || image.text_high < image.text_low || image.text_high > image.end)) ||
        image.flags >= USP_IMAGE_PERMANENT * 2) {
        refuse(source);
    }
    if (source->status != USP_OK) return;
    loading->images[i] = uspi_profile_know_image(loading->profile, &image);
    if (loading->images[i] == USPI_NONE) source->status = USP_ERROR_NO_MEMORY;
}

static void load_thread(struct loading *loading, uint32_t i) {
    struct source *source = &loading->source;
    struct usp_thread_info info;
    memset(&info, 0, sizeof info);
    loading->threads[i] = USPI_NONE;
    if (take32(source) == 0) return;
    info.thread.id = take64(source);
    info.flags = take32(source);
    take_string(source, info.name, sizeof info.name);
    take_string(source, info.queue, sizeof info.queue);
    if (source->status != USP_OK) return;
    /* Threads that had the same id remain separate. One more use keeps a thread that ends here until its totals are
     * loaded. */
    usp_profile_end_thread(loading->profile, info.thread.id);
    loading->threads[i] = uspi_profile_know_thread(loading->profile, &info);
    if (loading->threads[i] == USPI_NONE) {
        source->status = USP_ERROR_NO_MEMORY;
    } else {
        uspi_profile_thread(loading->profile, loading->threads[i])->uses++;
    }
}

static void load_node(struct loading *loading, uint32_t i) {
    struct source *source = &loading->source;
    struct uspi_node *node = &loading->raw[i];
    loading->nodes[i] = USPI_NONE;
    node->kind = take32(source);
    if (node->kind == UINT32_MAX) return;
    node->offset = take64(source);
    node->image = take32(source);
    node->parent = take32(source);
    bool is_parent = node->parent == USPI_NONE || node->parent < loading->counts[2];
    bool is_image =
        node->image == USPI_NONE || (node->image < loading->counts[0] && loading->images[node->image] != USPI_NONE);
    if (!is_parent || !is_image) refuse(source);
}

/* Adds a node and its callers, outermost frame first. A path with more frames than there are nodes is a cycle. */
static uint32_t load_path(struct loading *loading, uint32_t i, uint32_t *path) {
    uint32_t depth = 0;
    for (uint32_t at = i; at != USPI_NONE && loading->nodes[at] == USPI_NONE; at = loading->raw[at].parent) {
        if (loading->raw[at].kind == UINT32_MAX || depth == loading->counts[2]) {
            refuse(&loading->source);
            return USPI_NONE;
        }
        path[depth++] = at;
    }
    while (depth-- > 0) {
        struct uspi_node like = loading->raw[path[depth]];
        if (like.image != USPI_NONE) like.image = loading->images[like.image];
        if (like.parent != USPI_NONE) like.parent = loading->nodes[like.parent];
        uint32_t known = uspi_profile_know_node(loading->profile, &like);
        if (known == USPI_NONE) {
            loading->source.status = USP_ERROR_NO_MEMORY;
            return USPI_NONE;
        }
        loading->nodes[path[depth]] = known;
    }
    return loading->nodes[i];
}

static void load_total(struct loading *loading, uint32_t *path) {
    struct source *source = &loading->source;
    struct uspi_total total = {.samples = take64(source)};
    if (total.samples == 0) return;
    total.wall = take64(source);
    total.cpu = take64(source);
    uint32_t thread = take32(source), node = take32(source);
    if (source->status != USP_OK) return;
    if (thread >= loading->counts[1] || loading->threads[thread] == USPI_NONE || node >= loading->counts[2]) {
        refuse(source);
        return;
    }
    total.thread = loading->threads[thread];
    total.node = load_path(loading, node, path);
    if (total.node != USPI_NONE && uspi_profile_count(loading->profile, &total, NULL) != USP_OK) {
        source->status = USP_ERROR_NO_MEMORY;
    }
}

/* Loads the owners of locks, if the writer knew of them. */
static void load_locks(struct loading *loading) {
    struct source *source = &loading->source;
    const uint32_t count = source->at < source->size ? take32(source) : 0;
    for (uint32_t i = 0; source->status == USP_OK && i < count; i++) {
        const uint32_t thread = take32(source), kind = take32(source), deadlock = take32(source);
        const uint64_t owner = take64(source);
        if (thread >= loading->counts[1] || loading->threads[thread] == USPI_NONE) refuse(source);
        if (source->status != USP_OK) return;
        struct usp_thread_info *info = &uspi_profile_thread(loading->profile, loading->threads[thread])->info;
        info->lock_owner = owner;
        info->lock_kind = kind;
        info->deadlock = deadlock;
    }
}

/* Loads the threads without a stack, if the writer knew of them. */
static void load_listed(struct loading *loading) {
    struct source *source = &loading->source;
    const uint32_t count = source->at < source->size ? take32(source) : 0;
    for (uint32_t i = 0; source->status == USP_OK && i < count; i++) {
        const uint32_t thread = take32(source), status = take32(source), run_state = take32(source);
        /* A status is a negative number. */
        if (thread >= loading->counts[1] || loading->threads[thread] == USPI_NONE || status <= INT32_MAX) {
            refuse(source);
        }
        if (source->status != USP_OK) return;
        const uint32_t known = loading->threads[thread];
        uspi_profile_mark_listed(loading->profile, known, (int32_t)status);
        uspi_profile_thread(loading->profile, known)->info.run_state = run_state;
    }
}

static void load_parts(struct loading *loading) {
    struct source *source = &loading->source;
    uint32_t *path = malloc(((size_t)loading->counts[2] + 1) * sizeof *path);
    loading->images = malloc(((size_t)loading->counts[0] + 1) * sizeof *loading->images);
    loading->threads = malloc(((size_t)loading->counts[1] + 1) * sizeof *loading->threads);
    loading->nodes = malloc(((size_t)loading->counts[2] + 1) * sizeof *loading->nodes);
    loading->raw = calloc((size_t)loading->counts[2] + 1, sizeof *loading->raw);
    if (path == NULL || loading->images == NULL || loading->threads == NULL || loading->nodes == NULL ||
        loading->raw == NULL) {
        source->status = USP_ERROR_NO_MEMORY;
    }
    for (uint32_t i = 0; source->status == USP_OK && i < loading->counts[0]; i++) load_image(loading, i);
    for (uint32_t i = 0; source->status == USP_OK && i < loading->counts[1]; i++) load_thread(loading, i);
    for (uint32_t i = 0; source->status == USP_OK && i < loading->counts[2]; i++) load_node(loading, i);
    for (uint32_t i = 0; source->status == USP_OK && i < loading->counts[3]; i++) load_total(loading, path);
    if (source->status == USP_OK) load_locks(loading);
    if (source->status == USP_OK) load_listed(loading);
    if (source->status == USP_OK && loading->marked != USPI_NONE) {
        if (loading->marked >= loading->counts[2]) refuse(source);
        uint32_t node = source->status == USP_OK ? load_path(loading, loading->marked, path) : USPI_NONE;
        if (node != USPI_NONE) uspi_node(loading->profile, node)->uses++;
        loading->profile->marked = node;
    }
    for (uint32_t i = 0; source->status == USP_OK && i < loading->counts[1]; i++) {
        if (loading->threads[i] != USPI_NONE) uspi_profile_give_up_thread(loading->profile, loading->threads[i]);
    }
    free(path);
    free(loading->images);
    free(loading->threads);
    free(loading->nodes);
    free(loading->raw);
}

int uspi_profile_load(const uint8_t *bytes, size_t n, struct usp_profile **profile) {
    struct loading loading = {.source = {.bytes = bytes, .size = n}};
    struct source *source = &loading.source;
    struct usp_profile_options options;
    char program[PATH_MOST + 1];
    *profile = NULL;
    usp_profile_options_init(&options);
    if (take32(source) != FORMAT_VERSION) refuse(source);
    options.arch = take32(source);
    options.pid = (int64_t)take64(source);
    take_string(source, program, sizeof program);
    options.program = program;
    options.flags = USP_PROFILE_TOTALS;
    /* The size of the input bounds the memory: each item takes at least a few bytes. */
    options.memory = UINT64_C(1) << 40;
    for (unsigned i = 0; i < 4; i++) loading.counts[i] = take32(source);
    loading.marked = take32(source);
    for (unsigned i = 0; i < 4; i++) {
        if (loading.counts[i] > COUNT_MOST || loading.counts[i] > n / 4) refuse(source);
    }
    if (!uspi_arch_is_known(options.arch)) refuse(source);
    if (source->status == USP_OK) source->status = usp_profile_create(&options, &loading.profile);
    if (source->status == USP_OK) load_parts(&loading);
    if (source->status != USP_OK) {
        usp_profile_free(loading.profile);
        return source->status;
    }
    *profile = loading.profile;
    return USP_OK;
}
