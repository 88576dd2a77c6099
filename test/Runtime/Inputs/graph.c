/* A launch from C is captured in a CUDA graph, and replayed: on each device
 * that is named, all of them at once, by a thread each and one program. On the
 * simulator the thread launches instead. usage: graph PROGRAM [DEVICE...] (what
 * test/Launch/Inputs/make_program.py writes) */

#include "cuda_graph.h"
#include "mx_program.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 300, ROUNDS = 50, MOST = 16 };

typedef struct {
  mxEntry entry;
  mxArgument arguments[3];
  void *result;
  mxStream stream;
} Call;

typedef struct {
  mxProgram program;
  const char *device;
  int wrong;
} Job;

static int launch(void *data) {
  Call *call = data;
  return mxEntryLaunch(call->entry, call->arguments, 3, &call->result, 1, NULL,
                       0, call->stream);
}

#define CHECK(call)                                                            \
  do {                                                                         \
    int status_ = (call);                                                      \
    if (status_)                                                               \
      return status_;                                                          \
  } while (0)

/* Sums of other values each time, in the same memory. */
static int addInRounds(Job *job) {
  static const int64_t shape[] = {COUNT};
  int32_t count = COUNT;
  float x[COUNT], z[COUNT];
  mxDeviceInfo info = {.structSize = sizeof info};
  Call call = {.arguments = {{sizeof(mxArgument), NULL, shape},
                             {sizeof(mxArgument), NULL, shape},
                             {sizeof(mxArgument), &count, NULL}}};
  CHECK(mxSetDevice(job->device));
  CHECK(mxGetDeviceInfo(&info));
  CHECK(mxProgramGetEntry(&call.entry, job->program, "sum"));
  CHECK(mxStreamCreate(&call.stream));
  for (int i = 0; i < 2; ++i)
    CHECK(mxMemAlloc(&call.arguments[i].data, sizeof x));
  CHECK(mxMemAlloc(&call.result, sizeof z));
  /* The first launch on a device loads the program there, which no capture may.
   */
  CHECK(launch(&call));
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < COUNT; ++i)
      x[i] = (float)(i + round);
    for (int i = 0; i < 2; ++i)
      CHECK(mxMemcpyToDevice(call.arguments[i].data, x, sizeof x, NULL));
    CHECK(mxMemset(call.result, 0xFF, sizeof z, NULL));
    if (strcmp(info.kind, "cuda") == 0)
      CHECK(captureAndReplay(launch, &call, call.stream));
    else
      CHECK(launch(&call));
    CHECK(mxMemcpyToHost(z, call.result, sizeof z, NULL));
    for (int i = 0; i < COUNT; ++i)
      job->wrong += z[i] != 2 * x[i];
  }
  for (int i = 0; i < 2; ++i)
    CHECK(mxMemFree(call.arguments[i].data));
  CHECK(mxMemFree(call.result));
  return mxStreamDestroy(call.stream);
}

static void *runJob(void *data) {
  Job *job = data;
  if (addInRounds(job)) {
    fprintf(stderr, "graph: %s: %s\n", job->device, mxGetThreadError());
    job->wrong = ROUNDS * COUNT;
  }
  return NULL;
}

int main(int argc, char **argv) {
  static const char *one[] = {"cuda"};
  const char *const *devices =
      argc > 2 ? (const char *const *)argv + 2 : (const char *const *)one;
  int jobCount = argc > 2 ? argc - 2 : 1, wrong = 0;
  if (argc < 2 || jobCount > MOST)
    return 2;
  Job jobs[MOST];
  pthread_t threads[MOST];
  mxProgram program;
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  if (mxSetDevice(devices[0]) || mxProgramLoad(&program, argv[1])) {
    fprintf(stderr, "graph: %s\n", mxGetThreadError());
    return 1;
  }
  for (int i = 0; i < jobCount; ++i) {
    Job job = {program, devices[i], 0};
    jobs[i] = job;
    if (pthread_create(&threads[i], NULL, runJob, &jobs[i]))
      return 1;
  }
  for (int i = 0; i < jobCount; ++i) {
    pthread_join(threads[i], NULL);
    wrong += jobs[i].wrong;
  }
  printf("%d of %d sums are wrong\n", wrong, jobCount * ROUNDS * COUNT);
  return wrong != 0 || mxProgramUnload(program) != MX_SUCCESS;
}
