/* SPDX-License-Identifier: MIT */
/* The crash kit: records crashes of this process, and finds the reports at the next start. <unspool/crash.h> has the
 * same in C; doc/crash.md describes reports and limits. */
#ifndef UNSPOOL_OBJC_USPCRASHREPORTER_H
#define UNSPOOL_OBJC_USPCRASHREPORTER_H

#import <unspool-objc/USPDefines.h>

NS_ASSUME_NONNULL_BEGIN

struct usp_crash_options;

/* A report of a crash. Immutable. */
USP_CLASS
@interface USPCrashReport : NSObject {
  @private
    NSString *_directory, *_name;
    uint64_t _started, _size;
    BOOL _sent;
}

@property(nonatomic, readonly) NSString *directory;
@property(nonatomic, readonly) NSString *name;
/* When the run that crashed began: seconds since 1970. */
@property(nonatomic, readonly) NSTimeInterval startTime;
/* In bytes. */
@property(nonatomic, readonly) uint64_t size;
/* Whether markSentWithError: was called before the report was listed. */
@property(nonatomic, readonly, getter=isSent) BOOL sent;

/* What ended the process, in words, and the whole report in the style of Apple's crash reports, with names and source
 * lines where symbols are found. nil: the report cannot be read, `error` says why. They read files and allocate. */
- (NSString *USP_NULLABLE)causeWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;
- (NSString *USP_NULLABLE)textWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* The texts in the report: values, breadcrumbs, messages (usp_snapshot_get_note). Each is a dictionary with "kind" (a
 * number of enum usp_snapshot_note_kind), "time" (seconds since 1970, 0: not known), "key" and "text". nil: the report
 * cannot be read. */
- (USP_ARRAY_OF(NSDictionary) * USP_NULLABLE)notesWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Marks the report as sent, and deletes it. If there are too many reports, sent ones are deleted first. */
- (BOOL)markSentWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;
- (BOOL)deleteWithError:(NSError *USP_NULLABLE *USP_NULLABLE)error;

@end

/* How a run ended. Immutable. */
USP_CLASS
@interface USPCrashRun : NSObject {
  @private
    uint32_t _verdict;
    NSUInteger _crashesInARow;
    uint64_t _started, _lasted;
    NSString *_evidence, *_reportName;
}

/* enum usp_crash_verdict. */
@property(nonatomic, readonly) uint32_t verdict;
/* Why the verdict was chosen: a sentence. */
@property(nonatomic, readonly) NSString *evidence;
/* How many runs in a row have crashed, this one included; 0: it did not. */
@property(nonatomic, readonly) NSUInteger crashesInARow;
/* When startWithDirectory:options:error: was called: seconds since 1970. */
@property(nonatomic, readonly) NSTimeInterval startTime;
/* From then until the crash or the clean end, in seconds; 0: not known. */
@property(nonatomic, readonly) NSTimeInterval lasted;
/* Name of its report; nil: there is none, or it was deleted. */
@property(nonatomic, readonly) NSString *USP_NULLABLE reportName;

@end

/* The methods may be called on any thread, none in a signal handler. */
USP_CLASS
@interface USPCrashReporter : NSObject

/* Records from now on the crashes of this process (usp_crash_install). The directory belongs to this program alone; the
 * last folder of its path is created. An NSException that no code catches is in the report of the abort that follows,
 * with name, reason and the stack that threw it. For that it sets Foundation's handler of uncaught exceptions, which
 * calls the one that was set before.
 *   options  NULL: the defaults. Its field `directory` is ignored.
 * NO: `error` says why, such as USP_ERROR_UNSUPPORTED on systems without crash reports, or USP_ERROR_BUSY when it was
 * started before. */
+ (BOOL)startWithDirectory:(NSString *)directory
                   options:(const struct usp_crash_options *USP_NULLABLE)options
                     error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Ends recording, notes that this run has ended without a crash, and restores Foundation's handler if ours is still
 * set. */
+ (void)stop;

/* Sets the value of a key, which a report will contain (usp_crash_set). nil removes the key. Returns NO when there are
 * 64 keys, or the reporter has not been started. */
+ (BOOL)setValue:(NSString *USP_NULLABLE)value forCrashKey:(NSString *)key;

/* Adds a breadcrumb: what the program does now (usp_crash_note). Returns NO when the reporter has not been started. */
+ (BOOL)note:(NSString *)text;

/* Tells how the last run of this program ended that used the directory. `version`: this program's version, by which an
 * update is recognised; nil: not known. The verdict is USP_CRASH_NO_RUN when the directory knows of no earlier run. nil:
 * the directory cannot be read. */
+ (USPCrashRun *USP_NULLABLE)lastRunInDirectory:(NSString *)directory
                                        version:(NSString *USP_NULLABLE)version
                                          error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

/* Lists the reports, the newest first. nil: the directory cannot be read. */
+ (USP_ARRAY_OF(USPCrashReport) * USP_NULLABLE)reportsInDirectory:(NSString *)directory
                                                            error:(NSError *USP_NULLABLE *USP_NULLABLE)error;

@end

NS_ASSUME_NONNULL_END

#endif
