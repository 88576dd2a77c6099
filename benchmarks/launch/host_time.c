/*===- host_time.c - What a launch costs the host -------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*   host_time PROGRAM DEVICE COUNT SHAPE...                                  *|
|*                                                                            *|
|* Launches the entry `main` of a compiled directory on arrays of zeros of    *|
|* those shapes (128x256), COUNT times in a row, seven times over, and prints *|
|* the microseconds of a launch in the fastest row.                           *|
\*===----------------------------------------------------------------------===*/

#include "mx_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 16, RANK = 8, ROWS = 7 };

static void check(int status) {
  if (!status)
    return;
  fprintf(stderr, "%s\n", mxGetThreadError());
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void *allocate(size_t bytes) {
  void *memory = NULL;
  check(mxMemAlloc(&memory, bytes));
  check(mxMemset(memory, 0, bytes, NULL));
  return memory;
}

static size_t getBytes(const mxValueInfo *info, const int64_t *shape) {
  size_t bytes = (size_t)info->itemBytes;
  for (int32_t i = 0; i < info->rank; ++i)
    bytes *= (size_t)shape[i];
  return bytes;
}

static void readShape(char *text, int64_t *shape) {
  for (int i = 0; i < RANK && *text; ++i, text += *text == 'x')
    shape[i] = strtoll(text, &text, 10);
}

int main(int argc, char **argv) {
  static int64_t shapes[MOST][RANK];
  mxArgument arguments[MOST];
  void *results[MOST];
  mxProgram program = NULL;
  mxEntry entry = NULL;
  mxEntryInfo about;
  mxValueInfo info;
  mxStream stream = NULL;
  size_t bytes = 0;
  double best = 1e300;
  if (argc < 4) {
    fprintf(stderr, "usage: host_time PROGRAM DEVICE COUNT SHAPE...\n");
    return 2;
  }
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  check(mxSetDevice(argv[2]));
  check(mxProgramLoad(&program, argv[1]));
  check(mxProgramGetEntry(&entry, program, "main"));
  check(mxEntryGetInfo(entry, &about));
  if (about.argumentCount > MOST || about.resultCount > MOST ||
      about.argumentCount != argc - 4) {
    fprintf(stderr, "expected %d shapes, found %d\n", (int)about.argumentCount,
            argc - 4);
    return 2;
  }
  for (int32_t i = 0; i < about.argumentCount; ++i) {
    check(mxEntryGetArgument(entry, i, &info));
    readShape(argv[4 + i], shapes[i]);
    arguments[i].shape = shapes[i];
    arguments[i].data = allocate(getBytes(&info, shapes[i]));
  }
  for (int32_t i = 0; i < about.resultCount; ++i) {
    int64_t shape[RANK];
    check(mxEntryGetResult(entry, i, &info));
    check(
        mxEntryGetResultShape(entry, arguments, about.argumentCount, i, shape));
    results[i] = allocate(getBytes(&info, shape));
  }
  check(
      mxEntryGetWorkspaceBytes(entry, arguments, about.argumentCount, &bytes));
  void *workspace = allocate(bytes);
  check(mxStreamCreate(&stream));
  long count = atol(argv[3]);
  for (int row = 0; row < ROWS; ++row) {
    double begin = now();
    for (long i = 0; i < count; ++i)
      check(mxEntryLaunch(entry, arguments, about.argumentCount, results,
                          about.resultCount, workspace, bytes, stream));
    double each = (now() - begin) / (double)count;
    check(mxStreamSynchronize(stream));
    best = each < best ? each : best;
  }
  printf("%.3f\n", best);
  return 0;
}
