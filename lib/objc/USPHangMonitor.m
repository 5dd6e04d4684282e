/* SPDX-License-Identifier: MIT */
/* Implements USPHangMonitor. See USPHangMonitor.h. */
#import <unspool-objc/USPHangMonitor.h>
#import <unspool-objc/USPThread.h>

#import "lib/objc/arc.h"
#import "lib/objc/hang.h"
#include "lib/objc/loop_source.h"
#import "lib/objc/names.h"

#include <string.h>

enum occasion { BEGAN, GOES_ON, ENDED, KILLED };

@interface USPHangMonitor ()
/* Called on the monitor's thread. */
- (void)report:(const struct usp_hang *)hang on:(enum occasion)occasion;
@end

/* ---- reports ---- */

/* The key in a thread's threadDictionary for the source whose monitor is calling the delegate or the handler on this
 * thread. Thread-local storage is missing on the oldest supported systems. */
static NSString *const reporting_key = USPI_NAME(USPIReporting);

/* Returns the source that is reporting on the calling thread; NULL: none. */
static const struct uspi_loop_source *reporting(void) {
    return [[[[NSThread currentThread] threadDictionary] objectForKey:reporting_key] pointerValue];
}

static void report(void *context, const struct usp_hang *hang, enum occasion occasion) {
    struct uspi_loop_source *source = context;
#if defined(GNUSTEP)
    /* GNUstep did not create the monitor's thread. */
    BOOL is_new = GSRegisterCurrentThread();
#endif
    USPI_POOL_BEGIN
    NSMutableDictionary *own = [[NSThread currentThread] threadDictionary];
    [own setObject:[NSValue valueWithPointer:source] forKey:reporting_key];
    [USPI_OBJECT(USPHangMonitor, source->receiver) report:hang on:occasion];
    [own removeObjectForKey:reporting_key];
    USPI_POOL_END
#if defined(GNUSTEP)
    if (is_new) GSUnregisterCurrentThread();
#endif
}

static void began(void *context, const struct usp_hang *hang) { report(context, hang, BEGAN); }
static void updated(void *context, const struct usp_hang *hang) { report(context, hang, GOES_ON); }
static void ended(void *context, const struct usp_hang *hang) { report(context, hang, ENDED); }
static void killed(void *context, const struct usp_hang *hang) { report(context, hang, KILLED); }

/* ---- settings ---- */

static uint64_t nanoseconds(NSTimeInterval seconds) {
    if (!(seconds > 0)) return 0;
    return seconds < 1e9 ? (uint64_t)(seconds * 1e9 + 0.5) : UINT64_MAX;
}

static NSTimeInterval seconds_of(uint64_t ns) { return (NSTimeInterval)ns / 1e9; }

@implementation USPHangMonitor

/* Explicit accessors: those that GCC synthesizes cause warnings. */
#define SETTING(type, name, Name)                                                                                      \
    -(type)name {                                                                                                      \
        return _##name;                                                                                                \
    }                                                                                                                  \
    -(void)set##Name : (type)value {                                                                                   \
        _##name = value;                                                                                               \
    }
SETTING(NSTimeInterval, lateThreshold, LateThreshold)
SETTING(NSTimeInterval, hangThreshold, HangThreshold)
SETTING(NSTimeInterval, severeThreshold, SevereThreshold)
SETTING(NSTimeInterval, sampleInterval, SampleInterval)
SETTING(BOOL, watchesWhileTraced, WatchesWhileTraced)
SETTING(USPHangSource, source, Source)

- (NSString *)file {
    return _file;
}

- (void)setFile:(NSString *)file {
    NSString *copied = [file copy];
    USPI_RELEASE(_file);
    _file = copied;
}

- (id<USPHangMonitorDelegate>)delegate {
    return _delegate;
}

- (void)setDelegate:(id<USPHangMonitorDelegate>)delegate {
    id kept = USPI_RETAIN(delegate);
    USPI_RELEASE(_delegate);
    _delegate = kept;
}

+ (USPHangMonitor *)mainThreadMonitor {
    static USPHangMonitor *monitor;
    @synchronized([USPHangMonitor class]) {
        if (monitor == nil) monitor = [[USPHangMonitor alloc] init];
    }
    return monitor;
}

- (id)init {
    struct usp_monitor_options defaults;
    self = [super init];
    if (self == nil) return nil;
    usp_monitor_options_init(&defaults);
    _lateThreshold = seconds_of(defaults.late);
    _hangThreshold = seconds_of(defaults.hang);
    _severeThreshold = seconds_of(defaults.severe);
    _sampleInterval = seconds_of(defaults.interval);
    _changes = [[NSLock alloc] init];
    return self;
}

/* The monitor does not run: a running one is retained. */
- (void)dealloc {
    USPI_RELEASE(_delegate);
    USPI_RELEASE(_receiver);
    USPI_RELEASE(_handler);
    USPI_RELEASE(_file);
    USPI_RELEASE(_changes);
    USPI_SUPER_DEALLOC();
}

- (void)completeOptions:(struct usp_monitor_options *)options {
    usp_monitor_options_init(options);
    options->late = nanoseconds(_lateThreshold);
    options->hang = nanoseconds(_hangThreshold);
    options->severe = nanoseconds(_severeThreshold);
    options->interval = nanoseconds(_sampleInterval);
    if (options->idle < options->late) options->idle = options->late;
    if (options->update < options->interval) options->update = options->interval;
    if (_watchesWhileTraced) options->flags |= USP_MONITOR_WHILE_TRACED;
    options->file = [_file fileSystemRepresentation];
    options->began = began;
    options->updated = updated;
    options->ended = ended;
    options->killed = killed;
}

/* ---- start and stop ----
 *
 * _changes is held while the monitor is started or stopped, and so while a stop waits for the monitor's thread. Methods
 * that the delegate may call on that thread never wait for it: -isRunning and -getStatistics: take only
 * @synchronized(self), which guards _loopSource. A start or stop on that thread takes neither lock. */

/* Whether the calling thread is the monitor's, which is then in a method of the delegate or in the handler. */
- (BOOL)isInside {
    const struct uspi_loop_source *source = reporting();
    return source != NULL && USPI_OBJECT(USPHangMonitor, source->receiver) == self;
}

- (void)setLoopSource:(struct uspi_loop_source *)source {
    @synchronized(self) {
        _loopSource = source;
    }
}

- (void)forgetReceivers {
    USPI_RELEASE(_handler);
    USPI_RELEASE(_receiver);
    _handler = _receiver = nil;
}

/* handler: a block, or nil. */
- (int)startWith:(id)handler {
    struct usp_monitor_options options;
    struct uspi_loop_source *source;
    if (_loopSource != NULL) return USP_OK;
    [self completeOptions:&options];
    /* Set before the first report. */
    _handler = USPI_RETAIN(handler);
    _receiver = USPI_RETAIN(_delegate);
    int status = uspi_loop_source_create((enum uspi_loop_kind)_source, &options, USPI_CONTEXT(self), &source);
    if (status == USP_OK) {
        [self setLoopSource:source];
        _running = USPI_RETAIN(self);
    } else {
        [self forgetReceivers];
    }
    return status;
}

- (BOOL)startWith:(id)handler error:(NSError **)error {
    int status;
    if ([self isInside]) {
        status = usp_monitor_start(reporting()->monitor);
    } else {
        [_changes lock];
        status = [self startWith:handler];
        [_changes unlock];
    }
    if (status != USP_OK && error != NULL) *error = uspi_objc_error(status, NULL);
    return status == USP_OK;
}

- (BOOL)startWithError:(NSError **)error {
    return [self startWith:nil error:error];
}

#if defined(__BLOCKS__)
- (BOOL)startWithHandler:(void (^)(USPHang *hang))handler error:(NSError **)error {
    id copied = [handler copy];
    BOOL has_started = [self startWith:copied error:error];
    USPI_RELEASE(copied);
    return has_started;
}
#endif

static void stop_later(void *context) {
    USPHangMonitor *monitor = USPI_TAKE(USPHangMonitor, context);
    [monitor stop];
    USPI_RELEASE(monitor);
}

- (void)stop {
    id running = nil;
    if ([self isInside]) {
        uspi_on_main_thread(stop_later, USPI_GIVE(self));
        return;
    }
    [_changes lock];
    struct uspi_loop_source *source = _loopSource;
    if (source != NULL) {
        [self setLoopSource:NULL];
        uspi_loop_source_end(source);
        [self forgetReceivers];
        running = _running;
        _running = nil;
    }
    [_changes unlock];
    USPI_RELEASE(running);
}

- (BOOL)isRunning {
    BOOL answer;
    @synchronized(self) {
        answer = _loopSource != NULL;
    }
    return answer;
}

- (void)getStatistics:(struct usp_monitor_statistics *)statistics {
    @synchronized(self) {
        const struct uspi_loop_source *source = _loopSource;
        usp_monitor_get_statistics(source != NULL ? source->monitor : NULL, statistics);
    }
}

/* ---- reports ---- */

- (BOOL)isWantedOn:(enum occasion)occasion {
    switch (occasion) {
    case BEGAN: return [_receiver respondsToSelector:@selector(hangMonitor:hangDidBegin:)];
    case GOES_ON: return [_receiver respondsToSelector:@selector(hangMonitor:hangDidGoOn:)];
    case ENDED: return [_receiver respondsToSelector:@selector(hangMonitor:hangDidEnd:)];
    case KILLED: return [_receiver respondsToSelector:@selector(hangMonitor:didFindKilledHang:)];
    }
    return NO;
}

- (void)tell:(id<USPHangMonitorDelegate>)receiver about:(USPHang *)hang on:(enum occasion)occasion {
    switch (occasion) {
    case BEGAN: [receiver hangMonitor:self hangDidBegin:hang]; break;
    case GOES_ON: [receiver hangMonitor:self hangDidGoOn:hang]; break;
    case ENDED: [receiver hangMonitor:self hangDidEnd:hang]; break;
    case KILLED: [receiver hangMonitor:self didFindKilledHang:hang]; break;
    }
}

- (void)report:(const struct usp_hang *)hang on:(enum occasion)occasion {
    BOOL is_wanted = [self isWantedOn:occasion];
    BOOL is_over = _handler != nil && (occasion == ENDED || occasion == KILLED);
    if (!is_wanted && !is_over) return;
    USPHang *made = [[USPHang alloc] initWithHang:hang];
    if (made == nil) return;
    if (is_wanted) [self tell:_receiver about:made on:occasion];
#if defined(__BLOCKS__)
    if (is_over) ((void (^)(USPHang *))_handler)(made);
#endif
    USPI_RELEASE(made);
}

@end
