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

Stream *mx::sim::cuda::streamOf(CUstream handle) {
  static std::map<int, Stream> defaults;
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    int device = Session::get().current();
    Stream &stream = defaults[device];
    stream.device = device;
    return &stream;
  }
  auto *stream = reinterpret_cast<Stream *>(handle);
  return isLive(stream) ? stream : nullptr;
}

Status mx::sim::cuda::submit(CUstream handle, Operation operation) {
  Stream *stream = streamOf(handle);
  if (!stream)
    return fail(CUDA_ERROR_INVALID_HANDLE, "expected a stream, found another address");
  if (!stream->capture)
    return perform(operation, stream);
  stream->last = {stream->capture->add(std::move(operation), stream->last)};
  return CUDA_SUCCESS;
}

static Status create(CUstream *handle, unsigned flags, int priority) {
  auto *stream = make<Stream>();
  stream->device = Session::get().current();
  stream->flags = flags;
  stream->priority = priority;
  *handle = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}

/// Returns CUDA_SUCCESS after all work, which refuses a stream under capture.
static Status finish(CUstream handle) {
  Stream *stream = streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  Session::get().settle();
  return CUDA_SUCCESS;
}

static Status callHost(CUstream stream, void (*call)(void *), void *data) {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_HOST;
  work.call = call;
  work.data = data;
  return submit(stream, std::move(work));
}

template <typename Stream_, typename Callback>
static Status callBack(Stream_ stream, Callback callback, void *data) {
  if (Status status = finish(stream))
    return status;
  using Code = std::conditional_t<std::is_same_v<Callback, CUstreamCallback>, CUresult, cudaError_t>;
  callback(stream, Code(0), data);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static Event *in(CUevent event) { return reinterpret_cast<Event *>(event); }

static Status createEvent(CUevent *event, unsigned flags) {
  *event = reinterpret_cast<CUevent>(make<Event>(flags));
  return CUDA_SUCCESS;
}

static Status record(CUevent event, CUstream handle) {
  Stream *stream = streamOf(handle);
  if (!isLive(in(event)) || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    in(event)->graph = stream->capture;
    in(event)->nodes = stream->last;
    return CUDA_SUCCESS;
  }
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  work.event = in(event);
  work.event->graph = nullptr;
  return perform(work, stream);
}

/// Makes later work of the stream follow the event. A stream that waits for an
/// event of a capture joins this capture.
static Status waitFor(CUstream handle, CUevent event) {
  Stream *stream = streamOf(handle);
  if (!isLive(in(event)) || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!in(event)->graph)
    return CUDA_SUCCESS;
  if (!stream->capture)
    stream->last.clear();
  stream->capture = in(event)->graph;
  for (Node *node : in(event)->nodes)
    if (std::find(stream->last.begin(), stream->last.end(), node) == stream->last.end())
      stream->last.push_back(node);
  return CUDA_SUCCESS;
}

static Status elapsed(float *milliseconds, CUevent begin, CUevent end) {
  if (!isLive(in(begin)) || !isLive(in(end)))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!in(begin)->isRecorded || !in(end)->isRecorded)
    return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = float((in(end)->microseconds - in(begin)->microseconds) * 1e-3);
  return CUDA_SUCCESS;
}

static Status await(CUevent event) {
  if (!isLive(in(event)))
    return CUDA_ERROR_INVALID_HANDLE;
  Session::get().settle();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

static Status beginCapture(CUstream handle, Graph *into, std::vector<Node *> after) {
  Stream *stream = streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is already capturing");
  stream->capture = into ? into : make<Graph>();
  stream->last = std::move(after);
  stream->beganCapture = true;
  return CUDA_SUCCESS;
}

static Status endCapture(CUstream handle, CUgraph *result) {
  Stream *stream = streamOf(handle);
  if (!stream || !stream->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (!stream->beganCapture)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  Graph *graph = stream->capture;
  // Streams that joined the capture leave it.
  for (auto &[other, type] : Session::get().handles)
    if (type == typeid(Stream) && static_cast<const Stream *>(other)->capture == graph)
      const_cast<Stream *>(static_cast<const Stream *>(other))->capture = nullptr;
  stream->capture = nullptr;
  stream->beganCapture = false;
  *result = reinterpret_cast<CUgraph>(graph);
  return CUDA_SUCCESS;
}

template <typename StatusOfCapture>
static Status captureInfo(CUstream handle, StatusOfCapture *status, unsigned long long *id = nullptr,
    CUgraph *graph = nullptr, const CUgraphNode **last = nullptr, size_t *count = nullptr) {
  Stream *stream = streamOf(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  *status = StatusOfCapture(stream->capture ? 1 : 0);
  if (id)
    *id = uint64_t(stream->capture);
  if (graph)
    *graph = reinterpret_cast<CUgraph>(stream->capture);
  if (last)
    *last = reinterpret_cast<const CUgraphNode *>(stream->last.data());
  if (count)
    *count = stream->last.size();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

MX_DRIVER(cuStreamCreate, (CUstream * stream, unsigned flags), { return create(stream, flags, 0); })
MX_RUNTIME(cudaStreamCreate, (cudaStream_t * stream), { return create(stream, 0, 0); })
MX_RUNTIME(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), { return create(stream, flags, 0); })
MX_BOTH(cuStreamCreateWithPriority, cudaStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),
    { return create(stream, flags, priority); })
MX_BOTH(cuStreamDestroy, cudaStreamDestroy, (CUstream stream),
    { return destroy(reinterpret_cast<Stream *>(stream)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; })
MX_BOTH(cuStreamSynchronize, cudaStreamSynchronize, (CUstream stream), { return finish(stream); })
MX_BOTH(cuStreamQuery, cudaStreamQuery, (CUstream stream), { return finish(stream); })
MX_BOTH(cuStreamGetPriority, cudaStreamGetPriority, (CUstream stream, int *priority), {
  Stream *of = streamOf(stream);
  *priority = of ? of->priority : 0;
  return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
})
MX_BOTH(cuStreamGetFlags, cudaStreamGetFlags, (CUstream stream, unsigned *flags), {
  Stream *of = streamOf(stream);
  *flags = of ? of->flags : 0;
  return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
})
MX_BOTH(cuStreamGetId, cudaStreamGetId, (CUstream stream, unsigned long long *id), {
  *id = uint64_t(streamOf(stream));
  return CUDA_SUCCESS;
})
MX_BOTH(cuStreamGetDevice, cudaStreamGetDevice, (CUstream stream, int *device), {
  Stream *of = streamOf(stream);
  *device = of ? of->device : 0;
  return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
})
MX_BOTH(cuStreamWaitEvent, cudaStreamWaitEvent, (CUstream stream, CUevent event, unsigned),
    { return waitFor(stream, event); })
MX_DRIVER(cuStreamGetCtx, (CUstream stream, CUcontext *context), {
  Session &session = Session::get();
  Stream *of = streamOf(stream);
  if (!of)
    return CUDA_ERROR_INVALID_HANDLE;
  *context = reinterpret_cast<CUcontext>(&session.devices[size_t(of->device)]->primary);
  return CUDA_SUCCESS;
})
// Attributes of streams have no effect.
MX_DRIVER(cuStreamSetAttribute, (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value), {
  Stream *of = streamOf(stream);
  if (of)
    memcpy(&of->attributes[attribute], value, sizeof *value);
  return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
})
MX_RUNTIME(cudaStreamSetAttribute,
    (cudaStream_t stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value), {
      Stream *of = streamOf(stream);
      if (of)
        of->attributes[attribute] = *value;
      return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    })
MX_RUNTIME(
    cudaStreamGetAttribute, (cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value), {
      Stream *of = streamOf(stream);
      if (of)
        *value = of->attributes[attribute];
      return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    })
MX_BOTH(cuLaunchHostFunc, cudaLaunchHostFunc, (CUstream stream, CUhostFn call, void *data),
    { return callHost(stream, call, data); })
MX_DRIVER(cuStreamAddCallback, (CUstream stream, CUstreamCallback callback, void *data, unsigned),
    { return callBack(stream, callback, data); })
MX_RUNTIME(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned),
    { return callBack(stream, callback, data); })

MX_DRIVER(cuEventCreate, (CUevent * event, unsigned flags), { return createEvent(event, flags); })
MX_RUNTIME(cudaEventCreate, (cudaEvent_t * event), { return createEvent(event, 0); })
MX_RUNTIME(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), { return createEvent(event, flags); })
MX_BOTH(cuEventDestroy, cudaEventDestroy, (CUevent event),
    { return destroy(in(event)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; })
MX_BOTH(cuEventRecord, cudaEventRecord, (CUevent event, CUstream stream), { return record(event, stream); })
MX_BOTH(cuEventRecordWithFlags, cudaEventRecordWithFlags, (CUevent event, CUstream stream, unsigned),
    { return record(event, stream); })
MX_BOTH(cuEventSynchronize, cudaEventSynchronize, (CUevent event), { return await(event); })
MX_BOTH(cuEventQuery, cudaEventQuery, (CUevent event), { return await(event); })
MX_BOTH(cuEventElapsedTime, cudaEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end),
    { return elapsed(milliseconds, begin, end); })

MX_DRIVER(cuStreamBeginCapture, (CUstream stream, CUstreamCaptureMode), { return beginCapture(stream, nullptr, {}); })
MX_RUNTIME(
    cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode), { return beginCapture(stream, nullptr, {}); })
template <typename Nodes>
static Status beginInto(CUstream stream, CUgraph graph, Nodes after, size_t count) {
  auto *nodes = reinterpret_cast<Node *const *>(after);
  return beginCapture(stream, reinterpret_cast<Graph *>(graph), std::vector<Node *>(nodes, nodes + count));
}
MX_DRIVER(cuStreamBeginCaptureToGraph,
    (CUstream stream, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *, size_t count,
        CUstreamCaptureMode),
    { return beginInto(stream, graph, after, count); })
MX_RUNTIME(cudaStreamBeginCaptureToGraph,
    (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const cudaGraphEdgeData *, size_t count,
        cudaStreamCaptureMode),
    { return beginInto(stream, graph, after, count); })
MX_BOTH(
    cuStreamEndCapture, cudaStreamEndCapture, (CUstream stream, CUgraph *graph), { return endCapture(stream, graph); })
MX_DRIVER(
    cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status), { return captureInfo(stream, status); })
MX_RUNTIME(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus *status),
    { return captureInfo(stream, status); })
MX_DRIVER(cuStreamGetCaptureInfo,
    (CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph, const CUgraphNode **last,
        const CUgraphEdgeData **, size_t *count),
    { return captureInfo(stream, status, (unsigned long long *)id, graph, last, count); })
MX_RUNTIME(cudaStreamGetCaptureInfo,
    (cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
        const cudaGraphNode_t **last, const cudaGraphEdgeData **, size_t *count),
    { return captureInfo(stream, status, id, graph, last, count); })
MX_RUNTIME(cudaStreamUpdateCaptureDependencies,
    (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *, size_t count, unsigned flags), {
      Stream *of = streamOf(stream);
      if (!of || !of->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
      auto *added = reinterpret_cast<Node **>(nodes);
      if (flags == cudaStreamSetCaptureDependencies)
        of->last.clear();
      of->last.insert(of->last.end(), added, added + count);
      return CUDA_SUCCESS;
    })
MX_DRIVER(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode *), { return CUDA_SUCCESS; })
