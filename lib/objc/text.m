/* SPDX-License-Identifier: MIT */
/* Makes strings of stacks, snapshots, hangs, names and errors with the library's writers. See names.h. */
#import <unspool-objc/USPThread.h>

#import "lib/objc/arc.h"
#import "lib/objc/names.h"

#include <stdlib.h>
#include <string.h>

/* A text buffer that grows. */
struct gathered {
    char *bytes;
    size_t length, capacity;
};

static int gather(void *context, const char *bytes, size_t n) {
    struct gathered *text = context;
    if (n > text->capacity - text->length) {
        size_t capacity = text->capacity * 2 > text->length + n ? text->capacity * 2 : text->length + n + 1024;
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) return USP_ERROR_NO_MEMORY;
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, n);
    text->length += n;
    return USP_OK;
}

/* Writes a stack in a style. A line of +[NSThread callStackSymbols] ends with the offset, and each frame has one line.
 * Other styles have source lines. */
static int write_text(const struct usp_stack *stack, const struct usp_thread_info *info, uint32_t style, BOOL named,
                      usp_write_function write, void *context) {
    struct usp_format_options options;
    usp_format_options_init(&options);
    options.style = style;
    if (named && style != USP_FORMAT_CALL_STACK_SYMBOLS) options.flags = USP_FORMAT_LINES;
    USPINames *names = named ? [USPINames shared] : nil;
    USPIImages *images = named ? nil : [USPIImages current];
    options.symbolizer = [names symbolizer];
    options.images = [images images];
    return usp_format_stack(stack, info, &options, write, context);
}

NSString *uspi_objc_text(const struct usp_stack *stack, const struct usp_thread_info *info, uint32_t style,
                         BOOL named) {
    struct gathered text = {NULL, 0, 0};
    NSString *string = nil;
    if (write_text(stack, info, style, named, gather, &text) == USP_OK) {
        /* The writer has escaped bytes that are not UTF-8. */
        string = [[NSString alloc] initWithBytes:text.bytes length:text.length encoding:NSUTF8StringEncoding];
    }
    free(text.bytes);
    return USPI_AUTORELEASE(string);
}

NSArray *uspi_objc_lines(const struct usp_stack *stack, BOOL named) {
    struct gathered text = {NULL, 0, 0};
    if (write_text(stack, NULL, USP_FORMAT_CALL_STACK_SYMBOLS, named, gather, &text) != USP_OK) {
        free(text.bytes);
        return nil;
    }
    NSMutableArray *lines = [[NSMutableArray alloc] initWithCapacity:stack->count];
    for (size_t at = 0, end; at < text.length; at = end + 1) {
        const char *newline = memchr(text.bytes + at, '\n', text.length - at);
        end = newline != NULL ? (size_t)(newline - text.bytes) : text.length;
        NSString *line = [[NSString alloc] initWithBytes:text.bytes + at length:end - at encoding:NSUTF8StringEncoding];
        if (line != nil) [lines addObject:line];
        USPI_RELEASE(line);
    }
    free(text.bytes);
    NSArray *fixed = [[NSArray alloc] initWithArray:lines];
    USPI_RELEASE(lines);
    return USPI_AUTORELEASE(fixed);
}

NSString *uspi_objc_hang_text(const struct usp_hang *hang, const struct usp_hang_write_options *options) {
    struct gathered text = {NULL, 0, 0};
    NSString *string = nil;
    if (usp_hang_write(hang, options, gather, &text) == USP_OK) {
        string = [[NSString alloc] initWithBytes:text.bytes length:text.length encoding:NSUTF8StringEncoding];
    }
    free(text.bytes);
    return USPI_AUTORELEASE(string);
}

NSString *uspi_objc_snapshot_text(const struct usp_snapshot *snapshot, uint32_t style) {
    struct usp_format_options options;
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_demangler *demangler = NULL;
    struct gathered text = {NULL, 0, 0};
    NSString *string = nil;
    usp_format_options_init(&options);
    options.style = style;
    options.flags = USP_FORMAT_LINES;
    /* Without these the text has no names. */
    if (usp_symbolizer_create_for_snapshot(snapshot, NULL, &symbolizer) == USP_OK) options.symbolizer = symbolizer;
    if (usp_demangler_create(USP_DEMANGLE_SHORT, &demangler) == USP_OK) options.demangler = demangler;
    if (usp_format_snapshot(snapshot, &options, gather, &text) == USP_OK) {
        string = [[NSString alloc] initWithBytes:text.bytes length:text.length encoding:NSUTF8StringEncoding];
    }
    free(text.bytes);
    usp_demangler_free(demangler);
    usp_symbolizer_free(symbolizer);
    return USPI_AUTORELEASE(string);
}

NSError *uspi_objc_error(int status, const char *sentence) {
    if (sentence == NULL) sentence = usp_status_string(status);
    NSDictionary *details = [NSDictionary dictionaryWithObject:[NSString stringWithUTF8String:sentence]
                                                        forKey:NSLocalizedDescriptionKey];
    return [NSError errorWithDomain:USPErrorDomain code:status userInfo:details];
}

NSString *uspi_objc_string(const char *name) {
    if (name == NULL) return nil;
    NSString *string = [[NSString alloc] initWithUTF8String:name];
    if (string != nil) return USPI_AUTORELEASE(string);
    size_t length = strlen(name);
    int needed = usp_format_escaped(NULL, 0, USP_ESCAPE_TERMINAL, name, length);
    char *harmless = needed > 0 ? malloc((size_t)needed + 1) : NULL;
    if (harmless == NULL) return nil;
    usp_format_escaped(harmless, (size_t)needed + 1, USP_ESCAPE_TERMINAL, name, length);
    string = [[NSString alloc] initWithUTF8String:harmless];
    free(harmless);
    return USPI_AUTORELEASE(string);
}
