/* SPDX-License-Identifier: MIT */
/* Steps in qemu's user-mode emulators, by gdb's remote protocol over a socket (gdb's manual, "Remote Serial Protocol").
 * Reads the program's memory from the emulator's, which contains all of it. */
#define _GNU_SOURCE 1
#include "victim.h"

#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The address of a 32-bit program's memory in the emulator's. */
#define NARROW_BASE UINT64_C(0x4000000000)

#define PACKET_MAX 8192

/* ---- packets ---- */

/* Sends a packet, after the acknowledgement of the last one received. */
static bool send_packet(const struct victim *v, const char *text) {
    char packet[256];
    unsigned sum = 0;
    for (const char *p = text; *p != '\0'; p++) sum += (uint8_t)*p;
    int n = snprintf(packet, sizeof packet, "+$%s#%02x", text, sum & 0xff);
    return n < (int)sizeof packet && write(v->connection, packet, (size_t)n) == n;
}

/* Receives the next packet, without frame and checksum. milliseconds -1: waits without limit. Returns a negative number
 * if nothing came. */
static int receive(const struct victim *v, char packet[PACKET_MAX], int milliseconds) {
    struct pollfd waiting = {.fd = v->connection, .events = POLLIN};
    char raw[PACKET_MAX];
    size_t n = 0;
    for (;;) {
        if (milliseconds >= 0 && poll(&waiting, 1, milliseconds) <= 0) return -1;
        ssize_t got = read(v->connection, raw + n, sizeof raw - 1 - n);
        if (got <= 0) return -1;
        n += (size_t)got;
        raw[n] = '\0';
        char *begin = memchr(raw, '$', n);
        char *hash = begin != NULL ? memchr(begin, '#', (size_t)(raw + n - begin)) : NULL;
        if (hash == NULL || hash + 2 >= raw + n) continue;
        size_t length = (size_t)(hash - begin - 1);
        memcpy(packet, begin + 1, length);
        packet[length] = '\0';
        return (int)length;
    }
}

static bool ask(const struct victim *v, const char *text, char packet[PACKET_MAX]) {
    return send_packet(v, text) && receive(v, packet, 60000) >= 0;
}

static int digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static unsigned byte_at(const char *text) { return (unsigned)(digit(text[0]) << 4 | digit(text[1])) & 0xff; }

static uint64_t number_at(const char *text, unsigned bytes) {
    uint64_t number = 0;
    while (bytes-- > 0) number = number << 8 | byte_at(text + 2 * bytes);
    return number;
}

/* ---- registers ---- */

/* The order of qemu's registers: arm64 x0 … x30, sp, pc of 8 bytes and cpsr of 4; arm r0 … r15 of 4, eight obsolete
 * ones of 12 and one of 4, cpsr (target/arm/gdbstub64.c, gdbstub.c, for clients that have not asked for
 * descriptions). */
static bool fetch_registers(struct victim *v) {
    char text[PACKET_MAX];
    const bool is_wide = v->backend->word == 8;
    const unsigned count = is_wide ? 33 : 16, flags_at = is_wide ? 33 * 8 : 16 * 4 + 8 * 12 + 4;
    if (!ask(v, "g", text) || strlen(text) < 2 * (flags_at + 4)) return false;
    usp_registers_init(&v->now, v->backend->arch);
    for (unsigned i = 0; i < count; i++) v->now.value[i] = number_at(text + 2 * i * v->backend->word, v->backend->word);
    v->now.known = (UINT64_C(1) << count) - 1;
    v->now.flags = (uint32_t)number_at(text + 2 * flags_at, 4);
    return true;
}

/* Handles a stop. T05…: stopped by a step or a breakpoint; T and another number: by a signal; W, X: ended. */
static enum victim_event take_stop(struct victim *v, const char *text) {
    if (text[0] != 'T' && text[0] != 'S') return VICTIM_ENDED;
    unsigned number = byte_at(text + 1);
    v->signal = number == SIGTRAP ? 0 : (int)number;
    return fetch_registers(v) ? VICTIM_STOPPED : VICTIM_ENDED;
}

static enum victim_event go_on(struct victim *v, char how, int milliseconds) {
    char text[PACKET_MAX], order[64];
    if (v->signal != 0) {
        snprintf(order, sizeof order, "vCont;%c%02x:%lx", how - 32, (unsigned)v->signal, v->threads);
    } else {
        snprintf(order, sizeof order, "vCont;%c:%lx", how, v->threads);
    }
    v->signal = 0;
    if (!send_packet(v, order)) return VICTIM_ENDED;
    int n = receive(v, text, milliseconds);
    if (n < 0) return milliseconds >= 0 ? VICTIM_LOST : VICTIM_ENDED;
    return take_stop(v, text);
}

static enum victim_event step(struct victim *v) {
    v->delivered = v->signal;
    return go_on(v, 's', 60000);
}

static bool set_stops(const struct victim *v, const usp_addr *stops, unsigned count, char how) {
    char text[PACKET_MAX], order[64];
    for (unsigned i = 0; i < count; i++) {
        snprintf(order, sizeof order, "%c0,%llx,%u", how, (unsigned long long)stops[i], v->backend->code_align);
        if (!ask(v, order, text) || strcmp(text, "OK") != 0) return false;
    }
    return true;
}

static enum victim_event run(struct victim *v, const usp_addr *stops, unsigned count, unsigned seconds) {
    enum victim_event event;
    if (!set_stops(v, stops, count, 'Z')) return VICTIM_LOST;
    do {
        event = go_on(v, 'c', (int)seconds * 1000);
    } while (event == VICTIM_STOPPED && v->signal != 0);
    v->delivered = 0;
    if (event == VICTIM_STOPPED && !set_stops(v, stops, count, 'z')) event = VICTIM_LOST;
    return event;
}

static void end(struct victim *v) {
    int status;
    if (v->connection >= 0) close(v->connection);
    if (v->pid > 0 && kill(v->pid, SIGKILL) == 0) waitpid(v->pid, &status, 0);
    v->pid = 0;
}

static const struct victim_ways ways = {step, run, end};

/* ---- starting the program ---- */

static bool connect_to(struct victim *v, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    v->connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (unsigned i = 0; i < 500; i++) {
        if (connect(v->connection, (struct sockaddr *)&address, sizeof address) == 0) return true;
        usleep(10000);
    }
    return false;
}

static bool read_entry(struct victim *v) {
    char text[PACKET_MAX];
    uint8_t bytes[PACKET_MAX];
    size_t n = 0;
    if (!send_packet(v, "qXfer:auxv:read::0,800")) return false;
    /* The packet has bytes rather than digits. After a '}' the fifth bit is inverted, for bytes that would end a
     * packet. */
    int length = receive(v, text, 60000);
    for (int i = 1; i < length; i++)
        bytes[n++] = (uint8_t)(text[i] == '}' && i + 1 < length ? text[++i] ^ 0x20 : text[i]);
    v->entry = victim_auxiliary(bytes, n, v->backend->word, AT_ENTRY);
    /* Removes the Thumb bit. */
    if (v->backend->has_thumb) v->entry &= ~UINT64_C(1);
    return v->entry != 0;
}

static bool greet(struct victim *v) {
    char text[PACKET_MAX];
    if (!ask(v, "qSupported:vContSupported+", text) || !ask(v, "?", text)) return false;
    const char *id = strstr(text, "thread:");
    if (id == NULL) return false;
    const char *dot = strchr(id, '.');
    v->threads = strtol(dot != NULL ? dot + 1 : id + 7, NULL, 16);
    return read_entry(v) && fetch_registers(v);
}

bool victim_start_gdb(struct victim *v, char *const arguments[]) {
    char *all[128], base[32], path[64], option_socket[] = "-g", option_base[] = "-B";
    unsigned n = 0;
    const char *name = strrchr(arguments[0], '/') != NULL ? strrchr(arguments[0], '/') + 1 : arguments[0];
    bool is_wide = strstr(name, "aarch64") != NULL;
    memset(v, 0, sizeof *v);
    v->ways = &ways;
    v->backend = uspi_backend_find(is_wide ? USP_ARCH_ARM64 : USP_ARCH_ARMV7);
    v->base = is_wide ? 0 : NARROW_BASE;
    snprintf(path, sizeof path, "/tmp/usp-real-%d", getpid());
    snprintf(base, sizeof base, "0x%llx", (unsigned long long)NARROW_BASE);
    all[n++] = arguments[0];
    all[n++] = option_socket;
    all[n++] = path;
    if (!is_wide) all[n++] = option_base;
    if (!is_wide) all[n++] = base;
    for (unsigned i = 1; arguments[i] != NULL && n + 1 < sizeof all / sizeof all[0]; i++) all[n++] = arguments[i];
    all[n] = NULL;
    unlink(path);
    v->connection = -1;
    v->pid = fork();
    if (v->pid == 0) {
        victim_prepare_child();
        execvp(all[0], all);
        _exit(127);
    }
    bool started = v->pid > 0 && connect_to(v, path) && greet(v);
    unlink(path);
    if (started) return true;
    fprintf(stderr, "%s: cannot be stepped\n", arguments[0]);
    end(v);
    return false;
}
