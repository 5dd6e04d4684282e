/* SPDX-License-Identifier: MIT */
/* Profiles in the formats pprof and OTLP, and those that unspool has written as JSON: finds the names, lines and
 * inlined calls of their frames, and writes them back or gives their samples. recording.h reads perf.data; profile.h
 * keeps samples and writes them. */
#ifndef UNSPOOL_PROFILE_FILE_H
#define UNSPOOL_PROFILE_FILE_H

#include <unspool/base.h>
#include <unspool/demangle.h>
#include <unspool/format.h>
#include <unspool/places.h>
#include <unspool/profile.h>
#include <unspool/recording.h>

USP_BEGIN_DECLS

/* Opaque. One thread at a time may use it. Its memory is proportional to the file, decompressed. */
struct usp_profile_file;

enum usp_profile_file_format {
    USP_PROFILE_FILE_PPROF = 1,  /* google/pprof's profile.proto */
    USP_PROFILE_FILE_OTLP = 2,   /* OpenTelemetry's ProfilesData, as in opentelemetry-proto 1.10 and 1.11 */
    USP_PROFILE_FILE_UNSPOOL = 3 /* USP_PROFILE_JSON (doc/schema/profile.schema.json), version 1 */
};

/* Whether a file with these first bytes may be a profile; 16 bytes suffice for most other files. Thread-safe,
 * async-signal-safe. */
USP_API int usp_profile_file_may_be(const void *bytes, size_t n);

/* Reads a profile from memory, which must stay as it is until usp_profile_file_free. Its content decides the format; it
 * may be in gzip format. Damaged or truncated contents are read up to that place (usp_profile_file_info.damage).
 * Decompressed it may have up to 1 GB, and at most 64 MB and 64 times the size of the file. It may have up to 4,194,304
 * mappings, locations, functions and, in unspool's own format, stacks each. On success the caller frees *file. On
 * failure `error` (may be NULL, `error_size` bytes) receives a sentence that says why. Returns USP_OK,
 * USP_ERROR_ARGUMENT, USP_ERROR_FORMAT (another format, or damaged gzip), USP_ERROR_UNSUPPORTED (gzip without zlib, or
 * too many items), USP_ERROR_NO_MEMORY. Thread-safe, not async-signal-safe: it allocates and may load zlib. */
USP_API int usp_profile_file_open(const void *bytes, size_t n, struct usp_profile_file **file, char *error,
                                  size_t error_size);

/* Frees a profile. NULL is ignored. Not async-signal-safe: it frees memory. */
USP_API void usp_profile_file_free(struct usp_profile_file *file);

struct usp_profile_file_info {
    uint32_t format;     /* enum usp_profile_file_format */
    int32_t damage;      /* USP_OK; USP_ERROR_TRUNCATED or USP_ERROR_FORMAT: the rest after `read` cannot be read */
    uint64_t read;       /* number of decompressed bytes that were read */
    uint64_t mappings;   /* of files in memory */
    uint64_t locations;  /* places of code, each of which may be a frame of many stacks */
    uint64_t functions;  /* in the file */
    uint64_t named;      /* locations with a name in the file */
    uint64_t found;      /* locations that got names or lines from usp_profile_file_symbolicate */
    const char *program; /* USP_PROFILE_FILE_UNSPOOL: path of the program, empty if it is not known; otherwise NULL. It
                          * lives as long as the file */
    uint64_t reserved[3];
};

/* Fills *info. Thread-safe for different files. Async-signal-safe. */
USP_API void usp_profile_file_get_info(const struct usp_profile_file *file, struct usp_profile_file_info *info);

/* Finds names, lines and inlined calls of all locations that have an address and a mapping.
 *   builds     must not demangle (USP_DEMANGLE_NO). Its `find` receives the mapping's path as the place's image, and the
 *              build id; without path or build id they are empty. Places count from the file's beginning, or are
 *              addresses as linked if the mapping does not contain them
 *   demangler  for the names that are found; NULL: they stay mangled
 *   flags      USP_PROFILE_LINES: lines and inlined calls, too
 * A name that the file has is kept if its function holds the address, or if the build is not known. It gets its line and
 * inlined calls if the file has no lines there. Another name is replaced. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY. Not async-signal-safe: it opens files and allocates. */
USP_API int usp_profile_file_symbolicate(struct usp_profile_file *file, struct usp_builds *builds,
                                         struct usp_demangler *demangler, uint32_t flags);

/* Writes the profile in its own format with what usp_profile_file_symbolicate found. Everything else is equal when it
 * is decoded, also fields that are not known. New strings and functions follow those of the file. pprof in gzip format
 * is written in gzip format, not compressed. `write` receives the bytes in pieces. Returns USP_OK, USP_ERROR_ARGUMENT,
 * USP_ERROR_NO_MEMORY, USP_ERROR_UNSUPPORTED (unspool's JSON), usp_profile_file_info.damage (a file that is not whole
 * is not written), or the status with which `write` failed. Not async-signal-safe: it allocates. */
USP_API int usp_profile_file_write(const struct usp_profile_file *file, usp_write_function write, void *context);

/* Gives the samples to options->sample, as usp_recording_read does: first those of the default type of value, then
 * those of each other type, in the file's order. Of the options, max_frames, pid, from, to, sample and context are
 * used.
 *
 * A type of value is an event. A sample's count is the value, or for values of time that of the type with the unit
 * "count"; its duration is the value of time. Labels or attributes give thread and process: "thread", "thread.name",
 * "comm"; "thread_id", "thread.id", "tid"; "pid", "process.pid". Without them it is the thread "all threads". Threads
 * with different names or processes are different: if they have the same id, `thread` has another `id` for the later
 * one. Samples of unspool's JSON have one event, "samples". Their frames keep their kinds, and their times are times of
 * day if the profile has the time of day. What has left the time line comes first, without times.
 *
 * Times are those of the samples, or else the sum of the thread's durations so far (USP_RECORDING_SAMPLE_SUMMED). If
 * from or to are set, samples without times of their own are left out; pprof has none.
 *
 * Other frames are exact addresses (USP_FRAME_KIND_INTERRUPTED). Images that overlap are moved. Names of frames,
 * including those without address, are in the file: set usp_profile_write_options.file. Returns as usp_recording_read
 * does. Not async-signal-safe: it allocates. */
USP_API int usp_profile_file_samples(struct usp_profile_file *file, const struct usp_recording_options *options,
                                     struct usp_recording_info *info);

USP_END_DECLS

#endif
