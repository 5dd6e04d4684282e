/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: streams. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STDIO_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STDIO_H

#include_next <stdio.h>
#include <sys/types.h>

typedef struct standin_file FILE;
extern FILE *__stdinp, *__stdoutp, *__stderrp;
#define stdin  __stdinp
#define stdout __stdoutp
#define stderr __stderrp

#define EOF      (-1)
#define _IOFBF   0
#define _IONBF   2
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2

void clearerr(FILE *stream);
int fclose(FILE *stream);
FILE *fdopen(int fd, const char *mode);
int ferror(FILE *stream);
int fflush(FILE *stream);
char *fgets(char *restrict to, int n, FILE *restrict stream);
int fileno(FILE *stream);
FILE *fopen(const char *restrict path, const char *restrict mode);
int fprintf(FILE *restrict stream, const char *restrict format, ...) __attribute__((format(printf, 2, 3)));
int fputc(int c, FILE *stream);
int fputs(const char *restrict text, FILE *restrict stream);
size_t fread(void *restrict to, size_t size, size_t count, FILE *restrict stream);
int fseek(FILE *stream, long offset, int whence);
size_t fwrite(const void *restrict from, size_t size, size_t count, FILE *restrict stream);
int pclose(FILE *stream);
void perror(const char *text);
FILE *popen(const char *command, const char *mode);
int printf(const char *restrict format, ...) __attribute__((format(printf, 1, 2)));
int putchar(int c);
int puts(const char *text);
int remove(const char *path);
void rewind(FILE *stream);
int scanf(const char *restrict format, ...) __attribute__((format(scanf, 1, 2)));
int setvbuf(FILE *restrict stream, char *restrict buffer, int mode, size_t size);
int sscanf(const char *restrict text, const char *restrict format, ...) __attribute__((format(scanf, 2, 3)));

#endif
