/* SPDX-License-Identifier: MIT */
/* Tests looking up many places in many builds with one call (<unspool/places.h>): the answers are those of single
 * look-ups in a symbolizer of one build. Unknown builds, invalid places and lack of memory must not affect the
 * others. */
#include <check.h>
#include <unspool/unspool.h>

#include "lib/symbolize/builds/answers.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"
#include "tests/support/symbol_file.h"

#define EM_X86_64 62

enum { BUILDS = 12, FUNCTIONS = 24, STEP = 0x40, ID = 20, PLACES = 3000 };

static void set_id(unsigned build, uint8_t id[ID]) {
    memset(id, 0x5a, ID);
    id[0] = (uint8_t)build;
}

static const char *path_of(unsigned build) {
    char name[16];
    snprintf(name, sizeof name, "file-%u", build);
    return in_folder(name);
}

/* Makes a file for each build, with gaps between its functions, and its index in the store. */
static void make_build(unsigned build) {
    static char names[FUNCTIONS][32];
    struct file_symbol symbols[FUNCTIONS + 1] = {{0}};
    struct usp_image_file_options options;
    struct usp_images *images;
    struct usp_index index;
    uint8_t id[ID];
    set_id(build, id);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        snprintf(names[i], sizeof names[i], i % 3 == 0 ? "_ZN3app11function%u%02uEv" : "f%u_%u", build % 10, i);
        symbols[i] = (struct file_symbol){names[i], TEXT_LOW + i * STEP + build * 4, STEP / 2, FUNC, GLOBAL, TEXT};
    }
    const struct symbol_file wanted = {
        .wide = true, .machine = EM_X86_64, .symtab = symbols, .build_id = id, .build_id_size = ID};
    struct builder b = build_symbol_file(&wanted);
    save_new(&b, path_of(build));
    builder_free(&b);
    usp_image_file_options_init(&options);
    options.flags = USP_IMAGE_FILE_LINKED;
    ck_assert_int_eq(usp_images_open(path_of(build), &options, &images, NULL, 0), USP_OK);
    usp_index_init(&index, in_folder("store"));
    ck_assert_int_eq(usp_index_write(images, usp_images_get(images, 0), &index), USP_OK);
    usp_images_free(images);
}

static void make_builds(void) {
    make_folder();
    for (unsigned i = 0; i < BUILDS; i++) make_build(i);
}

static struct usp_place place_of(unsigned build, uint64_t offset) {
    struct usp_place place = {.build_id_size = ID, .offset = offset};
    set_id(build, place.build_id);
    return place;
}

static struct usp_builds *create(const struct usp_builds_options *options) {
    struct usp_builds *builds;
    ck_assert_int_eq(usp_builds_create(options, &builds), USP_OK);
    return builds;
}

static struct usp_builds *with_store(uint32_t demangling) {
    struct usp_builds_options options;
    usp_builds_options_init(&options);
    options.index_store = in_folder("store");
    options.demangling = demangling;
    return create(&options);
}

/* Makes places of all builds, inside and outside of functions, some of them several times. */
static void make_places(struct usp_place *places, size_t count) {
    srand(7);
    for (size_t i = 0; i < count; i++) {
        const bool is_again = i > 0 && rand() % 3 == 0;
        if (is_again) {
            places[i] = places[(size_t)rand() % i];
            continue;
        }
        places[i] = place_of((unsigned)rand() % BUILDS, TEXT_LOW - 8 + (unsigned)rand() % (FUNCTIONS * STEP + 16));
        places[i].base = rand() % 2 == 0 ? USP_PLACE_LOAD : USP_PLACE_LINKED;
        places[i].flags = rand() % 2 == 0 ? USP_PLACE_EXACT : 0;
    }
}

/* ---- single look-ups ---- */

struct single {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
};

static void open_singles(struct single singles[BUILDS]) {
    for (unsigned i = 0; i < BUILDS; i++) {
        struct usp_symbolizer_options options;
        struct usp_image image;
        uint8_t id[ID];
        set_id(i, id);
        ck_assert_int_eq(usp_index_image(in_folder("store"), id, ID, &image), USP_OK);
        ck_assert_int_eq(usp_images_create(&image, 1, &singles[i].images), USP_OK);
        usp_symbolizer_options_init(&options);
        options.index_store = in_folder("store");
        ck_assert_int_eq(usp_symbolizer_create(singles[i].images, &options, &singles[i].symbolizer), USP_OK);
    }
}

static void close_singles(struct single singles[BUILDS]) {
    for (unsigned i = 0; i < BUILDS; i++) {
        usp_symbolizer_free(singles[i].symbolizer);
        usp_images_free(singles[i].images);
    }
}

/* Whether an answer is that of the build's own symbolizer. Files begin at 0. */
static bool is_right(const struct single *singles, const struct usp_place *place, const struct usp_answer *answer) {
    struct usp_source_frame frames[4];
    struct usp_lines lines;
    usp_lines_init(&lines, frames, 4);
    const uint64_t site = place->offset - ((place->flags & USP_PLACE_EXACT) == 0);
    int status = usp_symbolize_lines(singles[place->build_id[0]].symbolizer, site, &lines);
    if (status != USP_OK) return answer->status == status && answer->count == 0 && answer->frames == NULL;
    return answer->status == USP_OK && answer->count == lines.count && answer->flags == 0 &&
           strcmp(answer->frames[0].function, frames[0].function) == 0 && answer->frames[0].address == site &&
           answer->frames[0].start == frames[0].start && answer->offset == place->offset - lines.symbol.start;
}

START_TEST(as_single_questions) {
    static const size_t sizes[] = {PLACES, 1, 7, 500};
    struct single singles[BUILDS];
    struct usp_place *places = calloc(PLACES, sizeof *places);
    struct usp_answer *answers = calloc(PLACES, sizeof *answers);
    size_t named = 0, unnamed = 0;
    ck_assert(places != NULL && answers != NULL);
    make_places(places, PLACES);
    open_singles(singles);
    struct usp_builds *builds = with_store(USP_DEMANGLE_NO);
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        for (size_t at = 0; at < PLACES; at += sizes[n]) {
            const size_t count = sizes[n] < PLACES - at ? sizes[n] : PLACES - at;
            memset(answers, 0xa5, count * sizeof *answers);
            ck_assert_int_eq(usp_symbolize_places(builds, places + at, answers, count), USP_OK);
            for (size_t i = 0; i < count; i++) {
                ck_assert_msg(is_right(singles, &places[at + i], &answers[i]), "place %zu", at + i);
                *(answers[i].count > 0 ? &named : &unnamed) += 1;
            }
        }
    }
    ck_assert_uint_gt(named, PLACES);
    ck_assert_uint_gt(unnamed, PLACES);
    usp_builds_free(builds);
    close_singles(singles);
    free(answers);
    free(places);
}
END_TEST

/* ---- unknown builds and invalid places ---- */

START_TEST(strange_places) {
    struct usp_builds *builds = with_store(USP_DEMANGLE_FULL);
    const struct usp_place good = place_of(3, TEXT_LOW + 3 * 4 + 1);
    struct usp_place places[32];
    struct usp_answer answers[32];
    int expected[32];
    size_t count = 0;
#define ASK(status, ...)                                                                                               \
    places[count] = good, places[count + 1] = (struct usp_place)__VA_ARGS__;                                           \
    expected[count] = USP_OK, expected[count + 1] = (status);                                                          \
    count += 2
    ASK(USP_ERROR_NOT_FOUND, {.build_id_size = 0});
    ASK(USP_ERROR_NOT_FOUND, {.image = "x", .image_length = 1});
    ASK(USP_ERROR_NOT_FOUND, {.build_id_size = 1, .build_id = {3}});
    ASK(USP_ERROR_NOT_FOUND, {.build_id_size = ID, .build_id = {3}, .offset = TEXT_LOW});
    ASK(USP_ERROR_NOT_FOUND, {.build_id_size = USP_BUILD_ID_MAX});
    ASK(USP_ERROR_ARGUMENT, {.build_id_size = USP_BUILD_ID_MAX + 1});
    ASK(USP_ERROR_ARGUMENT, {.build_id_size = UINT32_MAX});
    ASK(USP_ERROR_ARGUMENT, {.build_id_size = ID, .base = USP_PLACE_TEXT + 1});
    ASK(USP_ERROR_ARGUMENT, {.build_id_size = ID, .base = UINT32_MAX});
    ASK(USP_ERROR_ARGUMENT, {.image = NULL, .image_length = 1});
#undef ASK
    places[count] = place_of(3, UINT64_MAX), expected[count++] = USP_ERROR_NOT_FOUND;
    places[count] = place_of(3, 0), expected[count++] = USP_ERROR_NOT_FOUND;
    /* An index does not contain the addresses of the file's segments. */
    places[count] = good, places[count].base = USP_PLACE_FILE, expected[count++] = USP_ERROR_NOT_FOUND;
    ck_assert_int_eq(usp_symbolize_places(builds, places, answers, count), USP_OK);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(answers[i].status == expected[i], "place %zu: %d", i, answers[i].status);
        ck_assert_uint_eq(answers[i].count, expected[i] == USP_OK ? 1 : 0);
        if (expected[i] == USP_OK) ck_assert_str_eq(answers[i].frames[0].function, "app::function300()");
    }
    ck_assert_uint_eq(answers[1].flags, USP_ANSWER_NO_FILE);
    ck_assert_uint_eq(answers[7].flags, USP_ANSWER_NO_FILE);
    ck_assert_uint_eq(answers[count - 2].flags, 0);
    ck_assert_int_eq(usp_symbolize_places(builds, NULL, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_symbolize_places(builds, NULL, answers, 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_symbolize_places(builds, places, NULL, 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_symbolize_places(NULL, places, answers, 1), USP_ERROR_ARGUMENT);
    usp_builds_free(builds);
}
END_TEST

START_TEST(arguments) {
    struct usp_builds_options options;
    struct usp_builds *builds = NULL;
    usp_builds_options_init(&options);
    ck_assert_int_eq(usp_builds_create(&options, NULL), USP_ERROR_ARGUMENT);
    options.size = 4;
    ck_assert_int_eq(usp_builds_create(&options, &builds), USP_ERROR_ARGUMENT);
    usp_builds_options_init(&options);
    options.demangling = 77;
    ck_assert_int_eq(usp_builds_create(&options, &builds), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(builds);
    /* Without options nothing is found. */
    builds = create(NULL);
    const struct usp_place place = place_of(1, TEXT_LOW + 4);
    struct usp_answer answer;
    ck_assert_int_eq(usp_symbolize_places(builds, &place, &answer, 1), USP_OK);
    ck_assert_int_eq(answer.status, USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(answer.flags, USP_ANSWER_NO_FILE);
    usp_builds_free(builds);
    usp_builds_free(NULL);
    usp_builds_trim(NULL);
}
END_TEST

/* ---- a function of the caller that finds the sources ---- */

struct finding {
    unsigned asked[BUILDS], layouts, notes;
    bool gives_files;
};

/* Gives the index first, and the file when the layout is wanted, or at once. Build 5 has no source, 6 is refused, 7 has
 * no file. */
static int find(void *context, const struct usp_place *place, struct usp_build_sources *sources) {
    struct finding *finding = context;
    const unsigned build = place->build_id[0];
    ck_assert_uint_lt(build, BUILDS);
    finding->asked[build]++;
    if (build == 6) return USP_ERROR_PERMISSION;
    if (build == 5) return USP_OK;
    if ((sources->flags & USP_BUILD_LAYOUT) != 0) {
        finding->layouts++;
        ck_assert_uint_eq(sources->count, 1);
        if (build == 7) return USP_OK;
        sources->count = 0;
    }
    struct usp_build_source *source = &sources->of[sources->count++];
    *source = (struct usp_build_source){.index_store = in_folder("store"), .build_id_size = ID};
    if ((sources->flags & USP_BUILD_LAYOUT) != 0 || finding->gives_files) source->path = path_of(build);
    memcpy(source->build_id, place->build_id, ID);
    return USP_OK;
}

static void take_note(void *context, uint32_t note, const struct usp_place *place, const char *text) {
    struct finding *finding = context;
    ck_assert_uint_eq(note, USP_BUILD_NOTE_LAYOUT);
    ck_assert_uint_eq(place->build_id[0], 7);
    ck_assert_str_eq(text, "");
    finding->notes++;
}

static struct usp_builds *with_function(struct finding *finding, uint32_t kept) {
    struct usp_builds_options options;
    usp_builds_options_init(&options);
    options.find = find;
    options.note = take_note;
    options.context = finding;
    options.builds_kept = kept;
    return create(&options);
}

START_TEST(sources_of_the_caller) {
    struct finding finding = {.gives_files = false};
    struct usp_builds *builds = with_function(&finding, 0);
    struct usp_place places[8];
    struct usp_answer answers[8];
    for (unsigned i = 0; i < 8; i++) places[i] = place_of(4 + i % 4, TEXT_LOW + STEP + (4 + i % 4) * 4 + 9);
    /* The file is mapped as a whole, at 0 (build_symbol_file). */
    for (unsigned i = 4; i < 8; i++) places[i].base = i == 4 ? USP_PLACE_FILE : USP_PLACE_TEXT;
    for (unsigned round = 0; round < 2; round++) {
        ck_assert_int_eq(usp_symbolize_places(builds, places, answers, 8), USP_OK);
        ck_assert_str_eq(answers[0].frames[0].function, "f4_1");
        ck_assert_uint_eq(answers[0].offset, 9);
        ck_assert_str_eq(answers[4].frames[0].function, "f4_1");
        ck_assert_uint_eq(answers[4].offset, 9);
        ck_assert_int_eq(answers[1].status, USP_ERROR_NOT_FOUND);
        ck_assert_uint_eq(answers[1].flags, USP_ANSWER_NO_FILE);
        ck_assert_int_eq(answers[2].status, USP_ERROR_PERMISSION);
        ck_assert_int_eq(answers[6].status, USP_ERROR_PERMISSION);
        ck_assert_str_eq(answers[3].frames[0].function, "f7_1");
        ck_assert_int_eq(answers[7].status, USP_ERROR_NOT_FOUND);
        ck_assert_uint_eq(answers[7].flags, USP_ANSWER_NO_FILE);
    }
    ck_assert_uint_eq(finding.asked[4], 2);
    ck_assert_uint_eq(finding.asked[6], 1);
    ck_assert_uint_eq(finding.asked[7], 2);
    ck_assert_uint_eq(finding.layouts, 2);
    ck_assert_uint_eq(finding.notes, 1);
    usp_builds_free(builds);
}
END_TEST

START_TEST(few_builds_stay_open) {
    static const unsigned order[] = {0, 1, 2, 3, 4, 8, 9, 10, 11};
    struct finding finding = {.gives_files = true};
    struct usp_builds *builds = with_function(&finding, 2);
    struct usp_answer answer;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
            const struct usp_place place = place_of(order[i], TEXT_LOW + STEP + order[i] * 4 + 1);
            ck_assert_int_eq(usp_symbolize_places(builds, &place, &answer, 1), USP_OK);
            ck_assert_int_eq(answer.status, USP_OK);
        }
        usp_builds_trim(builds);
    }
    ck_assert_uint_eq(finding.asked[11], 1);
    ck_assert_uint_eq(finding.asked[10], 1);
    ck_assert_uint_eq(finding.asked[9], 3);
    ck_assert_uint_eq(finding.asked[0], 3);
    usp_builds_free(builds);
}
END_TEST

/* Asks each build that has an index for places, and closes builds as often as memory is measured at the least. */
static void ask_indexes(struct usp_builds *builds, unsigned places) {
    for (unsigned build = 0; build < BUILDS; build++) {
        struct usp_answer answer;
        if (build == 5 || build == 6) continue;
        for (unsigned i = 0; i < 2 * places; i++) {
            struct usp_place place = place_of(build, TEXT_LOW + i / 2);
            if (i % 2 == 1) place.flags = USP_PLACE_EXACT;
            ck_assert_int_eq(usp_symbolize_places(builds, &place, &answer, 1), USP_OK);
        }
    }
    for (unsigned i = 0; i < 256; i++) usp_builds_trim(builds);
}

/* A report of a system has frames in hundreds of images, whose indexes were opened again and again. */
START_TEST(indexes_stay_open_by_their_memory) {
    struct finding finding = {.gives_files = false};
    struct usp_builds *builds = with_function(&finding, 1);
    for (unsigned round = 0; round < 3; round++) ask_indexes(builds, 1);
    for (unsigned i = 0; i < BUILDS; i++) ck_assert_uint_eq(finding.asked[i], i != 5 && i != 6);
    /* Of many names in each, some are given up. */
    for (unsigned round = 0; round < 2; round++) ask_indexes(builds, FUNCTIONS * STEP);
    ck_assert_uint_eq(finding.asked[0], 2);
    ck_assert_uint_eq(finding.asked[11], 1);
    usp_builds_free(builds);
}
END_TEST

/* ---- memory ---- */

START_TEST(each_allocation_fails) {
    struct single singles[BUILDS];
    struct usp_place places[BUILDS * 2];
    struct usp_answer answers[BUILDS * 2];
    unsigned lacking = 0;
    const size_t count = 8;
    const long before = allocations_held();
    for (unsigned i = 0; i < count; i++) places[i] = place_of(i % 4, TEXT_LOW + (i / 4) * STEP + i % 4 * 4 + 1);
    open_singles(singles);
    for (long n = 1;; n++) {
        struct usp_builds *builds = with_store(USP_DEMANGLE_NO);
        const long held = allocations_held();
        fail_allocation(n);
        int status = usp_symbolize_places(builds, places, answers, count);
        const bool is_last = allocation_still_to_fail();
        fail_allocation(0);
        bool is_one = false;
        for (size_t i = 0; i < count; i++) {
            is_one = is_one || answers[i].status == USP_ERROR_NO_MEMORY;
            if (answers[i].status == USP_ERROR_NO_MEMORY) continue;
            ck_assert_msg(is_right(singles, &places[i], &answers[i]), "allocation %ld, place %zu", n, i);
        }
        ck_assert_int_eq(status, is_one ? USP_ERROR_NO_MEMORY : USP_OK);
        lacking += is_one;
        /* When there is memory again, all answers must be right. */
        ck_assert_int_eq(usp_symbolize_places(builds, places, answers, count), USP_OK);
        for (size_t i = 0; i < count; i++) ck_assert(is_right(singles, &places[i], &answers[i]));
        ck_assert_int_gt(allocations_held(), held);
        usp_builds_free(builds);
        if (is_last) break;
    }
    ck_assert_uint_gt(lacking, 20);
    close_singles(singles);
    ck_assert_int_eq(allocations_held(), before);
}
END_TEST

START_TEST(kept_answers_are_bounded) {
    struct uspi_answers answers = {.slots = NULL};
    struct usp_source_frame frames[USP_ANSWER_FRAMES] = {{.line = 1}};
    const long held = allocations_held();
    size_t found = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        const struct uspi_answer_key key = {i % 7, i, 0, 0}, other = {i % 7 + 1, i, 0, 0};
        const struct usp_answer answer = {frames, i % 1000 == 0 ? USP_ANSWER_FRAMES : (uint32_t)(i % 4), 0, i, 0, 0,
                                          {0}};
        frames[0].line = (uint32_t)i;
        uspi_answers_keep(&answers, &key, &answer);
        ck_assert_uint_le(answers.bytes, USPI_ANSWERS_LIMIT);
        const struct uspi_kept_answer *kept = uspi_answers_find(&answers, &key);
        ck_assert_ptr_nonnull(kept);
        ck_assert(kept->answer.offset == i && kept->answer.count == answer.count);
        ck_assert(answer.count == 0 || kept->frames[0].line == (uint32_t)i);
        ck_assert_ptr_null(uspi_answers_find(&answers, &other));
        const struct uspi_answer_key before = {i / 2 % 7, i / 2, 0, 0};
        found += uspi_answers_find(&answers, &before) != NULL;
    }
    ck_assert_uint_gt(found, 1000);
    uspi_answers_clear(&answers);
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

/* A stack from another list of images, such as a stored report's, got no names from the store. */
START_TEST(image_outside_of_the_list) {
    struct single singles[BUILDS];
    struct usp_image image;
    struct usp_symbol symbol;
    uint8_t id[ID];
    open_singles(singles);
    set_id(1, id);
    ck_assert_int_eq(usp_index_image(in_folder("store"), id, ID, &image), USP_OK);
    const usp_addr address = image.load_address + TEXT_LOW + STEP + 4;
    ck_assert_int_eq(usp_symbolize_image(singles[0].symbolizer, &image, address + 9, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "f1_1");
    ck_assert_uint_eq(symbol.offset, 9);
    close_singles(singles);
}
END_TEST

int main(void) {
    TCase *places = tcase_create("places"), *memory = tcase_create("memory");
    tcase_add_checked_fixture(places, make_builds, remove_folder);
    tcase_add_checked_fixture(memory, make_builds, remove_folder);
    add_tests(places, as_single_questions, strange_places, arguments, sources_of_the_caller, few_builds_stay_open,
              indexes_stay_open_by_their_memory, image_outside_of_the_list);
    add_tests(memory, each_allocation_fails, kept_answers_are_bounded);
    return run_suite("places", places, memory);
}
