/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: threads (libpthread include/pthread/pthread.h). The types have the sizes of Apple's
 * (include/sys/_pthread/_pthread_types.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_PTHREAD_H
#define TESTS_APPLE_SDK_USR_INCLUDE_PTHREAD_H

#include <Availability.h>
#include <mach/port.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/cdefs.h>
#include <time.h>

typedef struct _opaque_pthread_t *pthread_t;
#ifdef __LP64__
#define STANDIN_MUTEX_ROOM 56
#define STANDIN_COND_ROOM  40
#define STANDIN_ATTR_ROOM  56
#define STANDIN_ONCE_ROOM  8
#else
#define STANDIN_MUTEX_ROOM 40
#define STANDIN_COND_ROOM  24
#define STANDIN_ATTR_ROOM  36
#define STANDIN_ONCE_ROOM  4
#endif
typedef struct {
    long __sig;
    char __opaque[STANDIN_MUTEX_ROOM];
} pthread_mutex_t;
typedef struct {
    long __sig;
    char __opaque[STANDIN_COND_ROOM];
} pthread_cond_t;
typedef struct {
    long __sig;
    char __opaque[STANDIN_ATTR_ROOM];
} pthread_attr_t;
typedef struct {
    long __sig;
    char __opaque[STANDIN_ONCE_ROOM];
} pthread_once_t;
typedef struct standin_mutexattr pthread_mutexattr_t;

#define PTHREAD_CANCEL_DISABLE    0
#define PTHREAD_MUTEX_INITIALIZER {0x32AAABA7, {0}}
#define PTHREAD_COND_INITIALIZER  {0x3CB0B1BB, {0}}
#define PTHREAD_ONCE_INIT         {0x30B1BCBA, {0}}

__BEGIN_DECLS
pthread_t pthread_self(void);
int pthread_equal(pthread_t a, pthread_t b);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int pthread_join(pthread_t thread, void **result);
int pthread_detach(pthread_t thread);
int pthread_attr_init(pthread_attr_t *attributes);
int pthread_attr_destroy(pthread_attr_t *attributes);
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
int pthread_once(pthread_once_t *once, void (*routine)(void));
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_trylock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int pthread_cond_broadcast(pthread_cond_t *condition);
int pthread_setcancelstate(int state, int *old);

__API_AVAILABLE(macos(10.6), ios(3.2))
int pthread_threadid_np(pthread_t thread, uint64_t *id);
__API_AVAILABLE(macos(10.6), ios(3.2))
int pthread_setname_np(const char *name);
__API_AVAILABLE(macos(10.4), ios(2.0))
int pthread_main_np(void);
__API_AVAILABLE(macos(10.4), ios(2.0))
mach_port_t pthread_mach_thread_np(pthread_t thread);
__API_AVAILABLE(macos(10.4), ios(2.0))
size_t pthread_get_stacksize_np(pthread_t thread);
__API_AVAILABLE(macos(10.4), ios(2.0))
void *pthread_get_stackaddr_np(pthread_t thread);
__END_DECLS

#endif
