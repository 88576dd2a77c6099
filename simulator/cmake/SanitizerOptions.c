/*===- SanitizerOptions.c - Options of the address sanitizer --------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* For programs built with MX_SANITIZE; ASAN_OPTIONS changes them. libLLVM    *|
|* and libMLIR are not instrumented: their tables are never freed, and they   *|
|* use memory that their headers poison in our code.                          *|
\*===----------------------------------------------------------------------===*/

const char *__asan_default_options(void);

const char *__asan_default_options(void) {
  return "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0";
}
