/* SPDX-License-Identifier: MIT */
/* The part of a C library that needs no kernel, compiled for the emulated process. It defines functions that the
 * stand-in SDK's libSystem.tbd lists; it is short rather than fast. There are no files: names come from loaded
 * images. */
#include "guest.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <unistd.h>

/* Functions that the compiler calls without a declaration. */
void bzero(void *s, size_t n);
void __bzero(void *s, size_t n);
void __stack_chk_fail(void);
int isalnum(int c);

/* ---- memory ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if ((((uintptr_t)t | (uintptr_t)f) & (sizeof(long) - 1)) == 0) {
        for (; n >= sizeof(long); n -= sizeof(long), t += sizeof(long), f += sizeof(long)) {
            *(long *)(void *)t = *(const long *)(const void *)f;
        }
    }
    for (; n > 0; n--) *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;
    if (t <= f) return memcpy(to, from, n);
    while (n-- > 0) t[n] = f[n];
    return to;
}

void *memset(void *s, int c, size_t n) {
    unsigned char *t = s;
    for (; n > 0 && ((uintptr_t)t & (sizeof(long) - 1)) != 0; n--) *t++ = (unsigned char)c;
    for (; c == 0 && n >= sizeof(long); n -= sizeof(long), t += sizeof(long)) *(long *)(void *)t = 0;
    for (; n > 0; n--) *t++ = (unsigned char)c;
    return s;
}

void bzero(void *s, size_t n) { memset(s, 0, n); }
void __bzero(void *s, size_t n) { memset(s, 0, n); }

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (; n > 0; n--, x++, y++) {
        if (*x != *y) return *x - *y;
    }
    return 0;
}

void *memchr(const void *s, int c, size_t n) {
    const unsigned char *x = s;
    for (; n > 0; n--, x++) {
        if (*x == (unsigned char)c) return (void *)(uintptr_t)x;
    }
    return NULL;
}

/* The header of each allocation. Freed pieces are kept for later allocations of the same size. */
struct piece {
    size_t size;
    struct piece *next;
    size_t padding[2];
};

#define CLASSES 28u
#define CHUNK   ((size_t)1 << 20)

static struct piece *kept[CLASSES];
static unsigned char *chunk;
static size_t chunk_left;
long guest_allocations;

void *malloc(size_t n) {
    unsigned class = 4;
    while (class < CLASSES - 1 && ((size_t)1 << class) < n) class ++;
    size_t size = (size_t)1 << class;
    if (n > size) return NULL;
    guest_allocations++;
    struct piece *p = kept[class];
    if (p != NULL) {
        kept[class] = p->next;
    } else {
        size_t all = size + sizeof *p;
        if (all > chunk_left) {
            vm_address_t fresh = 0;
            size_t want = all > CHUNK ? all : CHUNK;
            if (vm_allocate(mach_task_self(), &fresh, want, VM_FLAGS_ANYWHERE) != KERN_SUCCESS) return NULL;
            /* The heap's own memory is never returned. */
            test_kept_mapping();
            chunk = (unsigned char *)fresh;
            chunk_left = want;
        }
        p = (struct piece *)(void *)chunk;
        chunk += all;
        chunk_left -= all;
        p->size = size;
    }
    memset(p + 1, 0xab, n < 64 ? n : 64);
    return p + 1;
}

void free(void *memory) {
    if (memory == NULL) return;
    struct piece *p = (struct piece *)memory - 1;
    unsigned class = 0;
    while (((size_t)1 << class) < p->size) class ++;
    memset(memory, 0xdd, p->size < 64 ? p->size : 64);
    p->next = kept[class];
    kept[class] = p;
    guest_allocations--;
}

void *calloc(size_t count, size_t n) {
    if (n != 0 && count > SIZE_MAX / n) return NULL;
    void *memory = malloc(count * n);
    if (memory != NULL) memset(memory, 0, count * n);
    return memory;
}

void *realloc(void *memory, size_t n) {
    if (memory == NULL) return malloc(n);
    size_t old = ((struct piece *)memory - 1)->size;
    if (n <= old) return memory;
    void *moved = malloc(n);
    if (moved == NULL) return NULL;
    memcpy(moved, memory, old);
    free(memory);
    return moved;
}

#if defined(__arm__) || defined(__i386__)
/* ---- division for processors that have none: the part of compiler-rt that libSystem has ---- */

double __floatundidf(uint64_t a);
uint64_t __fixunsdfdi(double a);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);
int64_t __divdi3(int64_t a, int64_t b);
int64_t __moddi3(int64_t a, int64_t b);
double __floatundidf(uint64_t a) { return (double)(uint32_t)(a >> 32) * 4294967296.0 + (double)(uint32_t)a; }
uint64_t __fixunsdfdi(double a) {
    uint32_t high = (uint32_t)(a / 4294967296.0);
    return (uint64_t)high << 32 | (uint32_t)(a - (double)high * 4294967296.0);
}
uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __umodsi3(uint32_t a, uint32_t b);
int32_t __divsi3(int32_t a, int32_t b);
int32_t __modsi3(int32_t a, int32_t b);

static uint64_t divide(uint64_t a, uint64_t b, uint64_t *rest) {
    uint64_t quotient = 0, r = 0;
    for (unsigned i = 64; i-- > 0;) {
        r = r << 1 | (a >> i & 1);
        quotient <<= 1;
        if (r < b) continue;
        r -= b;
        quotient |= 1;
    }
    *rest = r;
    return quotient;
}

static uint64_t magnitude(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }

uint64_t __udivdi3(uint64_t a, uint64_t b) {
    uint64_t rest;
    return divide(a, b, &rest);
}
uint64_t __umoddi3(uint64_t a, uint64_t b) {
    uint64_t rest;
    divide(a, b, &rest);
    return rest;
}
int64_t __divdi3(int64_t a, int64_t b) {
    uint64_t quotient = __udivdi3(magnitude(a), magnitude(b));
    return (int64_t)((a < 0) != (b < 0) ? 0 - quotient : quotient);
}
int64_t __moddi3(int64_t a, int64_t b) {
    uint64_t rest = __umoddi3(magnitude(a), magnitude(b));
    return (int64_t)(a < 0 ? 0 - rest : rest);
}
uint32_t __udivsi3(uint32_t a, uint32_t b) { return (uint32_t)__udivdi3(a, b); }
uint32_t __umodsi3(uint32_t a, uint32_t b) { return (uint32_t)__umoddi3(a, b); }
int32_t __divsi3(int32_t a, int32_t b) { return (int32_t)__divdi3(a, b); }
int32_t __modsi3(int32_t a, int32_t b) { return (int32_t)__moddi3(a, b); }
#endif

/* ---- strings ---- */

size_t strlen(const char *s) {
    const char *end = s;
    while (*end != '\0') end++;
    return (size_t)(end - s);
}

size_t strnlen(const char *s, size_t n) {
    size_t length = 0;
    while (length < n && s[length] != '\0') length++;
    return length;
}

int strncmp(const char *a, const char *b, size_t n) {
    for (; n > 0; n--, a++, b++) {
        if (*a != *b) return (unsigned char)*a - (unsigned char)*b;
        if (*a == '\0') return 0;
    }
    return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

char *strchr(const char *s, int c) {
    for (;; s++) {
        if (*s == (char)c) return (char *)(uintptr_t)s;
        if (*s == '\0') return NULL;
    }
}

char *strrchr(const char *s, int c) {
    for (const char *at = s + strlen(s);; at--) {
        if (*at == (char)c) return (char *)(uintptr_t)at;
        if (at == s) return NULL;
    }
}

char *strstr(const char *s, const char *part) {
    size_t n = strlen(part);
    for (;; s++) {
        if (strncmp(s, part, n) == 0) return (char *)(uintptr_t)s;
        if (*s == '\0') return NULL;
    }
}

size_t strcspn(const char *s, const char *set) {
    size_t n = 0;
    while (s[n] != '\0' && strchr(set, s[n]) == NULL) n++;
    return n;
}

size_t strspn(const char *s, const char *set) {
    size_t n = 0;
    while (s[n] != '\0' && strchr(set, s[n]) != NULL) n++;
    return n;
}

char *strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy != NULL ? memcpy(copy, s, n) : NULL;
}

char *strerror(int number) {
    (void)number;
    static char text[] = "No such file or directory";
    return text;
}

int isalnum(int c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* ---- formatted text, for the library's messages (%s %c %u %d %x %zu %llu with width, precision and '0') ---- */

struct output {
    char *to;
    size_t capacity, length;
};

static void put(struct output *out, char c) {
    if (out->length + 1 < out->capacity) out->to[out->length] = c;
    out->length++;
}

struct conversion {
    char kind;
    bool zero, has_precision;
    int width, precision, longs;
};

static int read_number(const char *restrict *format) {
    int n = 0;
    for (; **format >= '0' && **format <= '9'; ++*format) n = n * 10 + (**format - '0');
    return n;
}

static void put_number(struct output *out, const struct conversion *c, uint64_t value, bool is_negative) {
    char digits[24];
    int n = 0, base = c->kind == 'x' || c->kind == 'X' || c->kind == 'p' ? 16 : 10;
    do {
        digits[n++] = (c->kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[value % (unsigned)base];
        value /= (unsigned)base;
    } while (value != 0);
    int zeros = c->has_precision ? c->precision - n : c->zero ? c->width - n - is_negative : 0;
    for (int i = n + (zeros > 0 ? zeros : 0) + is_negative; i < c->width; i++) put(out, ' ');
    if (is_negative) put(out, '-');
    for (; zeros > 0; zeros--) put(out, '0');
    while (n > 0) put(out, digits[--n]);
}

int vsnprintf(char *restrict to, size_t n, const char *restrict format, va_list given) {
    struct output out = {to, n, 0};
    va_list arguments;
    va_copy(arguments, given);
    for (; *format != '\0'; format++) {
        if (*format != '%' || *++format == '%') {
            put(&out, *format);
            continue;
        }
        struct conversion c = {.kind = 0};
        for (; *format == '0' || *format == '-'; format++) c.zero = *format == '0';
        c.width = read_number(&format);
        if (*format == '.') {
            format++;
            c.has_precision = true;
            if (*format == '*') {
                format++;
                c.precision = va_arg(arguments, int);
            } else {
                c.precision = read_number(&format);
            }
        }
        for (; *format == 'l' || *format == 'z' || *format == 'h' || *format == 'j'; format++) {
            if (*format == 'l') c.longs++;
            if (*format == 'z') c.longs = 1;
            if (*format == 'j') c.longs = 2;
        }
        c.kind = *format;
        if (c.kind == 's') {
            const char *s = va_arg(arguments, const char *);
            size_t length = c.has_precision ? strnlen(s, (size_t)c.precision) : strlen(s);
            for (size_t i = length; i < (size_t)c.width; i++) put(&out, ' ');
            for (size_t i = 0; i < length; i++) put(&out, s[i]);
        } else if (c.kind == 'c') {
            put(&out, (char)va_arg(arguments, int));
        } else if (c.kind == 'd' || c.kind == 'i') {
            int64_t value = c.longs > 1   ? va_arg(arguments, long long)
                            : c.longs > 0 ? va_arg(arguments, long)
                                          : va_arg(arguments, int);
            put_number(&out, &c, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
        } else {
            uint64_t value = c.longs > 1   ? va_arg(arguments, unsigned long long)
                             : c.longs > 0 ? va_arg(arguments, unsigned long)
                                           : va_arg(arguments, unsigned);
            put_number(&out, &c, value, false);
        }
    }
    va_end(arguments);
    if (n > 0) to[out.length < n ? out.length : n - 1] = '\0';
    return (int)out.length;
}

int snprintf(char *restrict to, size_t n, const char *restrict format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(to, n, format, arguments);
    va_end(arguments);
    return length;
}

/* ---- sorting ---- */

static void swap(unsigned char *a, unsigned char *b, size_t size) {
    for (; size > 0; size--, a++, b++) {
        unsigned char byte = *a;
        *a = *b;
        *b = byte;
    }
}

/* Sifts a heap's root down to its place. */
static void sift(unsigned char *base, size_t root, size_t count, size_t size,
                 int (*compare)(const void *, const void *)) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && compare(base + child * size, base + (child + 1) * size) < 0) child++;
        if (compare(base + root * size, base + child * size) >= 0) return;
        swap(base + root * size, base + child * size, size);
    }
}

void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *)) {
    if (count < 2) return;
    for (size_t i = count / 2; i-- > 0;) sift(base, i, count, size, compare);
    for (size_t n = count - 1; n > 0; n--) {
        swap(base, (unsigned char *)base + n * size, size);
        sift(base, 0, n, size, compare);
    }
}

void *bsearch(const void *key, const void *base, size_t count, size_t size,
              int (*compare)(const void *, const void *)) {
    const unsigned char *at = base;
    while (count > 0) {
        const unsigned char *middle = at + count / 2 * size;
        int order = compare(key, middle);
        if (order == 0) return (void *)(uintptr_t)middle;
        if (order > 0) {
            at = middle + size;
            count -= count / 2 + 1;
        } else {
            count /= 2;
        }
    }
    return NULL;
}

/* ---- threads, which never run at the same time ---- */

int pthread_once(pthread_once_t *once, void (*routine)(void)) {
    if (once->__sig == 0) return 0;
    once->__sig = 0;
    routine();
    return 0;
}

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)prepare;
    (void)parent;
    (void)child;
    return 0;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    (void)attributes;
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    (void)mutex;
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (mutex->__opaque[0]++ != 0) test_fail("a mutex is taken twice");
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (--mutex->__opaque[0] != 0) test_fail("a mutex is given back that was not taken");
    return 0;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    static sigset_t current;
    if (how != SIG_SETMASK && how != SIG_BLOCK) test_fail("pthread_sigmask with unknown arguments");
    if (old != NULL) *old = current;
    if (set != NULL) current = how == SIG_BLOCK ? current | *set : *set;
    return 0;
}

int pthread_setcancelstate(int state, int *old) {
    static int current = 1;
    if (old != NULL) *old = current;
    current = state;
    return 0;
}

void __stack_chk_fail(void) { test_fail("the stack guard was overwritten"); }

/* ---- dispatch: one queue, whose work runs at once (libdispatch src/queue.c) ---- */

struct queue {
    const void *class;
    size_t state[6];
    const char *label;
};

/* The word in which a thread keeps its current queue: key 20 of its thread-specific data (libdispatch src/shims/tsd.h).
 * process.c puts that data 64 bytes after the start of the pthread_t. */
#define CURRENT_QUEUE (*(struct queue **)((uintptr_t)pthread_self() + 64 + 20 * sizeof(void *)))

struct queue *dispatch_queue_create(const char *label, const void *attributes);
const char *dispatch_queue_get_label(const struct queue *queue);
void dispatch_release(struct queue *queue);
void dispatch_sync_f(struct queue *queue, void *context, void (*work)(void *context));

struct queue *dispatch_queue_create(const char *label, const void *attributes) {
    struct queue *queue = attributes == NULL ? calloc(1, sizeof *queue) : NULL;
    if (queue == NULL) return NULL;
    queue->class = &kept;
    queue->label = label;
    return queue;
}

const char *dispatch_queue_get_label(const struct queue *queue) {
    if (queue == NULL) queue = CURRENT_QUEUE;
    return queue != NULL ? queue->label : "";
}

void dispatch_release(struct queue *queue) { free(queue); }

void dispatch_sync_f(struct queue *queue, void *context, void (*work)(void *context)) {
    struct queue *outer = CURRENT_QUEUE;
    CURRENT_QUEUE = queue;
    work(context);
    CURRENT_QUEUE = outer;
}

/* ---- time, the process ---- */

kern_return_t mach_timebase_info(mach_timebase_info_t info) {
    info->numer = 125;
    info->denom = 3;
    return KERN_SUCCESS;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    now->tv_sec = 1700000000;
    now->tv_usec = 5;
    return 0;
}

struct tm *gmtime_r(const time_t *restrict time, struct tm *restrict broken_down) {
    (void)time;
    (void)broken_down;
    return NULL;
}

static int last_error;

int *__error(void) { return &last_error; }

static int no_file(void) {
    last_error = ENOENT;
    return -1;
}

pid_t getpid(void) { return 1000; }
int kill(pid_t pid, int signal) {
    (void)pid;
    (void)signal;
    return no_file();
}
int sysctlbyname(const char *name, void *old, size_t *size, void *value, size_t n) {
    (void)name;
    (void)old;
    (void)size;
    (void)value;
    (void)n;
    return no_file();
}

/* ---- no files ---- */

int open(const char *path, int flags, ...) {
    (void)path;
    (void)flags;
    return no_file();
}
int stat(const char *path, struct stat *status) {
    (void)path;
    (void)status;
    return no_file();
}
int fstat(int fd, struct stat *status) {
    (void)fd;
    (void)status;
    return no_file();
}
int close(int fd) {
    (void)fd;
    return no_file();
}
ssize_t pread(int fd, void *to, size_t n, off_t at) {
    (void)fd;
    (void)to;
    (void)n;
    (void)at;
    return no_file();
}
ssize_t write(int fd, const void *from, size_t n) {
    (void)fd;
    (void)from;
    (void)n;
    return no_file();
}
void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    (void)at;
    (void)n;
    (void)protection;
    (void)flags;
    (void)fd;
    (void)offset;
    no_file();
    return MAP_FAILED;
}
int munmap(void *at, size_t n) {
    (void)at;
    (void)n;
    return no_file();
}
DIR *opendir(const char *path) {
    (void)path;
    no_file();
    return NULL;
}
struct dirent *readdir(DIR *directory) {
    (void)directory;
    return NULL;
}
int closedir(DIR *directory) {
    (void)directory;
    return no_file();
}

/* ---- the loader ---- */

void *dlopen(const char *path, int mode) {
    (void)path;
    (void)mode;
    return NULL;
}
int dlclose(void *handle) {
    (void)handle;
    return 0;
}
bool (*guest_has_symbol)(const char *name);

void *dlsym(void *handle, const char *name) {
    (void)handle;
    if (guest_has_symbol == NULL || !guest_has_symbol(name)) return NULL;
    return (void *)test_symbol(name);
}

void _dyld_register_func_for_add_image(void (*added)(const struct mach_header *header, intptr_t slide)) {
    uintptr_t header;
    for (unsigned i = 0; (header = test_image(i)) != 0; i++) added((const struct mach_header *)header, 0);
}

void _dyld_register_func_for_remove_image(void (*removed)(const struct mach_header *header, intptr_t slide)) {
    (void)removed;
}

/* ---- functions that the library refers to but does not call here ---- */

#pragma clang diagnostic ignored "-Wunused-parameter"

#define NEVER_CALLED(function, arguments)                                                                              \
    int function arguments {                                                                                           \
        test_fail(#function " is called");                                                                             \
        return -1;                                                                                                     \
    }

NEVER_CALLED(dup, (int a))
NEVER_CALLED(fchmod, (int a, mode_t b))
NEVER_CALLED(fcntl, (int a, int b, ...))
NEVER_CALLED(flock, (int a, int b))
NEVER_CALLED(fstatat, (int a, const char *b, struct stat *c, int d))
NEVER_CALLED(ftruncate, (int a, off_t b))
NEVER_CALLED(getrlimit, (int a, struct rlimit *b))
NEVER_CALLED(linkat, (int a, const char *b, int c, const char *d, int e))
NEVER_CALLED(mkdir, (const char *a, mode_t b))
NEVER_CALLED(mkdirat, (int a, const char *b, mode_t c))
NEVER_CALLED(mkstemp, (char *a))
NEVER_CALLED(nanosleep, (const struct timespec *a, struct timespec *b))
NEVER_CALLED(openat, (int a, const char *b, int c, ...))
NEVER_CALLED(pipe, (int a[2]))
NEVER_CALLED(pthread_attr_destroy, (pthread_attr_t * a))
NEVER_CALLED(pthread_attr_init, (pthread_attr_t * a))
NEVER_CALLED(pthread_attr_setstacksize, (pthread_attr_t * a, size_t b))
NEVER_CALLED(pthread_cond_broadcast, (pthread_cond_t * a))
NEVER_CALLED(pthread_cond_timedwait, (pthread_cond_t * a, pthread_mutex_t *b, const struct timespec *c))
NEVER_CALLED(pthread_cond_wait, (pthread_cond_t * a, pthread_mutex_t *b))
NEVER_CALLED(pthread_create, (pthread_t * a, const pthread_attr_t *b, void *(*c)(void *), void *d))
NEVER_CALLED(pthread_detach, (pthread_t a))
NEVER_CALLED(pthread_equal, (pthread_t a, pthread_t b))
NEVER_CALLED(pthread_join, (pthread_t a, void **b))
NEVER_CALLED(pthread_mutex_trylock, (pthread_mutex_t * a))
NEVER_CALLED(pthread_setname_np, (const char *a))
NEVER_CALLED(pthread_kill, (pthread_t a, int b))
NEVER_CALLED(mach_msg, (mach_msg_header_t * a, mach_msg_option_t b, mach_msg_size_t c, mach_msg_size_t d,
                        mach_port_name_t e, mach_msg_timeout_t f, mach_port_name_t g))
NEVER_CALLED(mach_port_allocate, (ipc_space_t a, mach_port_right_t b, mach_port_name_t *c))
NEVER_CALLED(mach_port_insert_right, (ipc_space_t a, mach_port_name_t b, mach_port_t c, mach_msg_type_name_t d))
NEVER_CALLED(mach_port_mod_refs, (ipc_space_t a, mach_port_name_t b, mach_port_right_t c, mach_port_delta_t d))
NEVER_CALLED(task_get_exception_ports,
             (task_t a, exception_mask_t b, exception_mask_array_t c, mach_msg_type_number_t *d,
              exception_handler_array_t e, exception_behavior_array_t f, exception_flavor_array_t g))
NEVER_CALLED(task_set_exception_ports,
             (task_t a, exception_mask_t b, mach_port_t c, exception_behavior_t d, thread_state_flavor_t e))
NEVER_CALLED(rename, (const char *a, const char *b))
NEVER_CALLED(renameat, (int a, const char *b, int c, const char *d))
NEVER_CALLED(setitimer, (int a, const struct itimerval *b, struct itimerval *c))
NEVER_CALLED(sigaction, (int a, const struct sigaction *b, struct sigaction *c))
NEVER_CALLED(sigaltstack, (const stack_t *a, stack_t *b))
NEVER_CALLED(sysctl, (int *a, unsigned b, void *c, size_t *d, void *e, size_t f))
NEVER_CALLED(unlink, (const char *a))
NEVER_CALLED(unlinkat, (int a, const char *b, int c))

/* The program does not end. */
int __cxa_atexit(void (*function)(void *), void *argument, void *image);
int __cxa_atexit(void (*function)(void *), void *argument, void *image) {
    (void)function, (void)argument, (void)image;
    return 0;
}

/* The address of this function is compared with others. */
_Noreturn void exit(int status) {
    test_fail("exit is called");
    for (;;) continue;
}

ssize_t read(int fd, void *to, size_t n) {
    (void)fd, (void)to, (void)n;
    test_fail("read is called");
    return -1;
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at) {
    (void)fd, (void)from, (void)n, (void)at;
    test_fail("pwrite is called");
    return -1;
}

ssize_t readlinkat(int folder, const char *path, char *to, size_t n) {
    (void)folder, (void)path, (void)to, (void)n;
    test_fail("readlinkat is called");
    return -1;
}

char *getcwd(char *to, size_t size) {
    (void)to, (void)size;
    test_fail("getcwd is called");
    return NULL;
}

long sysconf(int name) {
    (void)name;
    test_fail("sysconf is called");
    return -1;
}

gid_t getegid(void) {
    test_fail("getegid is called");
    return 0;
}

uid_t geteuid(void) {
    test_fail("geteuid is called");
    return 0;
}

mode_t umask(mode_t mode) {
    test_fail("umask is called");
    return mode;
}
