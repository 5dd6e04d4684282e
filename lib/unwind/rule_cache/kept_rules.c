/* SPDX-License-Identifier: MIT */
/* See kept_rules.h. Decides the key and the stamp under which a rule is cached and found. */
#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/base/hash.h"
#include "lib/unwind/frame/code.h"

/* The code around a pc that must be unchanged: the call and the code after it. Two different functions rarely have so
 * many equal bytes at the same address. */
#define CODE_BEFORE 16u /* bytes before the pc */
#define CODE_BYTES  32u /* bytes in total */

struct rule_key {
    usp_addr pc; /* 0: the rule cannot be cached */
    unsigned how;
    uint32_t stamp;
};

/* The walk and the frame to which a rule belongs. */
struct request {
    const struct uspi_shortcuts *shortcuts;
    const struct uspi_walk *walk;
    const struct uspi_frame_state *frame;
};

static bool code_stays(const struct request *r, usp_addr pc) {
    if (r->shortcuts->rules->still) return true;
    const struct usp_image *image = usp_images_find(r->shortcuts->images, pc);
    return image != NULL && (image->flags & USP_IMAGE_PERMANENT) != 0;
}

/* Returns the stamp of rules for code that does not change. Rules that were made before a root was known may lead
 * beyond it. */
static uint32_t lasting_stamp(const struct uspi_walk *walk) { return walk->target.root_count; }

static bool passing_stamp(const struct request *r, usp_addr pc, uint32_t *stamp) {
    struct uspi_code code;
    const uint8_t *bytes;
    uint64_t sum = r->shortcuts->generation;
    uspi_code_init(&code, r->walk->backend, uspi_code_memory(r->walk));
    if (pc < CODE_BEFORE || uspi_code_read(&code, pc - CODE_BEFORE, CODE_BYTES, &bytes) != CODE_BYTES) return false;
    for (unsigned i = 0; i < CODE_BYTES; i += 8) sum = uspi_add_word(sum, uspi_le64(bytes + i));
    *stamp = (uint32_t)(sum >> 32);
    return true;
}

static struct rule_key place_of(const struct request *r, unsigned how) {
    const struct uspi_frame_state *frame = r->frame;
    usp_addr pc = uspi_pc_of(r->walk, frame);
    uint32_t mode = uspi_frame_mode(r->walk, frame);
    struct rule_key nowhere = {0}, place = {pc, how, lasting_stamp(r->walk)};
    /* Inside an IT block the mode has bits that the key does not contain. */
    if ((mode & ~(uint32_t)USPI_MODE_THUMB) != 0) return nowhere;
    if (frame->exact) place.how |= USPI_RULE_EXACT;
    if (mode != 0) place.how |= USPI_RULE_THUMB;
    if (!frame->exact && uspi_is_root(&r->walk->target, pc)) place.how |= USPI_RULE_ROOT;
    bool stays = code_stays(r, uspi_lookup_pc(r->walk, frame));
    bool is_call = frame->exact || (frame->flags & USP_FRAME_UNVERIFIED) == 0;
    if (stays && is_call && (how & USPI_RULE_EXPLORED) == 0) place.how |= USPI_RULE_CERTAIN;
    return stays || passing_stamp(r, pc, &place.stamp) ? place : nowhere;
}

/* Whether rules of this kind are cached at all. */
static bool is_kept(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk, enum uspi_rule_how kind) {
    if (shortcuts == NULL || shortcuts->rules == NULL) return false;
    if (kind == USPI_RULE_EXPLORED) return shortcuts->rules->still;
    return uspi_keeps_table_rules(shortcuts, walk->readers);
}

bool uspi_recall_rule(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk,
                      const struct uspi_frame_state *frame, enum uspi_rule_how kind, struct uspi_rule *rule,
                      unsigned *note) {
    struct uspi_packed_rule packed;
    const struct request request = {shortcuts, walk, frame};
    if (!is_kept(shortcuts, walk, kind)) return false;
    struct rule_key place = place_of(&request, kind);
    if (place.pc == 0 || !uspi_rule_cache_find(shortcuts->rules, place.pc, place.how, place.stamp, &packed)) {
        return false;
    }
    *note = uspi_rule_unpack(walk->backend, &packed, rule);
    return true;
}

void uspi_keep_rule(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk,
                    const struct uspi_frame_state *frame, enum uspi_rule_how kind, const struct uspi_rule *rule,
                    unsigned note) {
    struct uspi_packed_rule packed;
    const struct request request = {shortcuts, walk, frame};
    if (!is_kept(shortcuts, walk, kind) || !uspi_rule_pack(walk->backend, rule, note, &packed)) return;
    struct rule_key place = place_of(&request, kind);
    uspi_rule_cache_keep(shortcuts->rules, place.pc, place.how, place.stamp, &packed);
}

static bool keeps_answers(const struct uspi_shortcuts *shortcuts) {
    return shortcuts != NULL && shortcuts->rules != NULL && shortcuts->rules->still;
}

bool uspi_recall_nothing(const struct uspi_shortcuts *shortcuts, uint64_t key, unsigned *note) {
    struct uspi_packed_rule packed;
    if (!keeps_answers(shortcuts) || !uspi_rule_cache_find(shortcuts->rules, key, USPI_RULE_NOTHING, 0, &packed))
        return false;
    *note = uspi_packed_note(packed.frame);
    return true;
}

void uspi_keep_nothing(const struct uspi_shortcuts *shortcuts, uint64_t key, unsigned note) {
    const struct uspi_packed_rule packed = {(uint64_t)note << USPI_PACKED_NOTE_SHIFT, 0};
    if (keeps_answers(shortcuts)) uspi_rule_cache_keep(shortcuts->rules, key, USPI_RULE_NOTHING, 0, &packed);
}

bool uspi_recall_first(const struct uspi_shortcuts *shortcuts, const struct uspi_backend *backend, uint64_t key,
                       struct uspi_rule *rule, unsigned *note) {
    struct uspi_packed_rule packed;
    if (!keeps_answers(shortcuts) || !uspi_rule_cache_find(shortcuts->rules, key, USPI_RULE_FIRST, 0, &packed))
        return false;
    *note = uspi_rule_unpack(backend, &packed, rule);
    return true;
}

void uspi_keep_first(const struct uspi_shortcuts *shortcuts, const struct uspi_backend *backend, uint64_t key,
                     const struct uspi_rule *rule, unsigned note) {
    struct uspi_packed_rule packed;
    if (!keeps_answers(shortcuts) || !uspi_rule_pack(backend, rule, note, &packed)) return;
    uspi_rule_cache_keep(shortcuts->rules, key, USPI_RULE_FIRST, 0, &packed);
}
