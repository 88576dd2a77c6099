/*===- grouped_linear.c - Forward and backward, on streams and in graphs --===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Calls the entries of examples/grouped_linear.mlir, which mx-compile made a *|
|* directory of, from two threads at once: one program, one set of weights,   *|
|* and for each thread a stream, a batch and a routing that the device alone  *|
|* knows. A step (forward, then backward) launches and does nothing else, so  *|
|* that on a GPU it is captured in a CUDA graph and replayed. docs/Launch.md  *|
|* shows the core; a test runs it on the simulator.                           *|
\*===----------------------------------------------------------------------===*/

#include "grouped_linear.h"
#include "cuda_graph.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the file says. */
enum { GROUPS = 8, IN = 256, OUT = 384 };

/* In functions that return a status. */
#define CHECK(call)                                                            \
  do {                                                                         \
    int status_ = (call);                                                      \
    if (status_)                                                               \
      return status_;                                                          \
  } while (0)

/*===----------------------------------------------------------------------===*
 * Arrays
 *===----------------------------------------------------------------------===*/

typedef struct {
  void *device;
  size_t bytes;
} Array;

static int allocate(Array *array, size_t bytes) {
  array->bytes = bytes;
  return mxMemAlloc(&array->device, bytes);
}

static size_t elements(const int64_t *shape, int rank) {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i)
    count *= shape[i];
  return (size_t)count;
}

/* Copies DIRECTORY/NAME to the array, or the array to it. */
static int transfer(Array *array, const char *directory, const char *name,
                    int write) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  void *host = malloc(array->bytes + 1);
  FILE *file = fopen(path, write ? "wb" : "rb");
  int status = MX_SUCCESS;
  size_t done = 0;
  if (host && file) {
    if (write)
      status = mxMemcpyToHost(host, array->device, array->bytes, NULL);
    done = write ? fwrite(host, 1, array->bytes, file)
                 : fread(host, 1, array->bytes, file);
    if (!write && done == array->bytes)
      status = mxMemcpyToDevice(array->device, host, array->bytes, NULL);
  }
  if (file && fclose(file))
    done = 0;
  free(host);
  if (!status && done != array->bytes) {
    mxReportError("%s: expected %zu bytes, found %zu", path, array->bytes,
                  done);
    return MX_ERROR_INVALID_VALUE;
  }
  return status;
}

/*===----------------------------------------------------------------------===*
 * Weights, which all threads share
 *===----------------------------------------------------------------------===*/

typedef struct {
  Array bf16, e, s, te, ts;
} Weights;

/* Quantizes one expert after the other into arrays of all experts. */
static int quantizeWeights(mxProgram program, Weights *w,
                           const char *directory) {
  int64_t s[5], ts[5];
  CHECK(grouped_linear_quantize_weights_result1_shape(program, s));
  CHECK(grouped_linear_quantize_weights_result3_shape(program, ts));
  size_t sBytes = elements(s, 5), tsBytes = elements(ts, 5), size = OUT * IN;
  CHECK(allocate(&w->bf16, GROUPS * size * sizeof(uint16_t)));
  CHECK(allocate(&w->e, GROUPS * size));
  CHECK(allocate(&w->te, GROUPS * size));
  CHECK(allocate(&w->s, GROUPS * sBytes));
  CHECK(allocate(&w->ts, GROUPS * tsBytes));
  CHECK(transfer(&w->bf16, directory, "w.bin", 0));

  Array workspace;
  CHECK(grouped_linear_quantize_weights_workspace_bytes(program,
                                                        &workspace.bytes));
  CHECK(allocate(&workspace, workspace.bytes));
  for (size_t g = 0; g < GROUPS; ++g)
    CHECK(grouped_linear_quantize_weights(
        program, (uint16_t *)w->bf16.device + g * size,
        (uint8_t *)w->e.device + g * size, (uint8_t *)w->s.device + g * sBytes,
        (uint8_t *)w->te.device + g * size,
        (uint8_t *)w->ts.device + g * tsBytes, workspace.device,
        workspace.bytes, NULL));
  CHECK(mxSynchronize());
  return mxMemFree(workspace.device);
}

static int freeWeights(Weights *w) {
  Array arrays[] = {w->bf16, w->e, w->s, w->te, w->ts};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
    CHECK(mxMemFree(arrays[i].device));
  return MX_SUCCESS;
}

/*===----------------------------------------------------------------------===*
 * One batch
 *===----------------------------------------------------------------------===*/

typedef struct {
  mxProgram program;
  const Weights *w;
  int64_t x_shape[2], dy_shape[2], xt_shape[2], xts_shape[5];
  Array x, dy, ends, y, xt, xts, dx, dw, workspace;
  mxStream stream;
} Batch;

/* All that a step needs: sizes follow from the number of rows, on the host. */
static int makeBatch(Batch *b, int64_t rows) {
  mxProgram p = b->program;
  b->x_shape[0] = b->dy_shape[0] = rows;
  b->x_shape[1] = IN;
  b->dy_shape[1] = OUT;
  CHECK(grouped_linear_forward_result1_shape(p, b->x_shape, b->xt_shape));
  CHECK(grouped_linear_forward_result2_shape(p, b->x_shape, b->xts_shape));
  CHECK(allocate(&b->x, elements(b->x_shape, 2) * sizeof(uint16_t)));
  CHECK(allocate(&b->dy, elements(b->dy_shape, 2) * sizeof(uint16_t)));
  CHECK(allocate(&b->ends, GROUPS * sizeof(int32_t)));
  CHECK(allocate(&b->y, b->dy.bytes));
  CHECK(allocate(&b->dx, b->x.bytes));
  CHECK(allocate(&b->xt, elements(b->xt_shape, 2)));
  CHECK(allocate(&b->xts, elements(b->xts_shape, 5)));
  CHECK(allocate(&b->dw, GROUPS * OUT * IN * sizeof(float)));

  /* One workspace for both: they are in the order of one stream. */
  size_t forward, backward;
  CHECK(grouped_linear_forward_workspace_bytes(p, b->x_shape, &forward));
  CHECK(grouped_linear_backward_workspace_bytes(p, b->dy_shape, b->xt_shape,
                                                b->xts_shape, &backward));
  CHECK(allocate(&b->workspace, forward > backward ? forward : backward));
  return mxStreamCreate(&b->stream);
}

static int freeBatch(Batch *b) {
  Array arrays[] = {b->x,   b->dy, b->ends, b->y,        b->xt,
                    b->xts, b->dx, b->dw,   b->workspace};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i)
    CHECK(mxMemFree(arrays[i].device));
  return mxStreamDestroy(b->stream);
}

/* Launches, and nothing else. */
static int step(void *data) {
  Batch *b = data;
  CHECK(grouped_linear_forward(
      b->program, b->x.device, b->x_shape, b->w->e.device, b->w->s.device,
      b->ends.device, b->y.device, b->xt.device, b->xts.device,
      b->workspace.device, b->workspace.bytes, b->stream));
  return grouped_linear_backward(
      b->program, b->dy.device, b->dy_shape, b->xt.device, b->xt_shape,
      b->xts.device, b->xts_shape, b->w->te.device, b->w->ts.device,
      b->ends.device, b->dx.device, b->dw.device, b->workspace.device,
      b->workspace.bytes, b->stream);
}

/* Reads x, dy and ends, runs a step, writes y, dx and dw. */
static int runBatch(Batch *b, int64_t rows, const char *directory) {
  CHECK(makeBatch(b, rows));
  CHECK(transfer(&b->x, directory, "x.bin", 0));
  CHECK(transfer(&b->dy, directory, "dy.bin", 0));
  CHECK(transfer(&b->ends, directory, "ends.bin", 0));
  CHECK(step(b));
  CHECK(mxStreamSynchronize(b->stream));

  mxDeviceInfo info;
  CHECK(mxGetDeviceInfo(&info));
  if (strcmp(info.kind, "cuda") == 0) /* the results must come out again */
    CHECK(mxMemset(b->y.device, 0xFF, b->y.bytes, NULL) ||
          mxMemset(b->dw.device, 0xFF, b->dw.bytes, NULL) ||
          captureAndReplay(step, b, b->stream));

  CHECK(transfer(&b->y, directory, "y.bin", 1));
  CHECK(transfer(&b->dx, directory, "dx.bin", 1));
  CHECK(transfer(&b->dw, directory, "dw.bin", 1));
  return freeBatch(b);
}

/*===----------------------------------------------------------------------===*
 * Threads
 *===----------------------------------------------------------------------===*/

typedef struct {
  Batch batch;
  int64_t rows;
  const char *directory;
  int failed;
} Job;

static void *runJob(void *data) {
  Job *job = data;
  int status = runBatch(&job->batch, job->rows, job->directory);
  job->failed = status != MX_SUCCESS;
  if (status) /* the text of this thread's error, whatever others do */
    fprintf(stderr, "%s: %s: %s\n", job->directory, mxStatusName(status),
            mxGetThreadError());
  return NULL;
}

/* Each batch is ROWS and a directory: x.bin, dy.bin, ends.bin, and what is
 * written. */
int main(int argc, char **argv) {
  enum { MOST = 16 };
  int count = (argc - 3) / 2;
  if (argc < 5 || argc % 2 == 0 || count > MOST) {
    fprintf(stderr, "usage: grouped_linear PROGRAM WEIGHTS (ROWS BATCH)...\n");
    return 2;
  }
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxProgram program;
  Weights weights;
  if (mxProgramLoad(&program, argv[1]) ||
      quantizeWeights(program, &weights, argv[2])) {
    fprintf(stderr, "grouped_linear: %s\n", mxGetThreadError());
    return 1;
  }

  Job jobs[MOST] = {0};
  pthread_t threads[MOST];
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    jobs[i].batch.program = program;
    jobs[i].batch.w = &weights;
    jobs[i].rows = atoll(argv[3 + 2 * i]);
    jobs[i].directory = argv[4 + 2 * i];
    if (pthread_create(&threads[i], NULL, runJob, &jobs[i]))
      return 1;
  }
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    failures += jobs[i].failed;
  }
  printf("%d of %d batches\n", count - failures, count);

  if (freeWeights(&weights) || mxProgramUnload(program))
    failures = 1;
  return failures != 0;
}
