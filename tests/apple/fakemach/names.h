/* SPDX-License-Identifier: MIT */
/* Renames the functions that the Darwin layer calls, so that it calls the scripted kernel while all other files use
 * this system's C library. Included first in each file of lib/os/darwin/. */
#ifndef TESTS_APPLE_FAKEMACH_NAMES_H
#define TESTS_APPLE_FAKEMACH_NAMES_H

#define getpid                    fake_getpid
#define kill                      fake_kill
#define gettimeofday              fake_gettimeofday
#define dladdr                    fake_dladdr
#define dlsym                     fake_dlsym
#define sysctl                    fake_sysctl
#define sysctlbyname              fake_sysctlbyname
#define fcntl                     fake_fcntl
#define pthread_setname_np        fake_pthread_setname_np
#define pthread_self              fake_pthread_self
#define pthread_create            fake_pthread_create
#define pthread_detach            fake_pthread_detach
#define pthread_attr_init         fake_pthread_attr_init
#define pthread_attr_destroy      fake_pthread_attr_destroy
#define pthread_attr_setstacksize fake_pthread_attr_setstacksize
#define pthread_once              fake_pthread_once
#define pthread_atfork            fake_pthread_atfork
#define pthread_mutex_lock        fake_pthread_mutex_lock
#define pthread_mutex_trylock     fake_pthread_mutex_trylock
#define pthread_mutex_unlock      fake_pthread_mutex_unlock
#define sigaction                 fake_sigaction
#define sigaltstack               fake_sigaltstack
#define setitimer                 fake_setitimer
#define pthread_kill              fake_pthread_kill
#define pthread_sigmask           fake_pthread_sigmask
#define pthread_setcancelstate    fake_pthread_setcancelstate

#endif
