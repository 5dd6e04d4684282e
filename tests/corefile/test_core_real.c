/* SPDX-License-Identifier: MIT */
/* Tests cores that a kernel and qemu-user write of a program with threads in known functions (core_victim.c, compiled
 * here in several ways). Every frame must have its function's name, with the program's file unchanged, replaced,
 * removed or moved. Exits with 77 (skipped) if the kernel does not write a plain core file into the working folder. */
#define _FILE_OFFSET_BITS 64
#include "tests/support/compilers.h"
#include "tests/support/core_walk.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SOURCE "tests/corefile/core_victim.c"

/* How the program is built and run. Variants whose tools are not installed are skipped with a message. */
static const struct variant {
    const char *name, *compiler, *flags;
    const char *runner; /* NULL: the kernel itself */
    bool without_build_id;
    bool holds_text; /* its code lies in the page of its header, which the kernel dumps, too */
} variants[] = {
    {"native", "cc", "", NULL, false, false},
    {"native, static", "cc", "-static", NULL, false, false},
    {"native, without build-id", "cc", "-Wl,--build-id=none", NULL, true, false},
    {"clang and lld", "clang-19", "-fuse-ld=lld -Wl,--build-id", NULL, false, true},
    {"i386", "i686-linux-gnu-gcc", "-static", NULL, false, false},
    {"qemu-user aarch64", "aarch64-linux-gnu-gcc", "-static", "qemu-aarch64", false, false},
    {"qemu-user aarch64, code apart", "aarch64-linux-gnu-gcc", "-static -Wl,-z,separate-code", "qemu-aarch64", false,
     false},
    {"qemu-user arm", "clang-19", "--target=arm-linux-gnueabihf -mthumb -static", "qemu-arm", false, false},
};
#define VARIANTS ELEMENTS(variants)

static char source[1024];

/* ---- the program and its symbols ---- */

/* Builds FOLDER/victim. Returns false if its tools are not installed. */
static bool compile(const struct variant *v) {
    char command[4096];
    if (v->runner != NULL && !is_installed(v->runner)) return leave_out(v->name, v->runner);
    if (!makes_programs(v->compiler, v->flags, in_folder("victim"))) return leave_out(v->name, v->compiler);
    snprintf(command, sizeof command, "%s %s -O1 -fno-omit-frame-pointer -pthread -o '%s' '%s'", v->compiler, v->flags,
             in_folder("victim"), source);
    ck_assert_msg(system(command) == 0, "%s", command);
    return true;
}

static struct symbol {
    char name[32];
    usp_addr start, size;
} symbols[8];
static size_t symbol_count;

/* Reads the sizes and addresses of the expected functions from nm. */
static void read_symbols(const char *program) {
    char command[1024], line[512], name[256], type;
    unsigned long long start, size;
    snprintf(command, sizeof command, "nm -S '%s'", program);
    FILE *nm = popen(command, "r");
    ck_assert_ptr_nonnull(nm);
    symbol_count = 0;
    while (fgets(line, sizeof line, nm) != NULL) {
        if (sscanf(line, "%llx %llx %c %255s", &start, &size, &type, name) != 4 || tolower(type) != 't') continue;
        if (strncmp(name, "victim_", 7) != 0 && strncmp(name, "worker_", 7) != 0 && strcmp(name, "main") != 0) continue;
        ck_assert_uint_lt(symbol_count, sizeof symbols / sizeof *symbols);
        struct symbol *s = &symbols[symbol_count++];
        snprintf(s->name, sizeof s->name, "%.31s", name);
        s->start = start & ~1ull;
        s->size = size;
    }
    ck_assert_int_eq(pclose(nm), 0);
    ck_assert_uint_eq(symbol_count, 6);
}

static const char *name_of(const struct uspi_core *core, const struct usp_frame *frame) {
    usp_addr at = usp_frame_call_site(core->arch, frame);
    const struct usp_image *image = usp_images_find(core->images, at);
    if (image == NULL || (image->flags & USP_IMAGE_MAIN) == 0) return "";
    for (size_t i = 0; i < symbol_count; i++) {
        if (at - image->slide - symbols[i].start < symbols[i].size) return symbols[i].name;
    }
    return "?";
}

/* ---- the program's crash ---- */

/* Runs the program until it has dumped core into FOLDER/core. Returns its process id. */
static pid_t dump(const struct variant *v) {
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
        int null = open("/dev/null", O_RDWR);
        setrlimit(RLIMIT_CORE, &unlimited);
        dup2(null, 1);
        dup2(null, 2);
        if (chdir(folder) != 0) _exit(126);
        if (v->runner != NULL) {
            execlp(v->runner, v->runner, "./victim", (char *)NULL);
        } else {
            execl(in_folder("victim"), "victim", (char *)NULL);
        }
        _exit(127);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status %#x", (unsigned)status);
    char command[1024];
    /* qemu-user writes a core of its program, then dies of the same signal and may leave a core of itself. */
    snprintf(command, sizeof command, "cd '%s' && mv -f %s core.kept && { rm -f core; mv core.kept core; }", folder,
             v->runner != NULL ? "qemu_*.core" : "core*");
    ck_assert_int_eq(system(command), 0);
    return pid;
}

/* ---- what is expected ---- */

static const char *const victim_chain[] = {"victim_inner", "victim_middle", "main"};
static const char *const worker_chain[] = {"worker_inner", "worker_middle", "worker_outer"};

/* Expects the innermost frames of every thread, by name. Without instructions a function without a frame record may
 * hide its caller if it is innermost, but no other frame may replace the caller. */
static void expect_stacks(const struct uspi_core *core, bool with_text) {
    ck_assert_uint_eq(core->thread_count, 4);
    for (size_t t = 0; t < 4; t++) {
        struct walked w;
        const char *const *chain = t == 0 ? victim_chain : worker_chain;
        walk_thread(core, &core->threads[t], &w);
        unsigned f = 0;
        for (unsigned i = 0; i < 3; i++) {
            bool there = f < w.stack.count && strcmp(name_of(core, &w.frames[f]), chain[i]) == 0;
            ck_assert_msg(there || (!with_text && i == 1), "thread %zu: frame %u is not %s: %s", t, f, chain[i],
                          f < w.stack.count ? name_of(core, &w.frames[f]) : usp_stop_reason_string(w.stack.stop));
            if (there) f++;
        }
        if (with_text) ck_assert_uint_eq(w.frames[1].flags & USP_FRAME_UNVERIFIED, 0);
        if (!with_text) ck_assert_uint_ne(w.stack.flags & USP_STACK_NO_INSTRUCTIONS, 0);
    }
}

/* The core's flags, without the one about its signal. */
static uint32_t flags_of_files(const struct uspi_core *core) { return core->flags & ~(uint32_t)USP_SNAPSHOT_FAULT; }

static struct uspi_core *open_with(const char *sysroot, const char *program) {
    struct uspi_core_options options = {.sysroot = sysroot, .program = program};
    return open_core(in_folder("core"), &options);
}

static bool prepare(const struct variant *v, pid_t *pid) {
    if (!compile(v)) return false;
    read_symbols(in_folder("victim"));
    *pid = dump(v);
    return true;
}

START_TEST(every_thread) {
    const struct variant *v = &variants[_i];
    pid_t pid;
    if (!prepare(v, &pid)) return;
    struct uspi_core *core = open_with(NULL, v->runner != NULL ? in_folder("victim") : NULL);
    ck_assert_msg(flags_of_files(core) == 0, "%s", core->message_count > 0 ? core->messages[0] : "");
    ck_assert_uint_eq(core->signal, SIGSEGV);
    if (v->runner == NULL) {
        ck_assert_int_eq(core->pid, pid);
        ck_assert_uint_eq(core->threads[0].id, (uint64_t)pid);
        ck_assert_str_eq(core->program, in_folder("victim"));
    }
    for (size_t i = 1; i < core->thread_count; i++) ck_assert_uint_ne(core->threads[i].id, core->threads[0].id);
    if (v->without_build_id) EXPECT_SAYS(core, "without a build-id");
    expect_stacks(core, true);
    uspi_core_close(core);
}
END_TEST

static struct usp_snapshot *open_snapshot(void) {
    struct usp_snapshot *snapshot;
    char error[256];
    int status = usp_snapshot_open_core(in_folder("core"), NULL, &snapshot, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error);
    return snapshot;
}

/* A capture of this process, which finds where its own stacks end, does not change where those of a core end, which has
 * the same libc. */
START_TEST(same_ends) {
    pid_t pid;
    if (!prepare(&variants[0], &pid)) return;
    struct usp_snapshot *own = NULL, *before = open_snapshot();
    /* Where a program cannot capture its threads, the call must change nothing either. */
    const int status = usp_snapshot_create_self(NULL, &own);
    ck_assert(status == USP_OK || status == USP_ERROR_UNSUPPORTED);
    usp_snapshot_free(own);
    struct usp_snapshot *after = open_snapshot();
    ck_assert_uint_eq(usp_snapshot_get_info(before)->thread_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct usp_stack *a = &usp_snapshot_get_thread(before, i)->stack;
        const struct usp_stack *b = &usp_snapshot_get_thread(after, i)->stack;
        ck_assert_uint_eq(a->count, b->count);
        ck_assert_uint_eq(a->stop, b->stop);
        for (unsigned f = 0; f < a->count; f++) ck_assert_uint_eq(a->frames[f].pc, b->frames[f].pc);
    }
    usp_snapshot_free(before);
    usp_snapshot_free(after);
}
END_TEST

START_TEST(images) {
    pid_t pid;
    unsigned kernel = 0, loader = 0, main_count = 0, libc = 0;
    if (!prepare(&variants[0], &pid)) return;
    struct uspi_core *core = open_with(NULL, NULL);
    for (size_t i = 0; i < usp_images_count(core->images); i++) {
        const struct usp_image *image = usp_images_get(core->images, i);
        ck_assert_uint_eq(image->arch, core->arch);
        ck_assert_uint_ne(image->build_id_size, 0);
        ck_assert(image->load_address <= image->text_low && image->text_low < image->text_high &&
                  image->text_high <= image->end);
        if ((image->flags & USP_IMAGE_KERNEL) != 0) kernel++;
        if ((image->flags & USP_IMAGE_LOADER) != 0) loader++;
        if ((image->flags & USP_IMAGE_MAIN) != 0) main_count++;
        if (strstr(image->path, "/libc.so") != NULL) libc++;
    }
    ck_assert_uint_eq(kernel, 1);
    ck_assert_uint_eq(loader, 1);
    ck_assert_uint_eq(main_count, 1);
    ck_assert_uint_eq(libc, 1);
    uspi_core_close(core);
}
END_TEST

/* Flips a bit of the build-id in the file. */
static void change_build_id(const char *path, const struct usp_image *image) {
    char byte;
    struct builder b = {0};
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    while (fread(&byte, 1, 1, f) == 1) put_bytes(&b, &byte, 1);
    fclose(f);
    unsigned changed = 0;
    for (size_t i = 0; i + image->build_id_size <= b.size; i++) {
        if (memcmp(b.bytes + i, image->build_id, image->build_id_size) != 0) continue;
        b.bytes[i] ^= 1;
        changed++;
    }
    ck_assert_uint_gt(changed, 0);
    save(&b, path);
    builder_free(&b);
}

static const struct usp_image *main_image(const struct uspi_core *core) {
    for (size_t i = 0; i < usp_images_count(core->images); i++) {
        const struct usp_image *image = usp_images_get(core->images, i);
        if ((image->flags & USP_IMAGE_MAIN) != 0) return image;
    }
    ck_abort_msg("no main program");
    return NULL;
}

START_TEST(replaced_removed_elsewhere) {
    const struct variant *v = &variants[_i];
    pid_t pid;
    char command[2048];
    if (v->runner != NULL || v->without_build_id || !prepare(v, &pid)) return;
    struct uspi_core *core = open_with(NULL, NULL);
    snprintf(command, sizeof command, "cp '%s/victim' '%s/kept'", folder, folder);
    ck_assert_int_eq(system(command), 0);
    change_build_id(in_folder("victim"), main_image(core));
    uspi_core_close(core);
    core = open_with(NULL, NULL);
    if (v->holds_text) {
        ck_assert_uint_eq(flags_of_files(core), 0);
        expect_stacks(core, true);
        uspi_core_close(core);
        return;
    }
    ck_assert_uint_eq(flags_of_files(core), USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(core, "another build");
    expect_stacks(core, false);
    uspi_core_close(core);

    ck_assert_int_eq(unlink(in_folder("victim")), 0);
    core = open_with(NULL, NULL);
    ck_assert_uint_eq(flags_of_files(core), USP_SNAPSHOT_FILES_MISSING);
    EXPECT_SAYS(core, in_folder("victim"));
    expect_stacks(core, false);
    uspi_core_close(core);

    core = open_with(NULL, in_folder("kept"));
    ck_assert_uint_eq(flags_of_files(core), 0);
    expect_stacks(core, true);
    uspi_core_close(core);

    snprintf(command, sizeof command, "mkdir -p '%s/root%s' && mv '%s/kept' '%s/root%s/victim'", folder, folder, folder,
             folder, folder);
    ck_assert_int_eq(system(command), 0);
    core = open_with(in_folder("root"), NULL);
    ck_assert_uint_eq(flags_of_files(core), 0);
    expect_stacks(core, true);
    uspi_core_close(core);
}
END_TEST

/* A core that a full disk or a limit has truncated: its remaining data must be right, and the core must be reported as
 * truncated. */
START_TEST(cut_off) {
    const struct variant *v = &variants[_i];
    pid_t pid;
    struct stat status;
    if (!prepare(v, &pid)) return;
    ck_assert_int_eq(stat(in_folder("core"), &status), 0);
    for (int i = 199; i >= 0; i--) {
        struct uspi_core *core;
        struct uspi_error error = {0};
        /* Cuts evenly through the whole file, then through its first part, which has all headers and notes. */
        off_t n = i >= 100 ? status.st_size / 100 * (i - 100) : (off_t)i * 250;
        if (n >= status.st_size) continue;
        ck_assert_int_eq(truncate(in_folder("core"), n), 0);
        if (uspi_core_open(in_folder("core"), NULL, &core, &error) != USP_OK) {
            ck_assert_ptr_nonnull(strstr(error.text, in_folder("core")));
            continue;
        }
        ck_assert_uint_ne(core->flags & USP_SNAPSHOT_TRUNCATED, 0);
        ck_assert_uint_gt(core->message_count, 0);
        for (size_t t = 0; t < core->thread_count; t++) {
            struct walked w;
            const char *const *chain = t == 0 ? victim_chain : worker_chain;
            if (core->threads[t].status == USP_OK) walk_thread(core, &core->threads[t], &w);
            if (core->threads[t].status != USP_OK || usp_images_count(core->images) == 0) continue;
            /* Frames in the program must belong to its chain, in order; a later one may be missing. */
            unsigned next = 0;
            for (unsigned f = 0; f < w.stack.count && next < 3; f++) {
                const char *name = name_of(core, &w.frames[f]);
                while (next < 3 && strcmp(name, chain[next]) != 0) next++;
                ck_assert_msg(next < 3 || name[0] == '\0', "%s is not in its place", name);
                next++;
            }
        }
        uspi_core_close(core);
    }
}
END_TEST

static bool kernel_writes_plain_cores(void) {
    char pattern[128] = "";
    FILE *f = fopen("/proc/sys/kernel/core_pattern", "r");
    if (f != NULL) {
        if (fgets(pattern, sizeof pattern, f) == NULL) pattern[0] = '\0';
        fclose(f);
    }
    return strncmp(pattern, "core", 4) == 0 && strchr(pattern, '/') == NULL;
}

int main(void) {
    const char *folder_of_source = getenv("srcdir");
    snprintf(source, sizeof source, "%s/" SOURCE, folder_of_source != NULL ? folder_of_source : ".");
    if (usp_arch_host() != USP_ARCH_X86_64 || !kernel_writes_plain_cores() || access(source, R_OK) != 0 ||
        !is_installed("cc") || !is_installed("nm")) {
        puts("needs an x86_64 kernel with core_pattern \"core\", a compiler, nm and " SOURCE);
        return 77;
    }
    TCase *real = tcase_create("real");
    tcase_add_checked_fixture(real, make_folder, remove_folder);
    tcase_add_loop_test(real, every_thread, 0, VARIANTS);
    tcase_add_test(real, same_ends);
    tcase_add_test(real, images);
    add_loop_tests(real, 0, VARIANTS, replaced_removed_elsewhere, cut_off);
    return run_suite("real cores", real);
}
