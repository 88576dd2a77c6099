//===- Memory.cpp - Process exit on memory exhaustion ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/Memory.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <unistd.h>

static const char *failingTool = "";
static int failureStatus = 1;

void mx::handleOutOfMemory(const char *tool, int status) {
  failingTool = tool;
  failureStatus = status;
  std::set_new_handler(exitOutOfMemory);
  std::set_terminate([] {
    if (std::current_exception())
      exitOutOfMemory();
    abort();
  });
}

void mx::exitOutOfMemory() {
  for (const char *part : {failingTool, ": out of memory\n"})
    (void)!::write(STDERR_FILENO, part, strlen(part));
  _exit(failureStatus);
}
