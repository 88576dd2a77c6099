// RUN: %build_program %s -o %t && mx-sim run --warnings=error %t 2>&1 | FileCheck %s
// Graphs: captured from two streams, built from nodes, updated, cloned and nested.

#include "check.h"
#include <cuda_runtime.h>
#include <vector>

__global__ void add(int *x, int value) { x[threadIdx.x] += value; }
__global__ void scale(int *x, int value) { x[threadIdx.x] *= value; }
__global__ void join(int *x, const int *y) { x[threadIdx.x] -= y[threadIdx.x]; }

static int *x, *y;
static int read(int *from) {
  int value[32];
  OK(cudaMemcpy(value, from, sizeof value, cudaMemcpyDeviceToHost));
  for (int lane : value)
    CHECK(lane == value[0]);
  return value[0];
}

static void captured() {
  cudaStream_t a, b;
  cudaEvent_t fork, joined;
  cudaGraph_t graph;
  cudaGraphExec_t instance;
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreate(&b));
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&joined));
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(x, 0, 128, a));
  OK(cudaEventRecord(fork, a));
  OK(cudaStreamWaitEvent(b, fork, 0));
  add<<<1, 32, 0, a>>>(x, 7);
  OK(cudaMemsetAsync(y, 0, 128, b));
  add<<<1, 32, 0, b>>>(y, 2);
  OK(cudaEventRecord(joined, b));
  OK(cudaStreamWaitEvent(cudaStreamPerThread, joined, 0));
  OK(cudaEventRecord(joined, cudaStreamPerThread));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(b, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  OK(cudaStreamWaitEvent(a, joined, 0));
  join<<<1, 32, 0, a>>>(x, y);
  CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
  OK(cudaStreamEndCapture(a, &graph));
  for (cudaStream_t stream : {a, b, cudaStreamPerThread}) {
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
  }
  size_t count = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 5);
  OK(cudaMemset(x, 0x11, 128)); // nothing ran yet
  CHECK(read(x) == 0x11111111);
  OK(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < 3; ++i)
    OK(cudaGraphLaunch(instance, a));
  CHECK(read(x) == 5 && read(y) == 2);
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphLaunch(instance, a));
  OK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphLaunch(instance, a) == cudaErrorInvalidValue);
}

static cudaKernelNodeParams node(void (*kernel)(int *, int), void **arguments) {
  cudaKernelNodeParams p = {};
  p.func = (void *)kernel;
  p.gridDim = p.blockDim = 1;
  p.blockDim.x = 32;
  p.kernelParams = arguments;
  return p;
}

static void built() {
  cudaGraph_t graph, copy, outer;
  cudaGraphNode_t clear, plus, times, child, found, host;
  cudaGraphExec_t instance;
  int three = 3, four = 4, ten = 10, calls = 0;
  size_t count;
  void *three_[] = {&x, &three}, *four_[] = {&x, &four}, *ten_[] = {&x, &ten};
  cudaMemsetParams zero = {x, 0, 0, 4, 32, 1};
  OK(cudaGraphCreate(&graph, 0));
  // The order of creation is not the order of execution.
  cudaKernelNodeParams add3 = node(add, three_), scale4 = node(scale, four_), add10 = node(add, ten_);
  OK(cudaGraphAddKernelNode(&times, graph, nullptr, 0, &scale4));
  OK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero));
  OK(cudaGraphAddKernelNode(&plus, graph, &clear, 1, &add3));
  cudaGraphEdgeData edge = {};
  OK(cudaGraphAddDependencies(graph, &plus, &times, &edge, 1));
  cudaHostNodeParams call = {[](void *count) { ++*static_cast<int *>(count); }, &calls};
  OK(cudaGraphAddHostNode(&host, graph, &times, 1, &call));
  OK(cudaGraphInstantiate(&instance, graph, 0));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 12 && calls == 1);
  OK(cudaGraphExecKernelNodeSetParams(instance, plus, &add10));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 40);
  OK(cudaGraphNodeSetEnabled(instance, times, 0));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 10);
  OK(cudaGraphClone(&copy, graph));
  OK(cudaGraphNodeFindInClone(&found, plus, copy));
  OK(cudaGraphKernelNodeSetParams(found, &add10));
  cudaGraphExecUpdateResultInfo result;
  OK(cudaGraphExecUpdate(instance, copy, &result));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 10); // an update concerns parameters: the node stays disabled
  OK(cudaGraphNodeSetEnabled(instance, times, 1));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 40);
  OK(cudaGraphExecKernelNodeSetParams(instance, plus, &add3)); // handles keep their meaning
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 12);
  // The same number of dependencies, in another order.
  cudaGraph_t other;
  cudaGraphNode_t first, second, third;
  OK(cudaGraphCreate(&other, 0));
  OK(cudaGraphAddKernelNode(&second, other, nullptr, 0, &scale4));
  OK(cudaGraphAddMemsetNode(&third, other, &second, 1, &zero));
  OK(cudaGraphAddKernelNode(&first, other, nullptr, 0, &add3));
  OK(cudaGraphAddDependencies(other, &first, &second, &edge, 1));
  CHECK(cudaGraphExecUpdate(instance, other, &result) == cudaErrorGraphExecUpdateFailure);
  CHECK(cudaGraphGetNodes(nullptr, nullptr, &count) == cudaErrorInvalidValue);
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(reinterpret_cast<cudaGraphNode_t>(&type), &type) == cudaErrorInvalidValue);
  OK(cudaGraphCreate(&outer, 0));
  OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
  OK(cudaGraphAddKernelNode(&plus, outer, &child, 1, &add10));
  CHECK(cudaGraphExecUpdate(instance, outer, &result) == cudaErrorGraphExecUpdateFailure);
  OK(cudaGraphInstantiate(&instance, outer, 0));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 22);
  // New parameters in the graph itself, which are checked at once.
  cudaMemsetParams one = {x, 0, 1, 4, 32, 1};
  OK(cudaGraphMemsetNodeSetParams(clear, &one));
  OK(cudaGraphInstantiate(&instance, graph, 0));
  OK(cudaGraphLaunch(instance, 0));
  CHECK(read(x) == 16);
  add3.blockDim.x = 2000;
  CHECK(cudaGraphKernelNodeSetParams(times, &add3) == cudaErrorInvalidConfiguration);
  // A cycle.
  OK(cudaGraphAddDependencies(graph, &times, &clear, &edge, 1));
  CHECK(cudaGraphInstantiate(&instance, graph, 0) == cudaErrorInvalidValue);
}

static void memory() {
  cudaGraph_t graph;
  cudaGraphNode_t allocate, plus, clear, copy, release;
  cudaGraphExec_t instance;
  cudaMemAllocNodeParams p = {};
  p.bytesize = 128;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &p));
  int six = 6, result[32];
  void *arguments[] = {&p.dptr, &six};
  cudaMemsetParams zero = {p.dptr, 0, 0, 1, 128, 1};
  OK(cudaGraphAddMemsetNode(&clear, graph, &allocate, 1, &zero));
  cudaKernelNodeParams kernel = node(add, arguments);
  OK(cudaGraphAddKernelNode(&plus, graph, &clear, 1, &kernel));
  OK(cudaGraphAddMemcpyNode1D(&copy, graph, &plus, 1, result, p.dptr, 128, cudaMemcpyDeviceToHost));
  OK(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, p.dptr));
  OK(cudaGraphInstantiate(&instance, graph, 0));
  for (int i = 0; i < 2; ++i) {
    result[31] = 0;
    OK(cudaGraphLaunch(instance, 0));
    CHECK(result[31] == 6);
  }
}

int main() {
  OK(cudaMalloc(&x, 128));
  OK(cudaMalloc(&y, 128));
  captured();
  built();
  memory();
  puts("all right");
}
// CHECK-DAG: all right
// CHECK-DAG: launches, clean
