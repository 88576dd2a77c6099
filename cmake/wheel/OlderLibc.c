// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets the libraries of wheels, linked on Debian 12, run with glibc 2.28. Each
// newer function that they need is defined here and hidden: it jumps to its
// older version, which every later glibc keeps, or replaces it.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define HIDDEN __attribute__((visibility("hidden")))

#if defined(__x86_64__)
#define BASE "GLIBC_2.2.5"
#define NAMES "GLIBC_2.12"
#define JUMP(SYMBOL) "jmp *" SYMBOL "@GOTPCREL(%rip)\n"
enum { kStatVersion = 1 };
#elif defined(__aarch64__)
#define BASE "GLIBC_2.17"
#define NAMES BASE
#define JUMP(SYMBOL)                                                           \
  "adrp x16, :got:" SYMBOL "\nldr x16, [x16, :got_lo12:" SYMBOL "]\nbr x16\n"
enum { kStatVersion = 0 };
#endif

// Defines a function as a jump. A jump keeps the return address, by which
// dlopen and dlsym find their caller.
#define JUMP_TO(VERSION, NAME)                                                 \
  __asm__(".symver mx_older_" #NAME ", " #NAME "@" VERSION "\n"                \
          ".text\n.globl " #NAME "\n.hidden " #NAME "\n"                       \
          ".type " #NAME ", %function\n" #NAME                                 \
          ":\n" JUMP("mx_older_" #NAME) ".size " #NAME ", . - " #NAME "\n");

JUMP_TO(BASE, exp)
JUMP_TO(BASE, exp2)
JUMP_TO(BASE, log)
JUMP_TO(BASE, log2)
JUMP_TO(BASE, pow)
JUMP_TO(BASE, dladdr)
JUMP_TO(BASE, dlclose)
JUMP_TO(BASE, dlerror)
JUMP_TO(BASE, dlopen)
JUMP_TO(BASE, dlsym)
JUMP_TO(BASE, pthread_attr_setstacksize)
JUMP_TO(BASE, pthread_create)
JUMP_TO(BASE, pthread_detach)
JUMP_TO(NAMES, pthread_getname_np)
JUMP_TO(BASE, pthread_join)
JUMP_TO(BASE, pthread_mutex_trylock)
JUMP_TO(BASE, pthread_once)
JUMP_TO(BASE, pthread_rwlock_rdlock)
JUMP_TO(BASE, pthread_rwlock_unlock)
JUMP_TO(BASE, pthread_rwlock_wrlock)
JUMP_TO(NAMES, pthread_setname_np)
JUMP_TO(BASE, pthread_sigmask)

extern int __xstat(int version, const char *path, struct stat *result);
extern int __lxstat(int version, const char *path, struct stat *result);
extern int __fxstat(int version, int file, struct stat *result);
extern int __xmknod(int version, const char *path, mode_t mode, dev_t *device);

HIDDEN int stat(const char *path, struct stat *result) {
  return __xstat(kStatVersion, path, result);
}
HIDDEN int lstat(const char *path, struct stat *result) {
  return __lxstat(kStatVersion, path, result);
}
HIDDEN int fstat(int file, struct stat *result) {
  return __fxstat(kStatVersion, file, result);
}
// struct stat64 equals struct stat.
HIDDEN int stat64(const char *path, struct stat64 *result) {
  return __xstat(kStatVersion, path, (struct stat *)result);
}
HIDDEN int lstat64(const char *path, struct stat64 *result) {
  return __lxstat(kStatVersion, path, (struct stat *)result);
}
HIDDEN int fstat64(int file, struct stat64 *result) {
  return __fxstat(kStatVersion, file, (struct stat *)result);
}
HIDDEN int mknod(const char *path, mode_t mode, dev_t device) {
  return __xmknod(0, path, mode, &device);
}

// LLVM reads the number of allocated bytes for its statistics.
HIDDEN struct mallinfo2 mallinfo2(void) {
  struct mallinfo2 unknown = {0};
  return unknown;
}

// std::random_device reads it. Like glibc, ends the program if the system has
// no random numbers, since callers may need secret ones.
HIDDEN uint32_t arc4random(void) {
  uint32_t number;
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    if (errno != EINTR)
      abort();
  return number;
}

// libstdc++ then uses atomic operations at any number of threads.
HIDDEN char __libc_single_threaded = 0;

static struct timespec add(struct timespec a, struct timespec b, int sign) {
  const int64_t second = 1000000000;
  int64_t seconds = a.tv_sec + sign * b.tv_sec;
  int64_t nanoseconds = a.tv_nsec + sign * b.tv_nsec;
  seconds += nanoseconds < 0 ? -1 : nanoseconds >= second ? 1 : 0;
  struct timespec sum = {seconds, (nanoseconds + second) % second};
  return sum;
}

// New in glibc 2.30. Before, the wait follows the clock of the system: after a
// change it may end early, for which callers check the time, or late.
HIDDEN int pthread_cond_clockwait(pthread_cond_t *condition,
                                  pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *end) {
  typedef int Wait(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                   const struct timespec *);
  static Wait *found = pthread_cond_clockwait; // until the first call
  Wait *newer = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (newer == pthread_cond_clockwait) {
    newer = (Wait *)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
    __atomic_store_n(&found, newer, __ATOMIC_RELAXED);
  }
  if (newer)
    return newer(condition, mutex, clock, end);
  struct timespec now, realTime;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &realTime);
  struct timespec when = add(realTime, add(*end, now, -1), 1);
  return pthread_cond_timedwait(condition, mutex, &when);
}
