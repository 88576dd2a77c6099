/*===- vector_add.c - The shortest use of the runtime from C --------------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Loads PTX, launches a kernel and checks the result.                        *|
|* docs/reference/Runtime.md shows this file; a test runs it.                 *|
\*===----------------------------------------------------------------------===*/

#include "mx_runtime.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                            \
  do {                                                                         \
    if (call) {                                                                \
      fprintf(stderr, "vector_add: %s\n", mxGetLastError());                   \
      return 1;                                                                \
    }                                                                          \
  } while (0)

enum { N = 1000 };

static char *readFile(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  char *image = malloc(1 << 20);
  *bytes = file && image ? fread(image, 1, 1 << 20, file) : 0;
  if (file)
    fclose(file);
  return *bytes ? image : NULL;
}

int main(int argc, char **argv) {
  static float x[N], y[N], z[N];
  size_t bytes = 0;
  char *image = argc > 1 ? readFile(argv[1], &bytes) : NULL;
  if (!image) {
    fprintf(stderr, "usage: vector_add KERNELS.ptx\n");
    return 2;
  }
  for (int i = 0; i < N; ++i) {
    x[i] = (float)i;
    y[i] = 0.5f;
  }

  mxSetErrorPolicy(MX_ERRORS_RETURN);
  mxModule module;
  mxFunction add;
  CHECK(mxModuleLoad(&module, image, bytes, argv[1]));
  CHECK(mxModuleGetFunction(&add, module, "vector_add"));

  void *a, *b, *c;
  CHECK(mxMemAlloc(&a, sizeof x));
  CHECK(mxMemAlloc(&b, sizeof y));
  CHECK(mxMemAlloc(&c, sizeof z));
  CHECK(mxMemcpyToDevice(a, x, sizeof x, NULL));
  CHECK(mxMemcpyToDevice(b, y, sizeof y, NULL));

  uint32_t n = N;
  void *parameters[] = {&a, &b, &c, &n};
  mxLaunchConfig config = {.structSize = sizeof config,
                           .grid = {(N + 127) / 128, 1, 1},
                           .block = {128, 1, 1}};
  CHECK(mxLaunch(add, &config, parameters, 4));
  CHECK(mxMemcpyToHost(z, c, sizeof z, NULL));

  int wrong = 0;
  for (int i = 0; i < N; ++i)
    wrong += z[i] != x[i] + y[i];
  mxDeviceInfo info = {.structSize = sizeof info};
  CHECK(mxGetDeviceInfo(&info));
  printf("%s: %d of %d sums are wrong\n", info.name, wrong, N);

  CHECK(mxMemFree(a));
  CHECK(mxMemFree(b));
  CHECK(mxMemFree(c));
  CHECK(mxModuleUnload(module));
  free(image);
  return wrong != 0;
}
