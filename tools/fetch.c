/* SPDX-License-Identifier: MIT */
/* Implements fetch.h: runs the user's command or asks debuginfod servers, and checks the files. */
#define _GNU_SOURCE 1 /* for O_PATH */
#include "tools/fetch.h"

#include "lib/base/array.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/debuginfod.h"
#include "tools/folders.h"
#include "tools/layouts.h"
#include "tools/output.h"
#include "tools/signals.h"
#include "tools/temporary.h"

#include <unspool/lines.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define WORDS_MAX 64
/* Number of timeouts in a row after which fetching ends: a large log has many images to ask for. */
#define TIMEOUTS_MAX 3

struct fetch {
    char *words[WORDS_MAX]; /* words of the command, with {uuid} and {dest} not yet replaced */
    size_t word_count;
    struct debuginfod *client; /* used instead of a command */
    char *cache;
    uint64_t seconds;
    struct fetch_build *tried;
    size_t tried_count, tried_capacity;
    unsigned timeouts; /* number of timeouts in a row */
    bool is_given_up;
};

void format_build_id(const uint8_t *id, size_t size, char text[2 * USP_BUILD_ID_MAX + 5]) {
    bool is_uuid = size == 16;
    for (size_t i = 0; i < size; i++) {
        if (is_uuid && (i == 4 || i == 6 || i == 8 || i == 10)) *text++ = '-';
        text += snprintf(text, 3, is_uuid ? "%02X" : "%02x", id[i]);
    }
    *text = '\0';
}

bool parse_fetch_timeout(const char *text, struct fetch_options *options) {
    if (parse_number(text, FETCH_SECONDS_MAX, &options->seconds) && options->seconds > 0) return true;
    complain("--fetch-timeout takes a number of seconds from 1 to %d, not \"%s\"", FETCH_SECONDS_MAX, text);
    return false;
}

/* ---- the command's words ---- */

static int refuse_command(const char *what) {
    complain("--fetch: %s", what);
    return EXIT_USAGE;
}

/* Returns the next word, which begins at *at, and advances *at past it. Quotation marks enclose blanks and are removed.
 * NULL: a mark is missing, or memory is exhausted. */
static char *take_word(const char **at) {
    char *word = malloc(strlen(*at) + 1), *to = word, mark = '\0';
    if (word == NULL) return NULL;
    for (; **at != '\0' && (mark != '\0' || strchr(" \t\n", **at) == NULL); (*at)++) {
        if (mark == '\0' && (**at == '"' || **at == '\'')) {
            mark = **at;
        } else if (**at == mark) {
            mark = '\0';
        } else {
            *to++ = **at;
        }
    }
    *to = '\0';
    if (mark == '\0') return word;
    free(word);
    return NULL;
}

static int split(struct fetch *fetch, const char *command) {
    bool has_id = false, has_place = false;
    for (const char *at = command + strspn(command, " \t\n"); *at != '\0'; at += strspn(at, " \t\n")) {
        if (fetch->word_count == WORDS_MAX) return refuse_command("the command has too many words");
        char *word = take_word(&at);
        if (word == NULL) return refuse_command("a quotation mark is missing");
        has_id = has_id || strstr(word, "{uuid}") != NULL || strstr(word, "{UUID}") != NULL;
        has_place = has_place || strstr(word, "{dest}") != NULL;
        fetch->words[fetch->word_count++] = word;
    }
    if (has_id && has_place) return EXIT_ALL_WELL;
    return refuse_command("the command has to contain {uuid} (or {UUID}) for the build and {dest} for the new file");
}

static char *find_cache(const struct fetch_options *options) {
    if (options->cache != NULL) return strdup(options->cache);
    return options->debuginfod ? debuginfod_cache() : fetch_in_cache("unspool/fetched");
}

/* Prepares fetching: checks the cache, then opens the client or splits the command. */
static int begin(struct fetch *fetch, const struct fetch_options *options) {
    if (fetch->cache == NULL) {
        complain("--fetch-cache DIR is missing, and there is no $HOME");
        return EXIT_USAGE;
    }
    return options->debuginfod ? debuginfod_open(fetch->cache, &fetch->client) : split(fetch, options->command);
}

int fetch_create(const struct fetch_options *options, struct fetch **fetch) {
    *fetch = NULL;
    if (options->command == NULL && !options->debuginfod) return EXIT_ALL_WELL;
    if (options->command != NULL && options->debuginfod) return refuse_command("not together with --debuginfod");
    struct fetch *made = calloc(1, sizeof *made);
    if (made == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    made->seconds = options->seconds;
    made->cache = find_cache(options);
    int result = begin(made, options);
    if (result == EXIT_ALL_WELL) {
        *fetch = made;
    } else {
        fetch_free(made);
    }
    return result;
}

void fetch_free(struct fetch *fetch) {
    if (fetch == NULL) return;
    for (size_t i = 0; i < fetch->word_count; i++) free(fetch->words[i]);
    debuginfod_close(fetch->client);
    free(fetch->tried);
    free(fetch->cache);
    free(fetch);
}

const char *fetch_cache(const struct fetch *fetch) { return fetch != NULL ? fetch->cache : NULL; }

/* Returns a word with {uuid}, {UUID} and {dest} replaced by their values; the caller frees it. */
static char *fill_in(const char *word, const char *const values[3]) {
    static const char *const names[3] = {"{uuid}", "{UUID}", "{dest}"};
    size_t longest = 6, n = 0;
    for (size_t i = 0; i < 3; i++) longest = strlen(values[i]) > longest ? strlen(values[i]) : longest;
    /* Each placeholder has six characters. */
    char *filled = malloc((strlen(word) / 6 + 1) * longest + strlen(word) + 1);
    while (filled != NULL && *word != '\0') {
        size_t which = 0;
        while (which < 3 && strncmp(word, names[which], 6) != 0) which++;
        if (which == 3) {
            filled[n++] = *word++;
            continue;
        }
        memcpy(filled + n, values[which], strlen(values[which]));
        n += strlen(values[which]);
        word += 6;
    }
    if (filled != NULL) filled[n] = '\0';
    return filled;
}

/* ---- running the command ---- */

/* Starts the command in its own process group, so that a timeout also ends the processes that it has started. Its
 * output goes to standard error, because standard output is the report's. Returns 0, or errno. */
static int start(char *const *words, pid_t *child) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    int error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    if (error == 0) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (error == 0) error = posix_spawnattr_setpgroup(&attributes, 0);
    if (error == 0) error = posix_spawnp(child, words[0], &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Waits for the command. Returns whether it ended in time, before a signal that ends this program; *status as from
 * waitpid(2). Otherwise kills it. */
static bool wait_for(pid_t child, uint64_t seconds, int *status) {
    const uint64_t due = fetch_clock() + seconds * 1000;
    struct timespec pause = {.tv_nsec = 1000000};
    while (waitpid(child, status, WNOHANG) == 0) {
        if (fetch_clock() >= due || caught_signal() != 0) {
            kill(-child, SIGKILL);
            while (waitpid(child, status, 0) < 0 && errno == EINTR) continue;
            return false;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 20000000) pause.tv_nsec *= 2;
    }
    return true;
}

/* Runs the command, whose placeholders are replaced. */
static enum fetched run_words(const struct fetch *fetch, char *const *words, char error[FETCH_ERROR]) {
    pid_t child;
    int status = 0;
    const int failed = start(words, &child);
    if (failed != 0) {
        snprintf(error, FETCH_ERROR, "%s: %s", words[0], strerror(failed));
        return FETCH_HOPELESS;
    }
    if (!wait_for(child, fetch->seconds, &status)) return FETCH_LATE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return FETCH_DONE;
    if (WIFEXITED(status))
        snprintf(error, FETCH_ERROR, "exit status %d", WEXITSTATUS(status));
    else
        snprintf(error, FETCH_ERROR, "killed by signal %d", WTERMSIG(status));
    return FETCH_FAILED;
}

/* Returns the name of a fetched file in the cache; NULL: it is not a file of this build. */
static const char *judge(const char *path, const struct fetch_build *build) {
    struct stat found;
    struct usp_index_info info;
    struct usp_image_file_options options;
    struct usp_images *images;
    if (lstat(path, &found) != 0 || !S_ISREG(found.st_mode)) return NULL;
    usp_index_info_init(&info);
    if (usp_index_examine(path, USP_INDEX_CHECK, &info, NULL, 0) == USP_OK) {
        return info.build_id_size == build->id_size && memcmp(info.build_id, build->id, build->id_size) == 0 ? "index"
                                                                                                             : NULL;
    }
    usp_image_file_options_init(&options);
    options.build_id_size = (uint32_t)build->id_size;
    memcpy(options.build_id, build->id, build->id_size);
    options.flags = USP_IMAGE_FILE_LINKED;
    if (usp_images_open(path, &options, &images, NULL, 0) != USP_OK) return NULL;
    usp_images_free(images);
    return "debuginfo";
}

static const char *last_part(const char *path) { return strrchr(path, '/') + 1; }

/* Clears the execute bits of a fetched file. The command decides who may read it. The file of another user, or one that
 * has other names, keeps its mode. */
static bool take_file(int file, struct stat *found) {
    if (fstat(file, found) != 0 || !S_ISREG(found->st_mode)) return false;
    if (found->st_uid == geteuid() && found->st_nlink == 1) (void)fchmod(file, found->st_mode & 0666);
    return true;
}

/* Copies a fetched file into a folder of the cache. */
static bool copy(int file, const struct stat *found, int to, const char *published) {
    struct output output;
    char piece[1 << 14];
    ssize_t got;
    /* The output closes the folder. */
    const int folder = fcntl(to, F_DUPFD_CLOEXEC, 0);
    if (folder < 0 || !output_open_in(&output, folder, last_part(published), published, OUTPUT_COPY, found))
        return false;
    while ((got = read(file, piece, sizeof piece)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 || fwrite(piece, 1, (size_t)got, output.file) != (size_t)got) break;
    }
    return output_close(&output, got == 0) && got == 0;
}

/* Moves a file into the cache. The cache's owner may be another user, so links in it are not followed. */
static bool move(const struct fetch *fetch, const char *place, const char *published) {
    const char *name;
    struct stat found;
    const int cache = open(fetch->cache, FOLDER_FLAGS), from = open_folder_of(place, &name);
    const int to = cache >= 0 ? open_folder_below(cache, published + strlen(fetch->cache) + 1, true, NULL) : -1;
    const int file = from >= 0 ? openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    bool is_moved = to >= 0 && file >= 0 && take_file(file, &found);
    if (is_moved && renameat(from, name, to, last_part(published)) != 0) {
        is_moved = errno == EXDEV && copy(file, &found, to, published);
    }
    const int opened[] = {cache, from, to, file};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i] >= 0) close(opened[i]);
    }
    return is_moved;
}

/* Moves the file that the command has written to its place in the cache. */
static enum fetched publish(const struct fetch *fetch, const struct fetch_build *build, const char *place,
                            char error[FETCH_ERROR]) {
    const char *name = judge(place, build);
    char *published = name != NULL ? layouts_unified(fetch->cache, build->id, build->id_size, name) : NULL;
    const bool is_done = published != NULL && move(fetch, place, published);
    if (!is_done) snprintf(error, FETCH_ERROR, "wrote no file of this build to {dest}");
    free(published);
    return is_done ? FETCH_DONE : FETCH_FAILED;
}

/* Runs the command so that it writes into an empty folder, and publishes the file. */
static enum fetched run_in_folder(const struct fetch *fetch, const struct fetch_build *build, char *folder,
                                  char error[FETCH_ERROR]) {
    char plain[2 * USP_BUILD_ID_MAX + 5] = "", apple[2 * USP_BUILD_ID_MAX + 5], *words[WORDS_MAX + 1] = {NULL};
    enum fetched result = FETCH_FAILED;
    for (size_t i = 0; i < build->id_size; i++) snprintf(plain + 2 * i, 3, "%02x", build->id[i]);
    format_build_id(build->id, build->id_size, apple);
    if (mkdtemp(folder) == NULL) {
        snprintf(error, FETCH_ERROR, "%s: %s", folder, strerror(errno));
        return FETCH_FAILED;
    }
    const size_t capacity = strlen(folder) + sizeof "/file";
    char *place = malloc(capacity);
    bool is_ready = place != NULL;
    if (is_ready) snprintf(place, capacity, "%s/file", folder);
    const char *const values[3] = {plain, apple, place};
    for (size_t i = 0; is_ready && i < fetch->word_count; i++) {
        words[i] = fill_in(fetch->words[i], values);
        is_ready = words[i] != NULL;
    }
    snprintf(error, FETCH_ERROR, "%s", usp_status_string(USP_ERROR_NO_MEMORY));
    if (is_ready) result = run_words(fetch, words, error);
    if (result == FETCH_DONE) result = publish(fetch, build, place, error);
    for (size_t i = 0; i < fetch->word_count; i++) free(words[i]);
    free(place);
    remove_folder(folder);
    return result;
}

/* Whether no other user can put a link in the place of a folder or of a folder above it. */
static bool is_own_folder(const char *path) {
    struct stat found;
    char *real = realpath(path, NULL), *slash = real;
    bool is_own = real != NULL;
    while (is_own && slash != NULL && real[0] != '\0') {
        is_own = stat(real, &found) == 0 && (found.st_uid == geteuid() || found.st_uid == 0);
        slash = strrchr(real, '/');
        if (slash != NULL) *slash = '\0';
    }
    free(real);
    return is_own;
}

/* Returns the folder in which the command's folder is made: the cache, so that the file need not be copied. The owner
 * of another user's cache could exchange that folder for a link while the command writes. */
static const char *choose_parent(const struct fetch *fetch) {
    if (is_own_folder(fetch->cache)) return fetch->cache;
    return temporary_folder("/var/tmp");
}

static enum fetched ask_command(const struct fetch *fetch, const struct fetch_build *build, char error[FETCH_ERROR]) {
    if (!make_all_folders(fetch->cache)) {
        snprintf(error, FETCH_ERROR, "%s: %s", fetch->cache, strerror(errno));
        return FETCH_FAILED;
    }
    const char *parent = choose_parent(fetch);
    const size_t capacity = strlen(parent) + sizeof "/fetch.XXXXXX";
    char *folder = malloc(capacity);
    if (folder == NULL) {
        snprintf(error, FETCH_ERROR, "%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return FETCH_FAILED;
    }
    snprintf(folder, capacity, "%s/fetch.XXXXXX", parent);
    /* Catches signals, so that a signal that ends this program leaves no folder and no running command behind. */
    catch_signals();
    enum fetched result = run_in_folder(fetch, build, folder, error);
    release_signals();
    free(folder);
    return result;
}

static enum fetched ask_servers(const struct fetch *fetch, const struct fetch_build *build, char error[FETCH_ERROR]) {
    char *path;
    /* libdebuginfod makes only the last folder of the path. */
    if (!make_folders_of(fetch->cache, 0777)) {
        snprintf(error, FETCH_ERROR, "%s: %s", fetch->cache, strerror(errno));
        return FETCH_HOPELESS;
    }
    enum fetched result = debuginfod_get(fetch->client, build, fetch->seconds, &path, error);
    if (result == FETCH_DONE && judge(path, build) == NULL) {
        snprintf(error, FETCH_ERROR, "a server sent the file of another build, %s", path);
        result = FETCH_FAILED;
    }
    free(path);
    return result;
}

static bool was_tried(const struct fetch *fetch, const struct fetch_build *build) {
    for (size_t i = 0; i < fetch->tried_count; i++) {
        const struct fetch_build *other = &fetch->tried[i];
        if (other->id_size == build->id_size && memcmp(other->id, build->id, build->id_size) == 0) return true;
    }
    return false;
}

/* Returns whether the file was fetched. Otherwise completes the message. */
static bool settle(struct fetch *fetch, enum fetched result, char error[FETCH_ERROR]) {
    const char *option = fetch->client != NULL ? "--debuginfod" : "--fetch", *rest = "";
    char why[FETCH_ERROR];
    error[FETCH_ERROR - 1] = '\0';
    memcpy(why, error, sizeof why);
    fetch->timeouts = result == FETCH_LATE ? fetch->timeouts + 1 : 0;
    if (result == FETCH_DONE) {
        error[0] = '\0';
        return true;
    }
    if (result == FETCH_LATE) {
        snprintf(why, sizeof why, "has not ended within %llu seconds", (unsigned long long)fetch->seconds);
        if (fetch->timeouts == TIMEOUTS_MAX) rest = "; nothing more is fetched";
    } else if (result == FETCH_HOPELESS) {
        rest = "; nothing is fetched";
    }
    fetch->is_given_up = rest[0] != '\0';
    snprintf(error, FETCH_ERROR, "%s: %.*s%s", option, (int)(FETCH_ERROR - 64), why, rest);
    return false;
}

bool fetch_run(struct fetch *fetch, const uint8_t *id, size_t id_size, char error[FETCH_ERROR]) {
    struct fetch_build build = {.id_size = id_size};
    error[0] = '\0';
    if (fetch == NULL || fetch->is_given_up || id_size < 2 || id_size > sizeof build.id) return false;
    memcpy(build.id, id, id_size);
    if (was_tried(fetch, &build)) return false;
    void *grown =
        uspi_array_reserve(fetch->tried, &fetch->tried_capacity, fetch->tried_count + 1, sizeof *fetch->tried);
    if (grown == NULL) {
        snprintf(error, FETCH_ERROR, "%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return false;
    }
    fetch->tried = grown;
    fetch->tried[fetch->tried_count++] = build;
    return settle(fetch, fetch->client != NULL ? ask_servers(fetch, &build, error) : ask_command(fetch, &build, error),
                  error);
}
