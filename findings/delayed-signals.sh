#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ThreadSanitizer (compiler-rt 19.1.7) keeps a signal that another thread has sent, and calls the program's handler
# later, when the thread next calls a function that the sanitizer intercepts. The handler's ucontext is a copy made at
# the arrival: its registers show a place that the thread has left. The stack below them may be overwritten by then.
# Here, the main thread is interrupted in a loop, and its handler runs after the function of the loop has returned, with
# a program counter inside the loop. Without the sanitizer, the handler runs in the loop.
# An expert expects registers of a handler's ucontext to be those of the code to which the handler returns, as
# sigaction(2) and POSIX have it. A profiler that walks the stack from them gets frames of calls that are over.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 libclang-common-19-dev=1:19.1.7-3~deb12u1
  libclang-rt-19-dev=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >late.c <<'SOURCE'
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

extern const char __start_looping[], __stop_looping[];
static volatile int is_looping, is_sent, has_returned, ran_after;
static volatile unsigned long pc;
static pthread_t main_thread;

/* Loops for a long time after the signal was sent. No function of the sanitizer is called here. */
__attribute__((noinline, section("looping"), no_sanitize("thread"))) static void loop(void) {
  is_looping = 1;
  while (!is_sent) continue;
  for (volatile long i = 0; i < 200000000; i++) continue;
}

__attribute__((no_sanitize("thread"))) static void handle(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  pc = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  ran_after = has_returned;
}

__attribute__((no_sanitize("thread"))) static void *send(void *unused) {
  while (!is_looping) continue;
  pthread_kill(main_thread, SIGUSR1);
  is_sent = 1;
  return unused;
}

__attribute__((no_sanitize("thread"))) int main(void) {
  struct sigaction action;
  pthread_t sender;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, NULL);
  main_thread = pthread_self();
  pthread_create(&sender, NULL, send, NULL);
  loop();
  has_returned = 1;
  pthread_join(sender, NULL);
  const int is_inside = pc >= (unsigned long)__start_looping && pc < (unsigned long)__stop_looping;
  printf("pc %s the loop, handler ran %s it\n", is_inside ? "in" : "outside", ran_after ? "after" : "in");
  return 0;
}
SOURCE

# handled OPTION...: what the program prints when it is compiled so.
handled() {
  clang-19 -O1 "$@" -fuse-ld=lld-19 -o late late.c -lpthread
  ./late 2>&1
}
expect 'without a sanitizer' 'pc in the loop, handler ran in it' "$(handled)"
expect 'with ThreadSanitizer' 'pc in the loop, handler ran after it' "$(handled -fsanitize=thread)"
