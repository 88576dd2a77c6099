/* A launch from C is captured in a CUDA graph on a GPU, and replayed.
 * usage: graph PROGRAM (what test/Launch/Inputs/make_program.py writes) */

#include "cuda_graph.h"
#include "mx_program.h"

#include <stdio.h>

enum { COUNT = 300 };

typedef struct {
  mxEntry entry;
  mxArgument arguments[3];
  void *result;
  mxStream stream;
} Call;

static int launch(void *data) {
  Call *call = data;
  return mxEntryLaunch(call->entry, call->arguments, 3, &call->result, 1, NULL,
                       0, call->stream);
}

#define CHECK(call)                                                            \
  do {                                                                         \
    if (call) {                                                                \
      fprintf(stderr, "graph: %s\n", mxGetThreadError());                      \
      return 1;                                                                \
    }                                                                          \
  } while (0)

int main(int argc, char **argv) {
  static const int64_t shape[] = {COUNT};
  int32_t count = COUNT;
  float x[COUNT], z[COUNT];
  for (int i = 0; i < COUNT; ++i)
    x[i] = (float)i;
  if (argc != 2)
    return 2;
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  CHECK(mxSetDevice("cuda"));
  mxProgram program;
  Call call = {.arguments = {{sizeof(mxArgument), NULL, shape},
                             {sizeof(mxArgument), NULL, shape},
                             {sizeof(mxArgument), &count, NULL}}};
  CHECK(mxProgramLoad(&program, argv[1]));
  CHECK(mxProgramGetEntry(&call.entry, program, "sum"));
  CHECK(mxStreamCreate(&call.stream));
  for (int i = 0; i < 2; ++i) {
    CHECK(mxMemAlloc(&call.arguments[i].data, sizeof x));
    CHECK(mxMemcpyToDevice(call.arguments[i].data, x, sizeof x, NULL));
  }
  CHECK(mxMemAlloc(&call.result, sizeof z));
  CHECK(mxMemset(call.result, 0xFF, sizeof z, NULL));
  CHECK(captureAndReplay(launch, &call, call.stream));
  CHECK(mxMemcpyToHost(z, call.result, sizeof z, NULL));
  CHECK(mxProgramUnload(program));
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i)
    wrong += z[i] != 2 * x[i];
  printf("%d of %d sums are wrong\n", wrong, COUNT);
  return wrong != 0;
}
