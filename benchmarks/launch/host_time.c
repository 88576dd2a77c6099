/*===- host_time.c - What a launch costs the host -------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*   host_time PROGRAM DEVICE COUNT SHAPE...                                  *|
|*                                                                            *|
|* Launches the entry `main` of a compiled directory on zero arrays of these  *|
|* shapes (128x256), COUNT times in a row, and repeats that seven times.      *|
|* Prints the time of a launch in the fastest repetition in microseconds, one *|
|* line for each case:                                                        *|
|*                                                                            *|
|*   equal    the same call repeated                                          *|
|*   turns    two calls on separate arrays, alternating                       *|
|*   entries  calls of 8 programs on separate arrays, in turn                 *|
|*   new      calls on addresses without a recent call                        *|
\*===----------------------------------------------------------------------===*/

#include "mx_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 16, RANK = 8, ROWS = 7, PROGRAMS = 8, PLACES = 1024, STEP = 256 };

struct Call {
  mxEntry entry;
  int32_t argumentCount, resultCount;
  mxArgument arguments[MOST];
  void *results[MOST];
  void *workspace;
  size_t workspaceBytes;
};

static int64_t shapes[MOST][RANK];

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

static mxEntry load(const char *directory) {
  mxProgram program = NULL;
  mxEntry entry = NULL;
  check(mxProgramLoad(&program, directory));
  check(mxProgramGetEntry(&entry, program, "main"));
  return entry;
}

/* Creates a call on separate arrays, each followed by `slack` unused bytes. */
static struct Call makeCall(mxEntry entry, int shapeCount, size_t slack) {
  struct Call call = {0};
  mxEntryInfo about = {.structSize = sizeof about};
  mxValueInfo info = {.structSize = sizeof info};
  check(mxEntryGetInfo(entry, &about));
  if (about.argumentCount > MOST || about.resultCount > MOST ||
      about.argumentCount != shapeCount) {
    fprintf(stderr, "expected %d shapes, found %d\n", (int)about.argumentCount,
            shapeCount);
    exit(2);
  }
  call.entry = entry;
  call.argumentCount = about.argumentCount;
  call.resultCount = about.resultCount;
  for (int32_t i = 0; i < call.argumentCount; ++i) {
    check(mxEntryGetArgument(entry, i, &info));
    call.arguments[i].structSize = sizeof call.arguments[i];
    call.arguments[i].shape = shapes[i];
    call.arguments[i].data = allocate(getBytes(&info, shapes[i]) + slack);
  }
  for (int32_t i = 0; i < call.resultCount; ++i) {
    int64_t shape[RANK];
    check(mxEntryGetResult(entry, i, &info));
    check(mxEntryGetResultShape(entry, call.arguments, call.argumentCount, i,
                                shape));
    call.results[i] = allocate(getBytes(&info, shape) + slack);
  }
  check(mxEntryGetWorkspaceBytes(entry, call.arguments, call.argumentCount,
                                 &call.workspaceBytes));
  call.workspace = allocate(call.workspaceBytes);
  return call;
}

/* Measures the calls in turn. */
static void measure(const char *what, const struct Call *calls, long callCount,
                    long count, mxStream stream) {
  double best = 1e300;
  long next = 0;
  for (int row = 0; row < ROWS; ++row) {
    double begin = now();
    for (long i = 0; i < count; ++i) {
      const struct Call *call = &calls[next];
      check(mxEntryLaunch(call->entry, call->arguments, call->argumentCount,
                          call->results, call->resultCount, call->workspace,
                          call->workspaceBytes, stream));
      next = next + 1 == callCount ? 0 : next + 1;
    }
    double each = (now() - begin) / (double)count;
    check(mxStreamSynchronize(stream));
    best = each < best ? each : best;
  }
  printf("%s %.3f\n", what, best);
}

int main(int argc, char **argv) {
  static struct Call calls[PROGRAMS], moved[PLACES];
  mxStream stream = NULL;
  if (argc < 4 || argc > 4 + MOST) {
    fprintf(stderr, "usage: host_time PROGRAM DEVICE COUNT SHAPE...\n");
    return 2;
  }
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  check(mxSetDevice(argv[2]));
  long count = atol(argv[3]);
  for (int i = 4; i < argc; ++i)
    readShape(argv[i], shapes[i - 4]);
  check(mxStreamCreate(&stream));
  for (int i = 0; i < PROGRAMS; ++i)
    calls[i] = makeCall(load(argv[1]), argc - 4, 0);
  measure("equal", calls, 1, count, stream);
  struct Call turns[] = {calls[0], makeCall(calls[0].entry, argc - 4, 0)};
  measure("turns", turns, 2, count, stream);
  measure("entries", calls, PROGRAMS, count, stream);
  moved[0] = makeCall(calls[0].entry, argc - 4, (size_t)PLACES * STEP);
  for (int place = 1; place < PLACES; ++place) {
    moved[place] = moved[place - 1];
    for (int32_t i = 0; i < moved->argumentCount; ++i)
      moved[place].arguments[i].data =
          (char *)moved[place].arguments[i].data + STEP;
    for (int32_t i = 0; i < moved->resultCount; ++i)
      moved[place].results[i] = (char *)moved[place].results[i] + STEP;
  }
  measure("new", moved, PLACES, count, stream);
  return 0;
}
