/* SPDX-License-Identifier: MIT */
/* Writes a report in the handler of the crashed thread: first what is known at once, then its stack, the images, all
 * other threads. The file becomes visible when it is whole. Everything here is async-signal-safe. */
#include "lib/crash/kit.h"

#include "lib/base/text.h"
#include "lib/os/run_lock.h"

/* ---- the file ---- */

/* Appends to "directory/run" the number of the report, or nothing, and an ending. */
static void make_path(const struct uspi_crash_kit *kit, char *path, size_t size, uint32_t number, const char *ending) {
    struct uspi_text text = uspi_text_in(path, size);
    uspi_put_string(&text, kit->directory);
    uspi_put(&text, "/", 1);
    uspi_put_string(&text, kit->run);
    uspi_put(&text, "-", 1);
    uspi_put_decimal(&text, number, 0);
    uspi_put_string(&text, ending);
    (void)uspi_text_end(&text);
}

int uspi_crash_make_file(struct uspi_crash_kit *kit) {
    kit->reports++;
    kit->written = 0;
    make_path(kit, kit->open_path, sizeof kit->open_path, kit->reports, ".open");
    make_path(kit, kit->report_path, sizeof kit->report_path, kit->reports, ".raw");
    int status = USP_ERROR_SYSTEM;
    /* A disk that is nearly full, or a limit for files, leaves room for less. */
    for (uint32_t size = USPI_CRASH_RESERVED; status != USP_OK && size >= USPI_CRASH_LEAST; size /= 2)
        status = uspi_os_kept_file_make(kit->open_path, size, &kit->file);
    if (status == USP_OK) uspi_os_run_lock(kit->file.descriptor);
    return status;
}

static int write_file(void *to, const void *bytes, size_t n) {
    struct uspi_crash_kit *kit = to;
    if (kit->file.size - kit->written < n) kit->file.size = kit->written + n;
    const int status = uspi_os_kept_file_write(&kit->file, kit->written, bytes, n);
    kit->written += n;
    return status;
}

/* ---- what the program has said ---- */

/* Puts any text that a report has besides paths and names of threads. */
static void put_note(struct uspi_crash_kit *kit, uint32_t kind, uint64_t time, const char *key, const char *text) {
    const struct usp_snapshot_note note = {.kind = kind, .time = time, .key = key, .text = kit->note_text};
    (void)uspi_crash_hide_homes(kit->note_text, sizeof kit->note_text, text);
    uspi_raw_put_note(&kit->sink, &note);
}

/* Copies an entry. Returns false when it was never written, or is not whole: a thread has crashed while it wrote it. */
static bool copy_whole(const _Atomic(uint32_t) *version, const void *from, void *to, size_t n) {
    for (unsigned i = 0; i < USPI_CRASH_TRIES; i++) {
        const uint32_t before = atomic_load(version);
        if (before == 0) return false;
        memcpy(to, from, n);
        atomic_thread_fence(memory_order_acquire);
        if (before % 2 == 0 && atomic_load(version) == before) return true;
    }
    return false;
}

static void put_notes(struct uspi_crash_kit *kit) {
    for (size_t i = 0; i < USPI_CRASH_VALUES; i++) {
        struct uspi_crash_value value;
        if (!copy_whole(&kit->values[i].version, &kit->values[i], &value, sizeof value)) continue;
        if (value.key[0] != '\0') put_note(kit, USP_NOTE_VALUE, 0, value.key, value.text);
    }
    const uint32_t next = atomic_load(&kit->next_crumb);
    for (uint32_t i = 0; i < USPI_CRASH_CRUMBS; i++) {
        const struct uspi_crash_crumb *from = &kit->crumbs[(next + i) % USPI_CRASH_CRUMBS];
        struct uspi_crash_crumb crumb;
        if (copy_whole(&from->version, from, &crumb, sizeof crumb))
            put_note(kit, USP_NOTE_BREADCRUMB, crumb.time, "", crumb.text);
    }
}

/* Puts the exception of the crashed thread. Another thread's has not ended the program. */
static void put_exception(struct uspi_crash_kit *kit, uint64_t thread) {
    const struct uspi_crash_exception *e = &kit->thrown;
    if (!copy_whole(&kit->exception.version, &kit->exception, &kit->thrown, sizeof kit->thrown)) return;
    if (e->thread == 0 || e->thread != thread) return;
    put_note(kit, USP_NOTE_MESSAGE, 0, e->kind, e->text);
    if (e->count > 0) uspi_raw_put_exception(&kit->sink, e->thread, e->frames, e->count, e->total);
}

/* ---- images ---- */

static void find_images(struct uspi_crash_kit *kit, struct uspi_raw_crash *crash) {
    struct uspi_os_place place = {.address = crash->fault_address};
    const int status = uspi_crash_find_images(kit, &place);
    if ((crash->flags & USPI_RAW_CRASH_ADDRESS) != 0 && status == USP_OK) crash->flags |= USPI_RAW_CRASH_PLACE;
    crash->place_low = place.low;
    crash->place_high = place.high;
    crash->access = place.access;
    if (status != USP_OK) put_note(kit, USP_NOTE_RECORDER, 0, "", "not all images could be listed");
}

/* ---- threads ---- */

static void put_process(struct uspi_crash_kit *kit, const struct uspi_os_crash *crash) {
    const bool hides = uspi_os_kind() == USP_OS_DARWIN; /* as images do (images.c) */
    if (hides) (void)uspi_crash_hide_homes(kit->note_text, sizeof kit->note_text, kit->facts.program);
    const struct usp_snapshot_info info = {
        .arch = usp_arch_host(),
        .os = uspi_os_kind(),
        .pid = uspi_os_process_id(),
        .time = uspi_os_wall_clock(),
        .signal = crash->signal,
        .program = hides ? kit->note_text : kit->facts.program,
    };
    uspi_raw_put_process(&kit->sink, &info, 0);
}

/* Says which thread holds the lock that a thread waits for. Readers find deadlocks in that. */
static void put_lock(const struct uspi_lock_wait *wait, struct usp_thread_info *info, struct uspi_raw_about *about) {
    struct uspi_lock_held held;
    if (!uspi_lock_wait_owner(wait, usp_arch_host(), &held)) return;
    info->lock_owner = held.owner;
    info->lock_kind = held.kind;
    about->lock = held.lock;
    about->is_endless = !wait->is_timed;
}

static void put_crashed_thread(struct uspi_crash_kit *kit, const struct uspi_os_crash *crash,
                               struct uspi_thread_copy *copy) {
    struct usp_thread_info info = {.thread = {crash->thread, crash->thread}};
    struct uspi_raw_about about = {.info = &info};
    const struct usp_memory memory = {uspi_os_read, NULL};
    uintptr_t high;
    memset(copy, 0, sizeof *copy);
    memcpy(info.name, crash->name, sizeof crash->name);
    if (crash->info != NULL) info = *crash->info;
    info.flags |= USP_THREAD_CRASHED;
    if (uspi_os_kind() == USP_OS_LINUX && (int64_t)crash->thread == uspi_os_process_id()) info.flags |= USP_THREAD_MAIN;
    if (crash->copy != NULL) {
        *copy = *crash->copy;
        about.stack_low = copy->stack_low;
        about.stack_high = copy->stack_high;
    } else {
        if (uspi_os_context_registers(crash->ucontext, &copy->registers) != USP_OK) copy->registers.known = 0;
        /* This learns the bounds of the stack, if they are not known. */
        const uintptr_t sp = (uintptr_t)usp_registers_sp(&copy->registers);
        if (uspi_os_stack(sp, &high)) copy->parts[0] = (struct uspi_copied){(const uint8_t *)sp, sp, high - sp};
        const struct uspi_own_stack own = uspi_os_own_stack();
        about.stack_low = own.low;
        about.stack_high = own.high;
    }
    /* The signal may have been sent to a thread that waits. */
    (void)uspi_lock_wait_read(&copy->lock, uspi_os_kind(), &copy->registers, &memory);
    put_lock(&copy->lock, &info, &about);
    uspi_raw_put_thread(&kit->sink, &about);
    uspi_raw_put_registers(&kit->sink, &copy->registers);
}

static void put_stack(struct uspi_crash_kit *kit, struct uspi_thread_copy *copy, bool has_crashed,
                      struct usp_stack *stack) {
    stack->status = uspi_crash_walk(kit, copy, has_crashed, stack);
    uspi_raw_put_stack(&kit->sink, stack);
}

static void put_messages(struct uspi_crash_kit *kit, const struct usp_stack *stack) {
    const char *key;
    for (unsigned i = 0; i < 2; i++) {
        if (uspi_crash_read_message(kit, stack, i, &key)) put_note(kit, USP_NOTE_MESSAGE, 0, key, kit->callback_text);
    }
    memset(kit->callback_text, 0, sizeof kit->callback_text);
}

/* How many images of the crashed stack are asked for a message. Others may have old ones, of another matter. */
#define INFOS_MAX 16u

/* Puts the messages of the images that the crashed thread runs in. */
static void put_infos(struct uspi_crash_kit *kit, const struct usp_stack *stack) {
    const struct usp_image *asked[INFOS_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < stack->count && count < INFOS_MAX; i++) {
        const struct usp_image *image = uspi_crash_image_at(kit, stack->frames[i].pc);
        size_t k = 0;
        while (k < count && asked[k] != image) k++;
        if (image == NULL || k < count) continue;
        asked[count++] = image;
        const char *name = strrchr(image->path, '/');
        if (uspi_crash_read_info(kit, image))
            put_note(kit, USP_NOTE_MESSAGE, 0, name != NULL ? name + 1 : image->path, kit->callback_text);
    }
    memset(kit->callback_text, 0, sizeof kit->callback_text);
}

static void put_held_thread(void *context, const struct uspi_stopped_thread *thread) {
    struct uspi_crash_kit *kit = context;
    struct uspi_thread_copy copy;
    struct usp_stack stack;
    struct usp_thread_info info = thread->info;
    struct uspi_raw_about about = {
        .info = &info,
        .stack_low = thread->copy.stack_low,
        .stack_high = thread->copy.stack_high,
        .status = thread->status,
    };
    if (about.status == USP_OK && uspi_os_clock() >= kit->deadline) about.status = USP_ERROR_TIMEOUT;
    if (thread->status == USP_OK) put_lock(&thread->copy.lock, &info, &about);
    uspi_raw_put_thread(&kit->sink, &about);
    if (thread->status == USP_OK) uspi_raw_put_registers(&kit->sink, &thread->copy.registers);
    if (about.status == USP_OK) {
        memcpy(&copy, &thread->copy, sizeof copy);
        put_stack(kit, &copy, false, &stack);
    } else {
        kit->missing++;
    }
}

static void put_other_threads(struct uspi_crash_kit *kit) {
    char sentence[96];
    kit->missing = 0;
    uspi_crash_forget_pages(kit);
    const int status = uspi_os_crash_threads(kit->deadline, put_held_thread, kit);
    struct uspi_text text = uspi_text_in(sentence, sizeof sentence);
    if (status == USP_ERROR_FULL) {
        put_note(kit, USP_NOTE_RECORDER, 0, "", "there are more threads than max_threads");
    } else if (status != USP_OK) {
        put_note(kit, USP_NOTE_RECORDER, 0, "", "the other threads could not be listed");
    }
    if (kit->missing == 0) return;
    uspi_put_decimal(&text, kit->missing, 0);
    uspi_put_string(&text, kit->missing == 1 ? " thread did not answer" : " threads did not answer");
    (void)uspi_text_end(&text);
    put_note(kit, USP_NOTE_RECORDER, 0, "", sentence);
}

/* ---- the report ---- */

void uspi_crash_record(void *context, const struct uspi_os_crash *crash, uint64_t deadline) {
    struct uspi_crash_kit *kit = context;
    struct uspi_thread_copy copy;
    struct usp_stack stack;
    struct uspi_raw_crash what = {
        .signal = crash->signal,
        .code = crash->code,
        .flags = crash->has_address ? USPI_RAW_CRASH_ADDRESS : 0u,
        .fault_address = crash->address,
        .thread = crash->thread,
        .sender = crash->sender > 0 ? (uint64_t)crash->sender : 0,
        .started = kit->started,
        .mach_exception = crash->exception,
        .mach_codes = {crash->exception_codes[0], crash->exception_codes[1]},
    };
    kit->deadline = deadline;
    /* The first report's file was made beforehand, but another program may have removed it. */
    if (kit->is_published || kit->written != 0 || !uspi_os_kept_file_has_name(&kit->file)) {
        uspi_os_kept_file_close(&kit->file);
        (void)uspi_crash_make_file(kit);
    }
    kit->is_published = false;
    uspi_raw_begin(&kit->sink, write_file, kit);
    put_process(kit, crash);
    uspi_raw_put_crash(&kit->sink, &what);
    put_notes(kit);
    put_exception(kit, crash->thread);
    put_crashed_thread(kit, crash, &copy);
    uint64_t descriptors;
    const bool is_raised = uspi_os_raise_descriptors(&descriptors);
    uspi_crash_forget_pages(kit);
    uspi_crash_forget_images(kit);
    /* Linux finds one image at a time. */
    const bool lists_first = uspi_os_kind() != USP_OS_LINUX;
    if (lists_first) find_images(kit, &what);
    uspi_crash_describe_process(kit);
    put_stack(kit, &copy, true, &stack);
    if (!lists_first) find_images(kit, &what);
    uspi_raw_put_crash(&kit->sink, &what);
    if (strcmp(usp_signal_string(uspi_os_kind(), crash->signal), "SIGABRT") == 0) put_messages(kit, &stack);
    if (uspi_os_kind() == USP_OS_DARWIN) put_infos(kit, &stack);
    /* What the crashed thread did is in the file. */
    kit->sink.gathers = true;
    for (size_t i = 0; i < kit->image_count; i++) uspi_raw_put_image(&kit->sink, &kit->images[i]);
    put_other_threads(kit);
    if (is_raised) uspi_os_restore_descriptors(descriptors);
    uspi_raw_end(&kit->sink);
    if (kit->sink.status != USP_OK) return;
    kit->is_published = uspi_os_kept_file_publish(&kit->file, kit->written, kit->report_path) == USP_OK;
}

struct tail {
    struct uspi_crash_kit *kit;
    size_t used;
};

static int write_tail(void *to, const void *bytes, size_t n) {
    struct tail *tail = to;
    if (n > sizeof tail->kit->tail - tail->used) return USP_ERROR_FULL;
    memcpy(tail->kit->tail + tail->used, bytes, n);
    tail->used += n;
    return USP_OK;
}

/* The callback's text replaces the end record, in one write with a new end. */
void uspi_crash_tell(void *context) {
    struct uspi_crash_kit *kit = context;
    struct tail tail = {.kit = kit};
    const uint64_t end = USPI_RAW_RECORD_HEADER + USPI_RAW_END_SIZE + USPI_RAW_CHECKSUM_SIZE;
    if (!kit->is_published || kit->options.callback == NULL) return;
    kit->options.callback(kit->options.context, kit->callback_text, sizeof kit->callback_text);
    if (kit->callback_text[sizeof kit->callback_text - 1] != '\0')
        kit->callback_text[uspi_utf8_whole(kit->callback_text, sizeof kit->callback_text - 1)] = '\0';
    if (kit->callback_text[0] == '\0') return;
    kit->sink.write = write_tail;
    kit->sink.to = &tail;
    kit->sink.records--;
    put_note(kit, USP_NOTE_CALLBACK, uspi_os_wall_clock(), "", kit->callback_text);
    uspi_raw_end(&kit->sink);
    kit->file.size = kit->written - end + tail.used;
    if (kit->sink.status == USP_OK) (void)uspi_os_kept_file_write(&kit->file, kit->written - end, kit->tail, tail.used);
    uspi_os_kept_file_close(&kit->file);
}

void uspi_crash_retract(void *context) {
    struct uspi_crash_kit *kit = context;
    if (kit->is_published) (void)uspi_os_remove_file(kit->report_path);
}
