/* SPDX-License-Identifier: MIT */
/* Implements USPCrashReporter, its reports and its runs. See USPCrashReporter.h. */
#import <unspool-objc/USPCrashReporter.h>

#import "lib/objc/arc.h"
#import "lib/objc/names.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether a call succeeded, and describes its failure. */
static BOOL succeeded(int status, const char *sentence, NSError **error) {
    if (status == USP_OK) return YES;
    if (error != NULL) *error = uspi_objc_error(status, sentence != NULL && sentence[0] != '\0' ? sentence : NULL);
    return NO;
}

@interface USPCrashReport ()
- (id)initWithReport:(const struct usp_crash_report *)report directory:(NSString *)directory;
@end

@implementation USPCrashReport

- (id)initWithReport:(const struct usp_crash_report *)report directory:(NSString *)directory {
    self = [super init];
    if (self == nil) return nil;
    _directory = [directory copy];
    _name = [uspi_objc_string(report->name) copy];
    _started = report->started;
    _size = report->bytes;
    _sent = report->is_sent != 0;
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_directory);
    USPI_RELEASE(_name);
    USPI_SUPER_DEALLOC();
}

- (NSString *)directory {
    return _directory;
}

- (NSString *)name {
    return _name;
}

- (NSTimeInterval)startTime {
    return (NSTimeInterval)_started / 1e9;
}

- (uint64_t)size {
    return _size;
}

- (BOOL)isSent {
    return _sent;
}

/* Returns the report, which the caller frees; NULL: it cannot be read. */
- (struct usp_snapshot *)openWithError:(NSError **)error {
    struct usp_snapshot *snapshot = NULL;
    char sentence[512] = "";
    const int status =
        usp_crash_open([_directory fileSystemRepresentation], [_name UTF8String], &snapshot, sentence, sizeof sentence);
    return succeeded(status, sentence, error) ? snapshot : NULL;
}

- (NSString *)causeWithError:(NSError **)error {
    struct usp_snapshot *snapshot = [self openWithError:error];
    if (snapshot == NULL) return nil;
    NSString *cause = uspi_objc_string(usp_snapshot_get_info(snapshot)->crash);
    usp_snapshot_free(snapshot);
    return cause;
}

- (NSString *)textWithError:(NSError **)error {
    struct usp_snapshot *snapshot = [self openWithError:error];
    if (snapshot == NULL) return nil;
    NSString *text = uspi_objc_snapshot_text(snapshot, USP_FORMAT_CRASH_REPORT);
    usp_snapshot_free(snapshot);
    return text != nil || succeeded(USP_ERROR_NO_MEMORY, NULL, error) ? text : nil;
}

- (NSArray *)notesWithError:(NSError **)error {
    const struct usp_snapshot_note *note;
    struct usp_snapshot *snapshot = [self openWithError:error];
    if (snapshot == NULL) return nil;
    NSMutableArray *notes = [NSMutableArray array];
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) {
        NSMutableDictionary *entry = [NSMutableDictionary dictionary];
        [entry setObject:[NSNumber numberWithUnsignedInt:note->kind] forKey:@"kind"];
        [entry setObject:[NSNumber numberWithDouble:(double)note->time / 1e9] forKey:@"time"];
        [entry setObject:uspi_objc_string(note->key) forKey:@"key"];
        [entry setObject:uspi_objc_string(note->text) forKey:@"text"];
        [notes addObject:entry];
    }
    usp_snapshot_free(snapshot);
    return notes;
}

- (BOOL)markSentWithError:(NSError **)error {
    return succeeded(usp_crash_mark_sent([_directory fileSystemRepresentation], [_name UTF8String]), NULL, error);
}

- (BOOL)deleteWithError:(NSError **)error {
    return succeeded(usp_crash_delete([_directory fileSystemRepresentation], [_name UTF8String]), NULL, error);
}

- (NSString *)description {
    return [NSString stringWithFormat:@"crash report %@/%@", _directory, _name];
}

@end

@interface USPCrashRun ()
- (id)initWithRun:(const struct usp_crash_run *)run;
@end

@implementation USPCrashRun

- (id)initWithRun:(const struct usp_crash_run *)run {
    self = [super init];
    if (self == nil) return nil;
    _verdict = run->verdict;
    _crashesInARow = run->crashes;
    _started = run->started;
    _lasted = run->lasted;
    _evidence = [uspi_objc_string(run->evidence) copy];
    if (run->report[0] != '\0') _reportName = [uspi_objc_string(run->report) copy];
    return self;
}

- (void)dealloc {
    USPI_RELEASE(_evidence);
    USPI_RELEASE(_reportName);
    USPI_SUPER_DEALLOC();
}

- (uint32_t)verdict {
    return _verdict;
}

- (NSString *)evidence {
    return _evidence;
}

- (NSUInteger)crashesInARow {
    return _crashesInARow;
}

- (NSTimeInterval)startTime {
    return (NSTimeInterval)_started / 1e9;
}

- (NSTimeInterval)lasted {
    return (NSTimeInterval)_lasted / 1e9;
}

- (NSString *)reportName {
    return _reportName;
}

@end

/* ---- exceptions that no code catches ---- */

#define FRAMES_MAX 512u /* as many as usp_crash_set_exception keeps */

/* The handler before ours. Foundation's handlers have no context, so it is static. gcc has no _Atomic in Objective-C. */
static NSUncaughtExceptionHandler *earlier_handler;

static NSUncaughtExceptionHandler *replace_earlier(NSUncaughtExceptionHandler *handler) {
    return __atomic_exchange_n(&earlier_handler, handler, __ATOMIC_SEQ_CST);
}

/* Puts a character at the end of a text, which has room for it. Returns the text's length. */
static size_t put_character(char *text, size_t used, uint32_t c) {
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char firsts[] = {0, 0xc0, 0xe0, 0xf0};
    text[used++] = (char)(firsts[more] | c >> 6 * more);
    for (unsigned i = more; i-- > 0;) text[used++] = (char)(0x80 | (c >> 6 * i & 0x3f));
    return used;
}

#define TEXT_MAX 1024u /* as many bytes as usp_crash_set_exception keeps */

/* Puts a string at the end of a text, as UTF-8, and returns the text's length. Foundation has no UTF-8 for a string with
 * half of a surrogate pair, which becomes U+FFFD. */
static size_t put_string(char text[TEXT_MAX], size_t used, NSString *string) {
    unichar units[TEXT_MAX];
    size_t count = (size_t)[string length];
    if (count > TEXT_MAX) count = TEXT_MAX;
    if (count > 0) [string getCharacters:units range:NSMakeRange(0, count)];
    for (size_t i = 0; i < count && used + 4 < TEXT_MAX; i++) {
        uint32_t c = units[i];
        const BOOL is_pair = c >> 10 == 0x36 && i + 1 < count && units[i + 1] >> 10 == 0x37;
        if (is_pair) c = 0x10000 + ((c & 0x3ff) << 10) + (units[++i] & 0x3ffu);
        used = put_character(text, used, c >> 11 == 0x1b || c == 0 ? 0xfffd : c);
    }
    text[used] = '\0';
    return used;
}

/* Copies the name and the reason, or the name alone; of an object that is not an NSException, its description. */
static void describe(NSException *exception, BOOL is_exception, char text[TEXT_MAX]) {
    text[0] = '\0';
    @try {
        const size_t used = put_string(text, 0, is_exception ? [exception name] : [exception description]);
        NSString *reason = is_exception ? [exception reason] : nil;
        if (reason != nil) (void)put_string(text, put_string(text, used, @": "), reason);
    } @catch (...) {}
}

/* Apple's addresses are numbers, GNUstep's are pointers. */
static size_t take_frames(NSException *exception, usp_addr frames[FRAMES_MAX]) {
    size_t count = 0;
    @try {
        NSArray *addresses = [exception callStackReturnAddresses];
        for (; count < FRAMES_MAX && count < (size_t)[addresses count]; count++) {
            id address = [addresses objectAtIndex:count];
            frames[count] = [address isKindOfClass:[NSNumber class]] ? (usp_addr)[address unsignedLongLongValue]
                                                                     : (usp_addr)(uintptr_t)[address pointerValue];
        }
    } @catch (...) {}
    return count;
}

/* Foundation calls this on the thread that has thrown the exception, and then ends the process. */
static void note_exception(NSException *exception) {
    USPI_POOL_BEGIN
    usp_addr frames[FRAMES_MAX];
    char text[TEXT_MAX];
    BOOL is_exception = NO;
    /* Its methods may be the program's. An exception that they throw would lead here again. */
    @try {
        is_exception = [exception isKindOfClass:[NSException class]];
    } @catch (...) {}
    describe(exception, is_exception, text);
    const size_t count = is_exception ? take_frames(exception, frames) : 0;
    (void)usp_crash_set_exception("NSException", text, frames, count);
    USPI_POOL_END
    /* Taken, so that a handler that calls ours is not called in a circle. */
    NSUncaughtExceptionHandler *earlier = replace_earlier(NULL);
    if (earlier != NULL) earlier(exception);
}

static void begin_exceptions(void) {
    NSUncaughtExceptionHandler *now = NSGetUncaughtExceptionHandler();
    if (now == note_exception) return;
    (void)replace_earlier(now);
    NSSetUncaughtExceptionHandler(note_exception);
}

/* Leaves a handler that was installed later in place: it may call ours, which then only calls the earlier one. */
static void end_exceptions(void) {
    if (NSGetUncaughtExceptionHandler() == note_exception) NSSetUncaughtExceptionHandler(replace_earlier(NULL));
}

@implementation USPCrashReporter

+ (BOOL)startWithDirectory:(NSString *)directory
                   options:(const struct usp_crash_options *)options
                     error:(NSError **)error {
    struct usp_crash_options own;
    usp_crash_options_init(&own);
    /* A caller that was compiled for an earlier version has a shorter struct. */
    if (options != NULL) memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
    own.size = sizeof own;
    own.directory = [directory fileSystemRepresentation];
    if (!succeeded(usp_crash_install(&own), NULL, error)) return NO;
    begin_exceptions();
    return YES;
}

+ (void)stop {
    end_exceptions();
    usp_crash_uninstall();
}

+ (BOOL)setValue:(NSString *)value forCrashKey:(NSString *)key {
    return usp_crash_set([key UTF8String], [value UTF8String]) == USP_OK;
}

+ (BOOL)note:(NSString *)text {
    return usp_crash_note([text UTF8String]) == USP_OK;
}

+ (USPCrashRun *)lastRunInDirectory:(NSString *)directory version:(NSString *)version error:(NSError **)error {
    struct usp_crash_run run;
    const int status = usp_crash_last_run([directory fileSystemRepresentation], [version UTF8String], &run);
    if (!succeeded(status, NULL, error)) return nil;
    return USPI_AUTORELEASE([[USPCrashRun alloc] initWithRun:&run]);
}

+ (NSArray *)reportsInDirectory:(NSString *)directory error:(NSError **)error {
    struct usp_crash_report *found = NULL;
    size_t count = 0, capacity = 0;
    int status;
    /* A crash of another process may add one meanwhile. */
    while ((status = usp_crash_list([directory fileSystemRepresentation], found, capacity, &count)) == USP_OK ||
           status == USP_ERROR_FULL) {
        if (count <= capacity) break;
        free(found);
        capacity = count;
        found = calloc(capacity, sizeof *found);
        if (found != NULL) continue;
        status = USP_ERROR_NO_MEMORY;
        break;
    }
    NSMutableArray *reports = status == USP_OK ? [NSMutableArray arrayWithCapacity:count] : nil;
    for (size_t i = 0; reports != nil && i < count; i++) {
        USPCrashReport *report = [[USPCrashReport alloc] initWithReport:&found[i] directory:directory];
        [reports addObject:report];
        USPI_RELEASE(report);
    }
    free(found);
    return succeeded(status, NULL, error) ? reports : nil;
}

@end
