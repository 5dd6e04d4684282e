/* SPDX-License-Identifier: MIT */
/* See signal.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/answer.h"
#include "lib/os/linux/restart.h"
#include "lib/os/linux/second_copy.h"
#include "lib/os/linux/signal.h"

#include <string.h>
#include <ucontext.h>

/* Signals that are ignored by default and have no other effect (signal(7)), in the order in which the library prefers
 * them. */
static const int signals[] = {SIGURG, SIGWINCH};
#define SIGNALS (sizeof signals / sizeof *signals)

/* How often the handler is installed when other threads change the signal's action at the same time. */
#define TRIES 4

/* Flags that our handler must share with the program's action. */
#define SHARED_FLAGS (SA_ONSTACK | SA_RESTART)

/* ---- the handler ---- */

/* Calls the next handler, the program's or another copy's, as the kernel would: with its mask, and with the signal
 * unblocked if the action says so (SA_NODEFER). Changes that it makes to *context take effect when our handler
 * returns. */
static void call_program(const struct sigaction *below, int number, siginfo_t *info, void *context) {
    uint64_t mask, wanted;
    memcpy(&mask, &((const ucontext_t *)context)->uc_sigmask, sizeof mask);
    memcpy(&wanted, &below->sa_mask, sizeof wanted);
    mask |= wanted;
    if ((below->sa_flags & SA_NODEFER) == 0) mask |= USPI_LINUX_SIGNAL(number);
    uspi_linux->set_mask(SIG_SETMASK, &mask, NULL);
    if ((below->sa_flags & SA_SIGINFO) != 0) {
        below->sa_sigaction(number, info, context);
    } else {
        below->sa_handler(number);
    }
}

/* While the thread is in a capture, of this copy or of the one that called this handler: lets the next copy answer, and
 * notes if the program has a handler, which is called when the capture ends (second_copy.h). */
static void defer_program(const struct sigaction *below, int number, siginfo_t *info, void *context) {
    siginfo_t asked = *info;
    asked.si_errno = USPI_DEFERRED;
    if (uspi_is_copys_action(below)) {
        asked.si_errno = USPI_DEFER;
        call_program(below, number, &asked, context);
    }
    if (asked.si_errno != USPI_DEFERRED) return;
    if (uspi_capturing_thread.calls > 0) uspi_capturing_thread.owed = true;
    if (info->si_errno == USPI_DEFER) info->si_errno = USPI_DEFERRED;
}

static void handle(unsigned layer, int number, siginfo_t *info, void *context) {
    const struct sigaction *below = &uspi_capturing.layers[layer].below;
    const bool is_shared = uspi_is_handler(below);
    uspi_capturing_thread.handled++;
    uspi_answer_requests(context);
    if (uspi_has_answer_room(context)) uspi_restart_mend(context, number, is_shared);
    if (!is_shared) return;
    if (uspi_capturing_thread.calls > 0 || info->si_errno == USPI_DEFER) {
        defer_program(below, number, info, context);
    } else {
        call_program(below, number, info, context);
    }
}

#define LAYER(n)                                                                                                       \
    static void handle_##n(int number, siginfo_t *info, void *context) { handle(n, number, info, context); }
LAYER(0)
LAYER(1)
LAYER(2)
LAYER(3)
LAYER(4)
LAYER(5)
LAYER(6)
LAYER(7)

static void (*const handlers[USPI_LAYERS])(int, siginfo_t *, void *) = {handle_0, handle_1, handle_2, handle_3,
                                                                        handle_4, handle_5, handle_6, handle_7};

/* Returns the layer whose handler an action is; USPI_LAYERS: it is not ours. */
static unsigned layer_of(const struct sigaction *action) {
    unsigned i = 0;
    if ((action->sa_flags & SA_SIGINFO) == 0) return USPI_LAYERS;
    while (i < USPI_LAYERS && handlers[i] != action->sa_sigaction) i++;
    return i;
}

/* ---- installing it ---- */

static bool are_equal(const struct sigaction *a, const struct sigaction *b) {
    const unsigned flags = SA_SIGINFO | SA_NODEFER | (unsigned)SA_RESETHAND | SHARED_FLAGS;
    if ((((unsigned)a->sa_flags ^ (unsigned)b->sa_flags) & flags) != 0 ||
        memcmp(&a->sa_mask, &b->sa_mask, sizeof(uint64_t)) != 0) {
        return false;
    }
    return (a->sa_flags & SA_SIGINFO) != 0 ? a->sa_sigaction == b->sa_sigaction : a->sa_handler == b->sa_handler;
}

/* Returns a layer that stands for an action; USPI_LAYERS: all layers are used up. */
static unsigned layer_for(const struct sigaction *below) {
    for (unsigned i = 0; i < USPI_LAYERS; i++) {
        struct uspi_signal_layer *layer = &uspi_capturing.layers[i];
        if (!atomic_load(&layer->is_used)) {
            layer->below = *below;
            atomic_store(&layer->is_used, true);
            return i;
        }
        if (are_equal(&layer->below, below)) return i;
    }
    return USPI_LAYERS;
}

/* Whether a signal to the calling thread reaches a handler of ours, although another copy's is in front. Otherwise two
 * copies would put themselves before each other again and again. */
static bool reaches_us(int number) {
    const uint64_t none = 0;
    uint64_t blocked = 0;
    const unsigned handled = uspi_capturing_thread.handled;
    if (uspi_linux->set_mask(SIG_BLOCK, &none, &blocked) < 0 || (blocked & USPI_LINUX_SIGNAL(number)) != 0) return true;
    uspi_linux->send_signal(uspi_linux_pid(), uspi_linux->own_thread(), number);
    return uspi_capturing_thread.handled != handled;
}

/* Whether an action leads to our handler: it is ours, or another copy's that calls ours. */
static bool leads_to_us(const struct sigaction *action, int number) {
    if (layer_of(action) != USPI_LAYERS) return true;
    return atomic_load(&uspi_capturing.layers[0].is_used) && uspi_is_copys_action(action) && reaches_us(number);
}

static int install(int number) {
    struct sigaction action, there, old;
    if (uspi_linux->set_action(number, NULL, &there) < 0) return USP_ERROR_SYSTEM;
    if (leads_to_us(&there, number)) return USP_OK;
    /* A handler that is called only once must not be called for a signal that the program did not send. */
    if (uspi_is_handler(&there) && ((unsigned)there.sa_flags & (unsigned)SA_RESETHAND) != 0) return USP_ERROR_BUSY;
    const unsigned layer = layer_for(&there);
    if (layer == USPI_LAYERS) return USP_ERROR_BUSY;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handlers[layer];
    /* The program's handler may rely on calls that end with EINTR, and on the stack that it runs on. */
    action.sa_flags = SA_SIGINFO | (uspi_is_handler(&there) ? there.sa_flags & SHARED_FLAGS : SHARED_FLAGS);
    /* No handler may run on a held thread, not even for libc's own signals, which sigfillset leaves out. */
    const uint64_t mask = USPI_HANDLER_MASK;
    memcpy(&action.sa_mask, &mask, sizeof mask);
    if (uspi_linux->set_action(number, &action, &old) < 0) return USP_ERROR_SYSTEM;
    if (are_equal(&old, &there)) return USP_OK;
    /* Another thread has changed the action meanwhile, such as another copy of the library. It is restored, and the
     * next try sees it. */
    uspi_linux->set_action(number, &old, NULL);
    return USP_ERROR_BUSY;
}

static bool is_copys(int number) {
    struct sigaction there;
    return uspi_linux->set_action(number, NULL, &there) >= 0 && uspi_is_copys_action(&there);
}

static bool is_unhandled(int number) {
    struct sigaction there;
    return uspi_linux->set_action(number, NULL, &there) >= 0 && !uspi_is_handler(&there);
}

/* The signal that another copy uses, else the first that the program does not handle. */
static int choose(void) {
    for (size_t i = 0; i < SIGNALS; i++) {
        if (is_copys(signals[i])) return signals[i];
    }
    for (size_t i = 0; i < SIGNALS; i++) {
        if (is_unhandled(signals[i])) return signals[i];
    }
    return signals[0];
}

int uspi_signal_install(int wanted) {
    const int number = wanted != 0 ? wanted : choose();
    int status = install(number);
    for (unsigned i = 1; i < TRIES && status == USP_ERROR_BUSY; i++) status = install(number);
    if (status == USP_OK) atomic_store(&uspi_capturing.signal, number);
    return status;
}

bool uspi_signal_is_ours(void) {
    struct sigaction action;
    const int number = atomic_load(&uspi_capturing.signal);
    return number != 0 && uspi_linux->set_action(number, NULL, &action) >= 0 && leads_to_us(&action, number);
}

bool uspi_signal_has_second_copy(void) {
    struct sigaction there;
    for (size_t i = 0; i < SIGNALS; i++) {
        if (uspi_linux->set_action(signals[i], NULL, &there) < 0 || !uspi_is_copys_action(&there)) continue;
        const unsigned layer = layer_of(&there);
        if (layer == USPI_LAYERS || uspi_is_copys_action(&uspi_capturing.layers[layer].below)) return true;
    }
    return false;
}

int uspi_signal_restore(uint64_t deadline) {
    struct uspi_capturing *c = &uspi_capturing;
    if (!uspi_turn_take(&c->changes, deadline)) return USP_ERROR_BUSY;
    const int number = atomic_load(&c->signal);
    int status = number != 0 ? uspi_signal_install(number) : USP_ERROR_NOT_PREPARED;
    uspi_turn_give(&c->changes);
    return status;
}

void uspi_signal_uninstall(void) {
    struct sigaction action;
    const int number = atomic_exchange(&uspi_capturing.signal, 0);
    if (number == 0 || uspi_linux->set_action(number, NULL, &action) < 0) return;
    const unsigned layer = layer_of(&action);
    /* The program ignores or handles those of our signals that are still pending. */
    if (layer != USPI_LAYERS) uspi_linux->set_action(number, &uspi_capturing.layers[layer].below, NULL);
}

bool uspi_signal_is_allowed(int number) {
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) return true;
    }
    return false;
}

#endif
