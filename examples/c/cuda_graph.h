/*===- cuda_graph.h - Capture a function's launches and replay them -------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Loads the CUDA driver dynamically, like the runtime, so the example builds *|
|* without CUDA. A program that links the driver calls the same functions.    *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_EXAMPLES_CUDA_GRAPH_H
#define MX_EXAMPLES_CUDA_GRAPH_H

#include "mx_runtime.h"

#include <dlfcn.h>

typedef struct {
  int (*getContext)(void *stream, void **context);
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*begin)(void *stream, int mode);
  int (*end)(void *stream, void **graph);
  int (*instantiate)(void **runs, void *graph, unsigned long long flags);
  int (*launch)(void *runs, void *stream);
  int (*destroyRuns)(void *runs);
  int (*destroyGraph)(void *graph);
} GraphDriver;

static int loadGraphDriver(GraphDriver *driver) {
  static const char *const names[] = {
      "cuStreamGetCtx",     "cuCtxPushCurrent_v2",
      "cuCtxPopCurrent_v2", "cuStreamBeginCapture_v2",
      "cuStreamEndCapture", "cuGraphInstantiateWithFlags",
      "cuGraphLaunch",      "cuGraphExecDestroy",
      "cuGraphDestroy"};
  void *const places[] = {
      &driver->getContext, &driver->push,        &driver->pop,
      &driver->begin,      &driver->end,         &driver->instantiate,
      &driver->launch,     &driver->destroyRuns, &driver->destroyGraph};
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  for (int i = 0; i < 9; ++i) {
    /* ISO C has no cast from an object to a function pointer. */
    *(void **)places[i] = library ? dlsym(library, names[i]) : 0;
    if (!*(void **)places[i]) {
      mxReportError("expected %s in libcuda.so.1", names[i]);
      return MX_ERROR_DRIVER;
    }
  }
  return MX_SUCCESS;
}

/* Captures the launches of `launch(data)` on the stream, runs them once as a
 * graph and waits. The capture fails if `launch` allocates or waits. */
static int captureAndReplay(int (*launch)(void *), void *data,
                            mxStream stream) {
  enum { CAPTURE_THREAD_LOCAL = 1 };
  GraphDriver cuda;
  void *context = 0, *graph = 0, *runs = 0;
  int status = loadGraphDriver(&cuda);
  if (status)
    return status;
  /* The runtime makes its context current only during its own calls. */
  int failed = cuda.getContext(stream, &context) || cuda.push(context) ||
               cuda.begin(stream, CAPTURE_THREAD_LOCAL);
  if (!failed) {
    status = launch(data);
    failed = cuda.end(stream, &graph);
  }
  if (!failed && !status)
    failed = cuda.instantiate(&runs, graph, 0) || cuda.launch(runs, stream);
  if (!failed && !status)
    status = mxStreamSynchronize(stream);
  if (runs)
    cuda.destroyRuns(runs);
  if (graph)
    cuda.destroyGraph(graph);
  if (context)
    cuda.pop(&context);
  if (failed && !status) {
    mxReportError("capturing the launches in a CUDA graph failed");
    status = MX_ERROR_DRIVER;
  }
  return status;
}

#endif /* MX_EXAMPLES_CUDA_GRAPH_H */
