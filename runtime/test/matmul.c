/*===- matmul.c - A compiled program from C -------------------------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Calls the program compiled from examples/matmul.mlir through its generated *|
|* header. docs/guide/Run.md shows this file; a test runs it.                 *|
\*===----------------------------------------------------------------------===*/

#include "matmul.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                            \
  do {                                                                         \
    if (call) {                                                                \
      fprintf(stderr, "matmul: %s\n", mxGetLastError());                       \
      return 1;                                                                \
    }                                                                          \
  } while (0)

/* bf16 matrix on the host and on the device. */
typedef struct {
  int64_t shape[2];
  size_t bytes;
  uint16_t *host;
  void *device;
} Matrix;

static int makeMatrix(Matrix *matrix, int64_t rows, int64_t columns) {
  matrix->shape[0] = rows;
  matrix->shape[1] = columns;
  matrix->bytes = (size_t)(rows * columns) * sizeof(uint16_t);
  matrix->host = malloc(matrix->bytes);
  return mxMemAlloc(&matrix->device, matrix->bytes);
}

/* Reads or writes the whole matrix; returns 0 on success. */
static int transfer(Matrix *matrix, const char *path, const char *mode) {
  FILE *file = matrix->host ? fopen(path, mode) : NULL;
  size_t done = 0;
  if (!file)
    return 1;
  if (mode[0] == 'r')
    done = fread(matrix->host, 1, matrix->bytes, file);
  else
    done = fwrite(matrix->host, 1, matrix->bytes, file);
  return fclose(file) || done != matrix->bytes;
}

int main(int argc, char **argv) {
  if (argc != 8) {
    fprintf(stderr, "usage: matmul DIR X.bin W.bin Y.bin M N K\n");
    return 2;
  }
  int64_t m = atoll(argv[5]), n = atoll(argv[6]), k = atoll(argv[7]);

  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxProgram program;
  CHECK(mxProgramLoad(&program, argv[1]));

  Matrix x, w, y;
  CHECK(makeMatrix(&x, m, k));
  CHECK(makeMatrix(&w, n, k));
  CHECK(makeMatrix(&y, m, n));
  if (transfer(&x, argv[2], "rb") || transfer(&w, argv[3], "rb")) {
    fprintf(stderr, "matmul: cannot read the operands\n");
    return 1;
  }
  CHECK(mxMemcpyToDevice(x.device, x.host, x.bytes, NULL));
  CHECK(mxMemcpyToDevice(w.device, w.host, w.bytes, NULL));

  void *workspace;
  size_t bytes;
  CHECK(matmul_main_workspace_bytes(program, x.shape, w.shape, &bytes));
  CHECK(mxMemAlloc(&workspace, bytes));
  CHECK(matmul_main(program, x.device, x.shape, w.device, w.shape, y.device,
                    workspace, bytes, NULL));
  CHECK(mxSynchronize());

  CHECK(mxMemcpyToHost(y.host, y.device, y.bytes, NULL));
  if (transfer(&y, argv[4], "wb")) {
    fprintf(stderr, "matmul: cannot write the result\n");
    return 1;
  }
  mxSimulatorCounters counters = {.structSize = sizeof counters};
  CHECK(mxGetSimulatorCounters(&counters));
  printf("%d launches on the simulator\n", (int)counters.launches);

  CHECK(mxProgramUnload(program));
  void *memory[] = {x.device, w.device, y.device, workspace};
  for (int i = 0; i < 4; ++i)
    CHECK(mxMemFree(memory[i]));
  free(x.host);
  free(w.host);
  free(y.host);
  return 0;
}
