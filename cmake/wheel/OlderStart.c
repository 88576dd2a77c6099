// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets the programs of wheels start with glibc 2.28: before 2.34, the C library
// expects a function that runs the program's constructors.

#if defined(__x86_64__)
__asm__(".symver older_start, __libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver older_start, __libc_start_main@GLIBC_2.17");
#endif

typedef int Main(int, char **, char **);
typedef void Constructor(int, char **, char **);

extern int older_start(Main *main, int count, char **arguments,
                       Constructor *construct, void (*destroy)(void),
                       void (*end)(void), void *stack);
extern void _init(void);
extern Constructor *__init_array_start[], *__init_array_end[];

static void construct(int count, char **arguments, char **environment) {
  _init();
  for (Constructor **one = __init_array_start; one != __init_array_end; ++one)
    (*one)(count, arguments, environment);
}

__attribute__((visibility("hidden"))) int
__libc_start_main(Main *main, int count, char **arguments, void *none,
                  void (*destroy)(void), void (*end)(void), void *stack) {
  (void)none;
  return older_start(main, count, arguments, construct, destroy, end, stack);
}
