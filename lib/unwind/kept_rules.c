/* SPDX-License-Identifier: MIT */
/* See kept_rules.h: under which key, and with which stamp, a rule is kept and found again. */
#include "lib/unwind/kept_rules.h"
#include "lib/unwind/reader.h"

/* Code around a pc that has to be the same: a call and what follows, and more than two functions have in common at one
 * address unless they are one. */
#define CODE_BEFORE 16u
#define CODE_BYTES  32u

/* As lib/unwind.c's hashes. */
#define ODD UINT64_C(0xbf58476d1ce4e5b9)

struct place {
    usp_addr pc; /* 0: nothing can be kept */
    unsigned how;
    uint32_t stamp;
};

static bool code_stays(const struct uspi_walk *walk, usp_addr pc) {
    if (walk->shortcuts.rules->still) return true;
    const struct usp_image *image = usp_images_find(walk->shortcuts.images, pc);
    return image != NULL && (image->flags & USP_IMAGE_PERMANENT) != 0;
}

/* Rules that were made before a root was known may lead beyond it. */
static uint32_t lasting_stamp(const struct uspi_walk *walk) { return walk->target.root_count; }

static bool passing_stamp(const struct uspi_walk *walk, usp_addr pc, uint32_t *stamp) {
    struct uspi_code code;
    const uint8_t *bytes;
    uint64_t sum = walk->shortcuts.generation;
    uspi_code_init(&code, walk->backend, uspi_code_memory(walk));
    if (pc < CODE_BEFORE || uspi_code_read(&code, pc - CODE_BEFORE, CODE_BYTES, &bytes) != CODE_BYTES) return false;
    for (unsigned i = 0; i < CODE_BYTES; i += 8) {
        sum = (sum ^ uspi_load_le(bytes + i, 8)) * ODD;
        sum ^= sum >> 31;
    }
    *stamp = (uint32_t)(sum >> 32);
    return true;
}

static struct place place_of(const struct uspi_walk *walk, const struct uspi_frame_state *frame, unsigned how) {
    usp_addr pc = frame->registers.value[walk->backend->pc];
    uint32_t mode = uspi_frame_mode(walk, frame);
    struct place nowhere = {0}, place = {pc, how, lasting_stamp(walk)};
    /* Inside an IT block the mode says more than is kept. */
    if ((mode & ~(uint32_t)USPI_MODE_THUMB) != 0) return nowhere;
    if (frame->exact) place.how |= USPI_RULE_EXACT;
    if (mode != 0) place.how |= USPI_RULE_THUMB;
    bool stays = code_stays(walk, uspi_lookup_pc(walk, frame));
    bool is_call = frame->exact || (frame->flags & USP_FRAME_UNVERIFIED) == 0;
    if (stays && is_call && (how & USPI_RULE_EXPLORED) == 0) place.how |= USPI_RULE_CERTAIN;
    return stays || passing_stamp(walk, pc, &place.stamp) ? place : nowhere;
}

static bool recall(const struct uspi_walk *walk, const struct uspi_frame_state *frame, unsigned how,
                   struct uspi_rule *rule, unsigned *note) {
    struct uspi_packed_rule packed;
    struct place place = place_of(walk, frame, how);
    if (place.pc == 0 || !uspi_rule_cache_find(walk->shortcuts.rules, place.pc, place.how, place.stamp, &packed))
        return false;
    *note = uspi_rule_unpack(walk->backend, &packed, rule);
    return true;
}

static void keep(const struct uspi_walk *walk, const struct uspi_frame_state *frame, unsigned how,
                 const struct uspi_rule *rule, unsigned note) {
    struct uspi_packed_rule packed;
    if (!uspi_rule_pack(walk->backend, rule, note, &packed)) return;
    struct place place = place_of(walk, frame, how);
    uspi_rule_cache_keep(walk->shortcuts.rules, place.pc, place.how, place.stamp, &packed);
}

bool uspi_recall_table_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, struct uspi_rule *rule,
                            uint32_t *method) {
    return walk->keeps_table_rules && recall(walk, frame, 0, rule, method);
}

void uspi_keep_table_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                          const struct uspi_rule *rule, uint32_t method) {
    if (walk->keeps_table_rules) keep(walk, frame, 0, rule, method);
}

static bool keeps_explored(const struct uspi_walk *walk) {
    return walk->shortcuts.rules != NULL && walk->shortcuts.rules->still;
}

bool uspi_recall_explored(const struct uspi_walk *walk, const struct uspi_frame_state *frame, struct uspi_rule *rule,
                          unsigned *doubts) {
    return keeps_explored(walk) && recall(walk, frame, USPI_RULE_EXPLORED, rule, doubts);
}

void uspi_keep_explored(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        const struct uspi_rule *rule, unsigned doubts) {
    if (keeps_explored(walk)) keep(walk, frame, USPI_RULE_EXPLORED, rule, doubts);
}
