//===- Streams.cpp - Streams, events and capture --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work is complete when its call returns, so streams differ only while they
// capture a graph.
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

static Event &in(CUevent event) { return live<Event>(event, CUDA_ERROR_INVALID_HANDLE); }

Stream &mx::sim::cuda::streamOf(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return defaultOf<Stream>(Session::get().current());
  auto *stream = reinterpret_cast<Stream *>(handle);
  if (!isLive(stream))
    fail(CUDA_ERROR_INVALID_HANDLE, "expected a stream, found another address");
  return *stream;
}

void mx::sim::cuda::submit(CUstream handle, Operation operation) {
  Stream &stream = streamOf(handle);
  if (!stream.capture)
    return perform(operation, stream);
  stream.last = {stream.capture->add(std::move(operation), stream.last)};
}

static void create(CUstream *stream, unsigned flags = 0, int priority = 0) {
  *stream = reinterpret_cast<CUstream>(make<Stream>(Session::get().current(), flags, priority));
}

/// Returns after all work, which refuses a stream under capture.
static void finish(CUstream stream) {
  require(!streamOf(stream).capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  Session::get().settle();
}

Operation mx::sim::cuda::hostOf(void (*call)(void *), void *data) {
  Operation work{CU_GRAPH_NODE_TYPE_HOST};
  work.call = call;
  work.data = data;
  return work;
}

static void record(CUevent handle, CUstream of) {
  Event &event = in(handle);
  Stream &stream = streamOf(of);
  event.graph = stream.capture;
  if (stream.capture)
    event.nodes = stream.last;
  else
    event.microseconds = now();
}

/// Makes later work of the stream follow the event. A stream that waits for an
/// event of a capture joins this capture.
static void waitFor(CUstream handle, CUevent of) {
  Stream &stream = streamOf(handle);
  Event &event = in(of);
  if (!event.graph)
    return;
  if (!stream.capture)
    stream.last.clear();
  stream.capture = event.graph;
  for (Node *node : event.nodes)
    if (std::find(stream.last.begin(), stream.last.end(), node) == stream.last.end())
      stream.last.push_back(node);
}

static void await(CUevent event) {
  in(event);
  Session::get().settle();
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

static void beginCapture(
    CUstream handle, CUgraph into = nullptr, const CUgraphNode *after = nullptr, size_t count = 0) {
  Stream &stream = streamOf(handle);
  if (stream.capture)
    fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is already capturing");
  stream.capture = into ? &live<Graph>(into) : make<Graph>();
  auto *nodes = reinterpret_cast<Node *const *>(after);
  stream.last.assign(nodes, nodes + count);
  stream.beganCapture = true;
}

static void endCapture(CUstream handle, CUgraph *result) {
  Stream &stream = streamOf(handle);
  require(stream.capture, CUDA_ERROR_ILLEGAL_STATE);
  require(stream.beganCapture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  Graph *graph = stream.capture;
  // Streams that joined the capture leave it.
  for (auto &[other, type] : Session::get().handles)
    if (type == typeid(Stream) && static_cast<const Stream *>(other)->capture == graph)
      const_cast<Stream *>(static_cast<const Stream *>(other))->capture = nullptr;
  stream.beganCapture = false;
  *result = reinterpret_cast<CUgraph>(graph);
}

template <typename StatusOfCapture>
static void captureInfo(CUstream handle, StatusOfCapture *status, unsigned long long *id = nullptr,
    CUgraph *graph = nullptr, const CUgraphNode **last = nullptr, size_t *count = nullptr) {
  Stream &stream = streamOf(handle);
  *status = StatusOfCapture(stream.capture ? 1 : 0);
  if (id)
    *id = uint64_t(stream.capture);
  if (graph)
    *graph = reinterpret_cast<CUgraph>(stream.capture);
  if (last)
    *last = reinterpret_cast<const CUgraphNode *>(stream.last.data());
  if (count)
    *count = stream.last.size();
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

MX_RUNTIME(cudaStreamCreate, (cudaStream_t * stream), { create(stream); })
MX_BOTH(cuStreamCreate, cudaStreamCreateWithFlags, (CUstream * stream, unsigned flags), { create(stream, flags); })
MX_BOTH(cuStreamCreateWithPriority, cudaStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
    { create(stream, flags, priority); })
MX_BOTH(cuStreamDestroy, cudaStreamDestroy, (CUstream stream),
    { destroy(live<Stream>(stream, CUDA_ERROR_INVALID_HANDLE)); })
MX_BOTH(cuStreamSynchronize, cudaStreamSynchronize, (CUstream stream), { finish(stream); })
MX_BOTH(cuStreamQuery, cudaStreamQuery, (CUstream stream), { finish(stream); })
MX_BOTH(cuStreamGetPriority, cudaStreamGetPriority, (CUstream stream, int *priority),
    { *priority = streamOf(stream).priority; })
MX_BOTH(cuStreamGetFlags, cudaStreamGetFlags, (CUstream stream, unsigned *flags), { *flags = streamOf(stream).flags; })
MX_BOTH(
    cuStreamGetId, cudaStreamGetId, (CUstream stream, unsigned long long *id), { *id = uint64_t(&streamOf(stream)); })
MX_BOTH(cuStreamGetDevice, cudaStreamGetDevice, (CUstream stream, int *device), { *device = streamOf(stream).device; })
MX_BOTH(cuStreamWaitEvent, cudaStreamWaitEvent, (CUstream stream, CUevent event, unsigned), { waitFor(stream, event); })
MX_DRIVER(cuStreamGetCtx, (CUstream stream, CUcontext *context),
    { *context = reinterpret_cast<CUcontext>(&deviceAt(streamOf(stream).device).primary); })
// Attributes of streams have no effect.
MX_DRIVER(cuStreamSetAttribute, (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value),
    { memcpy(&streamOf(stream).attributes[attribute], value, sizeof *value); })
MX_RUNTIME(cudaStreamSetAttribute,
    (cudaStream_t stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value),
    { streamOf(stream).attributes[attribute] = *value; })
MX_RUNTIME(cudaStreamGetAttribute,
    (cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value),
    { *value = streamOf(stream).attributes[attribute]; })
MX_BOTH(cuLaunchHostFunc, cudaLaunchHostFunc, (CUstream stream, CUhostFn call, void *data),
    { submit(stream, hostOf(call, data)); })
MX_DRIVER(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void *data, unsigned), {
  finish(stream);
  callback(stream, CUDA_SUCCESS, data);
})
MX_RUNTIME(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned), {
  finish(stream);
  callback(stream, cudaSuccess, data);
})

MX_RUNTIME(cudaEventCreate, (cudaEvent_t * event), { *event = reinterpret_cast<CUevent>(make<Event>()); })
MX_BOTH(cuEventCreate, cudaEventCreateWithFlags, (CUevent * event, unsigned),
    { *event = reinterpret_cast<CUevent>(make<Event>()); })
MX_BOTH(cuEventDestroy, cudaEventDestroy, (CUevent event), { destroy(in(event)); })
MX_BOTH(cuEventRecord, cudaEventRecord, (CUevent event, CUstream stream), { record(event, stream); })
MX_BOTH(cuEventRecordWithFlags, cudaEventRecordWithFlags, (CUevent event, CUstream stream, unsigned),
    { record(event, stream); })
MX_BOTH(cuEventSynchronize, cudaEventSynchronize, (CUevent event), { await(event); })
MX_BOTH(cuEventQuery, cudaEventQuery, (CUevent event), { await(event); })
MX_BOTH(cuEventElapsedTime, cudaEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end), {
  double from = in(begin).microseconds, to = in(end).microseconds;
  require(from >= 0 && to >= 0, CUDA_ERROR_INVALID_HANDLE);
  *milliseconds = float((to - from) * 1e-3);
})

MX_DRIVER(cuStreamBeginCapture, (CUstream stream, CUstreamCaptureMode), { beginCapture(stream); })
MX_RUNTIME(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode), { beginCapture(stream); })
MX_DRIVER(cuStreamBeginCaptureToGraph,
    (CUstream stream, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *, size_t count,
        CUstreamCaptureMode),
    { beginCapture(stream, graph, after, count); })
MX_RUNTIME(cudaStreamBeginCaptureToGraph,
    (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count,
        cudaStreamCaptureMode),
    { beginCapture(stream, graph, after, count); })
MX_BOTH(cuStreamEndCapture, cudaStreamEndCapture, (CUstream stream, CUgraph *graph), { endCapture(stream, graph); })
MX_DRIVER(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status), { captureInfo(stream, status); })
MX_RUNTIME(
    cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus *status), { captureInfo(stream, status); })
MX_DRIVER(cuStreamGetCaptureInfo,
    (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **last,
        const CUgraphEdgeData **, size_t *count),
    { captureInfo(stream, status, (unsigned long long *)id, graph, last, count); })
MX_RUNTIME(cudaStreamGetCaptureInfo,
    (cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
        const cudaGraphNode_t **last, const cudaGraphEdgeData **, size_t *count),
    { captureInfo(stream, status, id, graph, last, count); })
MX_RUNTIME(cudaStreamUpdateCaptureDependencies,
    (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *, size_t count, unsigned flags), {
      Stream &of = streamOf(stream);
      require(of.capture, CUDA_ERROR_ILLEGAL_STATE);
      auto *added = reinterpret_cast<Node **>(nodes);
      if (flags == cudaStreamSetCaptureDependencies)
        of.last.clear();
      of.last.insert(of.last.end(), added, added + count);
    })
