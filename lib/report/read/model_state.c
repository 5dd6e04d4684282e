/* SPDX-License-Identifier: MIT */
/* The registers of a thread that crashed: found in lines and in JSON, and written as Apple's crash reports have them.
 * See model_state.h. */
#include "lib/report/read/model_state.h"

#include "lib/report/read/json_slots.h"
#include "lib/report/read/model_fields.h"

/* A thread has at most as many registers; further ones are left out. */
#define REGISTERS_MAX 128

/* The highest number of a register in an array. */
#define NUMBERED_MAX 31

/* Numbers that have a line of their own below the registers, with their labels there. */
static const struct {
    struct uspi_span name, label;
} numbers[] = {
    {USPI_SPAN_INIT("cpu"), USPI_SPAN_INIT("Logical CPU:")},
    {USPI_SPAN_INIT("err"), USPI_SPAN_INIT("Error Code:")},
    {USPI_SPAN_INIT("trap"), USPI_SPAN_INIT("Trap Number:")},
};

#define NUMBERS (sizeof numbers / sizeof *numbers)

/* The order of Apple's reports. Other registers follow in the order of the text. */
static const char order[] =
    " x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 "
    "x25 x26 x27 x28 rax rbx rcx rdx rdi rsi rbp rsp eax ebx ecx edx edi esi ebp esp r0 r1 r2 r3 "
    "r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15 ip fp lr sp pc cpsr rip eip rfl rflags efl eflags "
    "cr2 far esr ";

static bool is_register_char(char c) { return (c >= 'a' && c <= 'z') || uspi_is_digit(c); }

/* Returns the position of a name in the order; the end of the order for other names. */
static size_t rank_of(struct uspi_span name) {
    char word[16];
    if (name.length > sizeof word - 3) return sizeof order;
    word[0] = ' ';
    memcpy(word + 1, name.bytes, name.length);
    word[name.length + 1] = ' ';
    word[name.length + 2] = '\0';
    const char *found = strstr(order, word);
    return found != NULL ? (size_t)(found - order) : sizeof order;
}

/* ---- finding registers ---- */

static bool add(struct uspi_model *model, size_t thread_index, const struct uspi_model_register *found) {
    struct uspi_model_thread *thread = &model->threads[thread_index];
    if (thread->register_count == REGISTERS_MAX || found->name.length == 0 || found->name.length > 12) return true;
    if (thread->register_count == 0) thread->registers = model->register_count;
    /* Those of a thread lie together, so a thread before the last one gets no more. */
    if (thread->registers + thread->register_count != model->register_count) return true;
    for (size_t i = 0; i < thread->register_count; i++) {
        if (uspi_span_is(model->registers[thread->registers + i].name, found->name)) return true;
    }
    struct uspi_model_register copy = *found;
    if (!uspi_room_for(&model->registers, &model->register_capacity, model->register_count, 1, sizeof copy))
        return false;
    if (!uspi_model_copy(model, found->name, &copy.name) || !uspi_model_copy(model, found->words, &copy.words)) {
        return false;
    }
    size_t at = model->register_count++;
    const size_t rank = rank_of(copy.name);
    for (; at > thread->registers && rank_of(model->registers[at - 1].name) > rank; at--) {
        model->registers[at] = model->registers[at - 1];
    }
    model->registers[at] = copy;
    thread->register_count++;
    return true;
}

/* Reads "0x1f" at *at. */
static bool take_value(struct uspi_span line, size_t *at, struct uspi_model_register *found) {
    const size_t begin = *at;
    if (!uspi_scan_hex(line, at, &found->value)) return false;
    found->digits = (uint32_t)(*at - begin - 2);
    return found->digits <= 16;
}

/* Reads "Error Code:      0x00000006 (no mapping for user data write)" and the like. */
static bool take_number_line(struct uspi_span line, struct uspi_model_register *found) {
    for (size_t i = 0; i < NUMBERS; i++) {
        size_t at = 0;
        if (!uspi_skip(line, &at, numbers[i].label)) continue;
        uspi_skip_blanks(line, &at);
        found->name = numbers[i].name;
        if (!take_value(line, &at, found) && !uspi_scan_decimal(line, &at, &found->value)) return false;
        found->words = uspi_span_trim(uspi_span_after(line, at));
        return true;
    }
    return false;
}

bool uspi_state_take_line(struct uspi_model *model, size_t thread, struct uspi_span line, bool *is_state) {
    struct uspi_model_register found = {.digits = 0};
    size_t at = 0;
    *is_state = true;
    if (uspi_span_trim(line).length == 0) return true;
    if (take_number_line(line, &found)) return add(model, thread, &found);
    *is_state = false;
    for (;;) {
        uspi_skip_blanks(line, &at);
        const size_t begin = at;
        while (at < line.length && is_register_char(line.bytes[at])) at++;
        found = (struct uspi_model_register){.name = uspi_span_part(line, begin, at)};
        if (found.name.length == 0 || !uspi_skip(line, &at, USPI_SPAN(":"))) return true;
        uspi_skip_blanks(line, &at);
        /* Rosetta does not know each register of the code that it translates. */
        if (uspi_skip(line, &at, USPI_SPAN("<unavailable>"))) continue;
        if (!take_value(line, &at, &found)) return true;
        *is_state = true;
        /* What the register says, to the end of the line: "(Data Abort) byte write Translation fault". */
        const struct uspi_span rest = uspi_span_trim(uspi_span_after(line, at));
        if (uspi_span_begins(rest, USPI_SPAN("("))) found.words = rest;
        if (!add(model, thread, &found)) return false;
    }
}

/* ---- in JSON ---- */

/* Adds a register from a number, or from an object with "value" and "description". */
static bool add_value(struct uspi_model *model, size_t thread, const struct uspi_json_document *document, size_t node,
                      struct uspi_span name) {
    struct uspi_model_register found = {.name = name};
    bool is_hex;
    size_t value = node;
    if (document->nodes[node].kind == USPI_JSON_OBJECT) {
        value = uspi_json_member(document, node, USPI_SPAN("value"));
        const size_t words = uspi_json_member(document, node, USPI_SPAN("description"));
        if (!uspi_model_copy_value(model, document, words, &found.words)) return false;
    }
    if (value == USPI_JSON_NONE || !uspi_json_uint(document, value, &found.value, &is_hex)) return true;
    return add(model, thread, &found);
}

/* Adds the elements of "x": x0, x1, ... */
static bool add_numbered(struct uspi_model *model, size_t thread, const struct uspi_json_document *document,
                         size_t list, struct uspi_span key) {
    size_t i = list + 1;
    if (key.length != 1) return true;
    for (unsigned number = 0; i < document->nodes[list].next && number <= NUMBERED_MAX; number++) {
        char name[3] = {key.bytes[0]};
        size_t length = 1;
        if (number > 9) name[length++] = (char)('0' + number / 10);
        name[length++] = (char)('0' + number % 10);
        const struct uspi_span text = {name, length};
        if (!add_value(model, thread, document, i, text)) return false;
        i = document->nodes[i].next;
    }
    return true;
}

bool uspi_state_take_object(struct uspi_model *model, size_t thread, const struct uspi_json_document *document,
                            size_t object) {
    static const struct uspi_span groups[] = {USPI_SPAN_INIT("basic"), USPI_SPAN_INIT("exception")};
    if (object == USPI_JSON_NONE || document->nodes[object].kind != USPI_JSON_OBJECT) return true;
    for (size_t i = object + 1; i < document->nodes[object].next; i = document->nodes[i].next) {
        const struct uspi_span key = uspi_json_key(document, i);
        const enum uspi_json_kind kind = (enum uspi_json_kind)document->nodes[i].kind;
        bool is_added = true;
        if (kind == USPI_JSON_ARRAY) {
            is_added = add_numbered(model, thread, document, i, key);
        } else if (kind == USPI_JSON_OBJECT && (uspi_span_is(key, groups[0]) || uspi_span_is(key, groups[1]))) {
            /* KSCrash divides them; neither group contains another. */
            for (size_t k = i + 1; is_added && k < document->nodes[i].next; k = document->nodes[k].next) {
                if (!uspi_span_is(uspi_json_key(document, k), groups[1])) {
                    is_added = add_value(model, thread, document, k, uspi_json_key(document, k));
                }
            }
        } else if (!uspi_span_is(key, USPI_SPAN("flavor"))) {
            is_added = add_value(model, thread, document, i, key);
        }
        if (!is_added) return false;
    }
    return true;
}

/* ---- writing ---- */

static const struct uspi_model_register *register_called(const struct uspi_model *model,
                                                         const struct uspi_model_thread *thread, const char *name) {
    for (size_t i = 0; i < thread->register_count; i++) {
        const struct uspi_model_register *found = &model->registers[thread->registers + i];
        if (uspi_span_is(found->name, uspi_span_of(name))) return found;
    }
    return NULL;
}

static const char *title_of(const struct uspi_model *model, const struct uspi_model_thread *thread) {
    static const char *const titles[][2] = {{"x0", "ARM Thread State (64-bit)"},
                                            {"rax", "X86 Thread State (64-bit)"},
                                            {"r0", "ARM Thread State (32-bit)"},
                                            {"eax", "X86 Thread State (32-bit)"}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        if (register_called(model, thread, titles[i][0]) != NULL) return titles[i][1];
    }
    return "Thread State";
}

static bool is_number(struct uspi_span name, size_t *which) {
    for (*which = 0; *which < NUMBERS; ++*which) {
        if (uspi_span_is(name, numbers[*which].name)) return true;
    }
    return false;
}

/* Returns the number of hexadecimal digits in which a register is written. */
static uint32_t digits_of(const struct uspi_model *model, const struct uspi_model_thread *thread,
                          const struct uspi_model_register *shown) {
    static const struct uspi_span words[] = {USPI_SPAN_INIT("cpsr"), USPI_SPAN_INIT("esr"), USPI_SPAN_INIT("err"),
                                             USPI_SPAN_INIT("trap"), USPI_SPAN_INIT("cpu")};
    if (shown->digits > 0) return shown->digits;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (uspi_span_is(shown->name, words[i])) return 8;
    }
    const bool is_64 = register_called(model, thread, "x0") != NULL || register_called(model, thread, "rax") != NULL;
    return is_64 || shown->value > UINT32_MAX ? 16 : 8;
}

/* Registers that begin a line. */
static bool begins_line(struct uspi_span name) {
    static const struct uspi_span names[] = {USPI_SPAN_INIT("sp"), USPI_SPAN_INIT("far"), USPI_SPAN_INIT("rip"),
                                             USPI_SPAN_INIT("eip")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (uspi_span_is(name, names[i])) return true;
    }
    return false;
}

static void put_words(struct uspi_text *out, const struct uspi_model_register *shown) {
    if (shown->words.length == 0) return;
    uspi_put_string(out, " ");
    uspi_put_harmless(out, shown->words, "");
}

static void put_registers(struct uspi_text *out, const struct uspi_model *model,
                          const struct uspi_model_thread *thread) {
    const bool is_arm = register_called(model, thread, "x0") != NULL || register_called(model, thread, "r0") != NULL;
    unsigned column = 0;
    size_t which;
    for (size_t i = 0; i < thread->register_count; i++) {
        const struct uspi_model_register *shown = &model->registers[thread->registers + i];
        if (is_number(shown->name, &which)) continue;
        if (column == 4 || (column > 0 && begins_line(shown->name))) {
            uspi_put_string(out, "\n");
            column = 0;
        }
        const size_t width = is_arm && column == 0 ? 6 : 5;
        uspi_put_blanks(out, shown->name.length, width);
        if (column > 0 && shown->name.length >= width) uspi_put_string(out, " ");
        uspi_put_harmless(out, shown->name, "");
        uspi_put_string(out, ": ");
        uspi_put_hex(out, shown->value, digits_of(model, thread, shown));
        put_words(out, shown);
        column = shown->words.length > 0 ? 4 : column + 1;
    }
    if (column > 0) uspi_put_string(out, "\n");
}

void uspi_state_put(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_thread *thread) {
    bool has_numbers = false;
    if (thread->register_count == 0) return;
    uspi_put_string(out, "Thread ");
    if ((thread->flags & (USPI_THREAD_NUMBER | USPI_THREAD_ID)) != 0) {
        uspi_put_decimal(out, (thread->flags & USPI_THREAD_NUMBER) != 0 ? thread->number : thread->id, 0);
        uspi_put_string(out, " ");
    }
    uspi_put_string(out, "crashed with ");
    uspi_put_string(out, title_of(model, thread));
    uspi_put_string(out, ":\n");
    put_registers(out, model, thread);
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct uspi_model_register *shown = register_called(model, thread, numbers[i].name.bytes);
        if (shown == NULL) continue;
        if (!has_numbers) uspi_put_string(out, "\n");
        has_numbers = true;
        uspi_put(out, numbers[i].label.bytes, numbers[i].label.length);
        uspi_put_blanks(out, numbers[i].label.length, 17);
        if (uspi_span_is(shown->name, USPI_SPAN("err"))) {
            uspi_put_hex(out, shown->value, digits_of(model, thread, shown));
        } else {
            uspi_put_decimal(out, shown->value, 0);
        }
        put_words(out, shown);
        uspi_put_string(out, "\n");
    }
    uspi_put_string(out, "\n");
}
