/*===- cuda_graph.h - Capture a function's launches and replay them -------===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Over the CUDA driver, which is loaded here as the runtime does it, so that *|
|* the example builds without CUDA. A program that links it calls the same    *|
|* functions directly.                                                        *|
\*===----------------------------------------------------------------------===*/

#ifndef MX_EXAMPLES_CUDA_GRAPH_H
#define MX_EXAMPLES_CUDA_GRAPH_H

#include "mx_runtime.h"

#include <dlfcn.h>

/* Captures what `launch(data)` launches on the stream, runs it once as a graph
 * and waits. Capturing fails if anything in between allocates or waits. */
static int captureAndReplay(int (*launch)(void *), void *data,
                            mxStream stream) {
  enum { CAPTURE_THREAD_LOCAL = 1 };
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *graph = 0, *runs = 0;
  int (*begin)(void *, int), (*end)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*replay)(void *, void *), (*destroyGraph)(void *), (*destroy)(void *);
  const char *const names[] = {"cuStreamBeginCapture_v2",
                               "cuStreamEndCapture",
                               "cuGraphInstantiateWithFlags",
                               "cuGraphLaunch",
                               "cuGraphDestroy",
                               "cuGraphExecDestroy"};
  void *const places[] = {&begin,  &end,          &instantiate,
                          &replay, &destroyGraph, &destroy};
  for (int i = 0; i < 6; ++i) {
    /* ISO C has no cast from an object to a function. */
    *(void **)places[i] = driver ? dlsym(driver, names[i]) : 0;
    if (!*(void **)places[i]) {
      mxReportError("expected %s in libcuda.so.1", names[i]);
      return MX_ERROR_DRIVER;
    }
  }
  int failed = begin(stream, CAPTURE_THREAD_LOCAL);
  int status = failed ? MX_SUCCESS : launch(data);
  failed = failed || end(stream, &graph);
  if (status)
    return status;
  failed = failed || instantiate(&runs, graph, 0) || replay(runs, stream);
  if (failed) {
    mxReportError("capturing the launches in a CUDA graph failed");
    return MX_ERROR_DRIVER;
  }
  status = mxStreamSynchronize(stream);
  destroy(runs);
  destroyGraph(graph);
  return status;
}

#endif /* MX_EXAMPLES_CUDA_GRAPH_H */
