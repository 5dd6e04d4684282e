/* SPDX-License-Identifier: MIT */
/* Finds threads by the place where Foundation stores their NSThread. See resolve.h.
 *
 * That place is not documented, so it is learned: a thread other than the main one looks for its own NSThread in its
 * thread-specific data. A place is used only if the main thread has the main NSThread at the same place. */
#import "lib/objc/arc.h"
#include "lib/objc/capture.h"
#import "lib/objc/resolve.h"
#include "lib/objc/thread_slots.h"

/* Maximum numbers of places to compare with the main thread's, and of places that passed. */
#define CANDIDATES 64u
#define PLACES     4u

enum learning { NOT_LEARNED, LEARNED, NOT_TO_BE_LEARNED };

static struct {
    enum learning state;
    size_t count;
    struct uspi_thread_slot places[PLACES];
} learned; /* guarded by the lock of the class below */

/* Learns the places on the thread that runs it. */
@interface USPILearner : NSObject {
    NSConditionLock *_done; /* condition 1: learning is done */
}
+ (void)learn;
@end

static const struct usp_thread_info *with_flag(const struct usp_thread_info *infos, size_t count, uint32_t flag) {
    for (size_t i = 0; i < count; i++) {
        if ((infos[i].flags & flag) != 0) return &infos[i];
    }
    return NULL;
}

/* Learns from the calling thread, which is not the main one, and from the main thread. */
static void learn_from(const struct usp_thread_info *own, const struct usp_thread_info *main_thread) {
    struct uspi_thread_slot candidates[CANDIDATES];
    uintptr_t main_object = USPI_ADDRESS([NSThread mainThread]);
    size_t count = 0;
    int status = uspi_thread_slots_find(own, USPI_ADDRESS([NSThread currentThread]), candidates, CANDIDATES, &count);
    if (count > CANDIDATES) count = CANDIDATES;
    learned.count = 0;
    for (size_t i = 0; i < count && learned.count < PLACES; i++) {
        usp_addr object;
        if (uspi_thread_slot_read(main_thread, &candidates[i], &object) != USP_OK || object != main_object) continue;
        learned.places[learned.count++] = candidates[i];
    }
    /* If the thread's data was not available, a later call tries again. */
    if (status == USP_ERROR_UNSUPPORTED) return;
    learned.state = learned.count > 0 ? LEARNED : NOT_TO_BE_LEARNED;
}

@implementation USPILearner

+ (void)learn {
    struct usp_thread_info *infos;
    size_t count;
    if (uspi_objc_threads(&infos, &count) != USP_OK) return;
    const struct usp_thread_info *own = with_flag(infos, count, USP_THREAD_REQUESTER),
                                 *main_thread = with_flag(infos, count, USP_THREAD_MAIN);
    if (own != NULL && main_thread != NULL && own != main_thread) learn_from(own, main_thread);
    uspi_objc_free_threads(infos, count);
}

- (id)init {
    self = [super init];
    if (self != nil) _done = [[NSConditionLock alloc] initWithCondition:0];
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_done);
    USPI_SUPER_DEALLOC();
}

- (void)run {
    USPI_POOL_BEGIN
    [USPILearner learn];
    USPI_POOL_END
    [_done lock];
    [_done unlockWithCondition:1];
}

- (void)wait {
    [_done lockWhenCondition:1];
    [_done unlock];
}

@end

/* Whether places are known; learns them if necessary. The main thread alone proves nothing, so it starts another one to
 * learn. */
static bool has_learned(void) {
    bool has;
    @synchronized([USPILearner class]) {
        if (learned.state == NOT_LEARNED && ![NSThread isMainThread]) [USPILearner learn];
        if (learned.state == NOT_LEARNED && [NSThread isMainThread]) {
            USPILearner *learner = [[USPILearner alloc] init];
            [NSThread detachNewThreadSelector:@selector(run) toTarget:learner withObject:nil];
            [learner wait];
            USPI_RELEASE(learner);
        }
        has = learned.state == LEARNED;
    }
    return has;
}

static bool holds(const struct usp_thread_info *info, uintptr_t object) {
    for (size_t i = 0; i < learned.count; i++) {
        usp_addr value;
        if (uspi_thread_slot_read(info, &learned.places[i], &value) == USP_OK && value == object) return true;
    }
    return false;
}

int uspi_objc_by_slot(NSThread *thread, struct usp_thread *found) {
    struct usp_thread_info *infos;
    size_t count, holders = 0;
    if (!has_learned()) return USP_ERROR_NOT_FOUND;
    int status = uspi_objc_threads(&infos, &count);
    if (status != USP_OK) return status;
    for (size_t i = 0; i < count; i++) {
        if (!holds(&infos[i], USPI_ADDRESS(thread))) continue;
        *found = (struct usp_thread){infos[i].thread.id, 0};
        holders++;
    }
    uspi_objc_free_threads(infos, count);
    return holders == 1 ? USP_OK : USP_ERROR_NOT_FOUND;
}
