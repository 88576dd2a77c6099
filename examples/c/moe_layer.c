/*===- moe_layer.c - Forward and backward, on streams and in graphs -------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Calls the entries of examples/moe_layer.mlir, which mx-compile made a      *|
|* directory of, from several threads at once: one program, one set of        *|
|* weights, and for each thread a stream, a batch and a routing that the      *|
|* device alone knows. A step (forward, then backward) launches and does      *|
|* nothing else, so that on a GPU it is captured in a CUDA graph and          *|
|* replayed. A test runs it on the simulator.                                 *|
\*===----------------------------------------------------------------------===*/

#include "cuda_graph.h"
#include "mx_program.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As the file has them. */
enum { GROUPS = 8, HIDDEN = 384, INNER = 256 };

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

enum { RANK = 6 }; /* the most that the entries have */

typedef struct {
  void *device;
  int64_t shape[RANK];
  size_t bytes;
} Array;

static int allocate(Array *array, int32_t rank, int32_t itemBytes) {
  array->bytes = (size_t)itemBytes;
  for (int i = 0; i < rank; ++i)
    array->bytes *= (size_t)array->shape[i];
  return mxMemAlloc(&array->device, array->bytes);
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

static int makeInput(Array *array, const char *directory, const char *name,
                     int32_t itemBytes, int32_t rank, const int64_t *shape) {
  memcpy(array->shape, shape, (size_t)rank * sizeof *shape);
  CHECK(allocate(array, rank, itemBytes));
  return transfer(array, directory, name, 0);
}

static int freeArrays(Array *arrays, int count) {
  for (int i = 0; i < count; ++i)
    CHECK(mxMemFree(arrays[i].device));
  return MX_SUCCESS;
}

/*===----------------------------------------------------------------------===*
 * Calls
 *===----------------------------------------------------------------------===*/

enum { MOST = 16 }; /* arguments, and results */

/* An entry with all memory that it needs. The header that mx-compile writes has
 * a typed function for each entry as well. */
typedef struct {
  mxEntry entry;
  mxEntryInfo info;
  mxArgument arguments[MOST];
  Array results[MOST], workspace;
} Call;

static int makeCall(Call *call, mxProgram program, const char *name,
                    Array *const *arguments) {
  CHECK(mxProgramGetEntry(&call->entry, program, name));
  call->info.structSize = sizeof call->info;
  CHECK(mxEntryGetInfo(call->entry, &call->info));
  int32_t count = call->info.argumentCount;
  for (int i = 0; i < count; ++i) {
    mxArgument argument = {sizeof argument, arguments[i]->device,
                           arguments[i]->shape};
    call->arguments[i] = argument;
  }
  for (int i = 0; i < call->info.resultCount; ++i) {
    mxValueInfo value = {.structSize = sizeof value};
    CHECK(mxEntryGetResult(call->entry, i, &value));
    CHECK(mxEntryGetResultShape(call->entry, call->arguments, count, i,
                                call->results[i].shape));
    CHECK(allocate(&call->results[i], value.rank, value.itemBytes));
  }
  size_t bytes;
  CHECK(mxEntryGetWorkspaceBytes(call->entry, call->arguments, count, &bytes));
  call->workspace.shape[0] = (int64_t)bytes;
  return allocate(&call->workspace, 1, 1);
}

/* Launches, and nothing else. */
static int launch(const Call *call, mxStream stream) {
  void *results[MOST];
  for (int i = 0; i < call->info.resultCount; ++i)
    results[i] = call->results[i].device;
  return mxEntryLaunch(call->entry, call->arguments, call->info.argumentCount,
                       results, call->info.resultCount, call->workspace.device,
                       call->workspace.bytes, stream);
}

static int freeCall(Call *call) {
  CHECK(freeArrays(call->results, call->info.resultCount));
  return mxMemFree(call->workspace.device);
}

/*===----------------------------------------------------------------------===*
 * A layer and a batch
 *===----------------------------------------------------------------------===*/

/* What all threads share. The results of the call are elements and scales of W1
 * along H and along 2I, and of W2 along I and along H. */
typedef struct {
  mxProgram program;
  Array weights[2]; /* W1, W2 */
  Call quantize;
} Layer;

static int makeLayer(Layer *layer, const char *program, const char *directory) {
  static const int64_t w1[] = {GROUPS, 2 * INNER, HIDDEN};
  static const int64_t w2[] = {GROUPS, HIDDEN, INNER};
  CHECK(mxProgramLoad(&layer->program, program));
  CHECK(makeInput(&layer->weights[0], directory, "w1.bin", 2, 3, w1));
  CHECK(makeInput(&layer->weights[1], directory, "w2.bin", 2, 3, w2));
  Array *const arguments[] = {&layer->weights[0], &layer->weights[1]};
  CHECK(makeCall(&layer->quantize, layer->program, "quantize_weights",
                 arguments));
  CHECK(launch(&layer->quantize, NULL));
  return mxSynchronize();
}

static int freeLayer(Layer *layer) {
  CHECK(freeCall(&layer->quantize));
  CHECK(freeArrays(layer->weights, 2));
  return mxProgramUnload(layer->program);
}

enum { X, DY, TOKENS, PROBS, ENDS, INPUTS };

typedef struct {
  Array inputs[INPUTS];
  Call forward, backward;
  mxStream stream;
} Batch;

static int makeBatch(Batch *batch, Layer *layer, const char *directory,
                     int64_t tokens, int64_t rows) {
  const int64_t matrix[] = {tokens, HIDDEN}, list[] = {rows}, ends[] = {GROUPS};
  Array *in = batch->inputs;
  CHECK(makeInput(&in[X], directory, "x.bin", 2, 2, matrix));
  CHECK(makeInput(&in[DY], directory, "dy.bin", 2, 2, matrix));
  CHECK(makeInput(&in[TOKENS], directory, "tokens.bin", 4, 1, list));
  CHECK(makeInput(&in[PROBS], directory, "probs.bin", 4, 1, list));
  CHECK(makeInput(&in[ENDS], directory, "ends.bin", 4, 1, ends));
  Array *w = layer->quantize.results, *saved = batch->forward.results + 1;
  Array *const forward[] = {&in[X], &in[TOKENS], &in[PROBS], &in[ENDS],
                            &w[0],  &w[1],       &w[4],      &w[5]};
  CHECK(makeCall(&batch->forward, layer->program, "forward", forward));
  Array *const backward[] = {&in[DY],   &in[TOKENS], &in[PROBS], &in[ENDS],
                             &saved[0], &saved[1],   &saved[2],  &saved[3],
                             &saved[4], &w[2],       &w[3],      &w[6],
                             &w[7]};
  CHECK(makeCall(&batch->backward, layer->program, "backward", backward));
  return mxStreamCreate(&batch->stream);
}

static int freeBatch(Batch *batch) {
  CHECK(freeArrays(batch->inputs, INPUTS));
  CHECK(freeCall(&batch->forward));
  CHECK(freeCall(&batch->backward));
  return mxStreamDestroy(batch->stream);
}

/* Two calls in the order of one stream. */
static int step(void *data) {
  Batch *batch = data;
  CHECK(launch(&batch->forward, batch->stream));
  return launch(&batch->backward, batch->stream);
}

/* On a GPU the same results have to come out of a graph of the step. While one
 * thread captures, nobody may wait for the whole device: all here is on the
 * stream. */
static int repeatInGraph(Batch *batch) {
  mxDeviceInfo info = {.structSize = sizeof info};
  CHECK(mxGetDeviceInfo(&info));
  if (strcmp(info.kind, "cuda") != 0)
    return MX_SUCCESS;
  Call *calls[] = {&batch->forward, &batch->backward};
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < calls[c]->info.resultCount; ++i) {
      Array *result = &calls[c]->results[i];
      CHECK(mxMemset(result->device, 0xFF, result->bytes, batch->stream));
    }
  CHECK(mxStreamSynchronize(batch->stream));
  return captureAndReplay(step, batch, batch->stream);
}

static int runBatch(Layer *layer, const char *directory, int64_t tokens,
                    int64_t rows) {
  static const char *const names[] = {"dx.bin", "dw1.bin", "dw2.bin",
                                      "dprobs.bin"};
  Batch batch;
  CHECK(makeBatch(&batch, layer, directory, tokens, rows));
  CHECK(step(&batch));
  CHECK(mxStreamSynchronize(batch.stream));
  CHECK(repeatInGraph(&batch));
  CHECK(transfer(&batch.forward.results[0], directory, "y.bin", 1));
  for (int i = 0; i < 4; ++i)
    CHECK(transfer(&batch.backward.results[i], directory, names[i], 1));
  return freeBatch(&batch);
}

/*===----------------------------------------------------------------------===*
 * Threads
 *===----------------------------------------------------------------------===*/

typedef struct {
  Layer *layer;
  int64_t tokens, rows;
  const char *directory;
  int failed;
} Job;

static void *runJob(void *data) {
  Job *job = data;
  int status = runBatch(job->layer, job->directory, job->tokens, job->rows);
  job->failed = status != MX_SUCCESS;
  if (status) /* the text of this thread's error, whatever others do */
    fprintf(stderr, "%s: %s: %s\n", job->directory, mxStatusName(status),
            mxGetThreadError());
  return NULL;
}

/* A batch is a directory with x, dy, tokens, probs and ends, in which the
 * results are written. */
int main(int argc, char **argv) {
  int count = argc / 3 - 1;
  if (argc < 6 || argc % 3 != 0 || count > MOST) {
    fprintf(stderr,
            "usage: moe_layer PROGRAM WEIGHTS (TOKENS ROWS BATCH)...\n");
    return 2;
  }
  mxSetErrorPolicy(MX_ERRORS_RETURN);
  Layer layer;
  if (makeLayer(&layer, argv[1], argv[2])) {
    fprintf(stderr, "moe_layer: %s\n", mxGetThreadError());
    return 1;
  }
  Job jobs[MOST];
  pthread_t threads[MOST];
  for (int i = 0; i < count; ++i) {
    char **batch = argv + 3 + 3 * i;
    Job job = {&layer, atoll(batch[0]), atoll(batch[1]), batch[2], 1};
    jobs[i] = job;
    if (pthread_create(&threads[i], NULL, runJob, &jobs[i]))
      return 1;
  }
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    failures += jobs[i].failed;
  }
  printf("%d of %d batches\n", count - failures, count);
  if (freeLayer(&layer))
    fprintf(stderr, "moe_layer: %s\n", mxGetThreadError());
  return failures != 0;
}
