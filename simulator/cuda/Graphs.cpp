//===- Graphs.cpp - CUDA graphs -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An instance is a copy of its graph. A launch performs the operations of the
// nodes, each after its dependencies.
//===----------------------------------------------------------------------===//

#include "Session.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;
using namespace mx::sim::cuda;

Node *Graph::add(Operation operation, std::vector<Node *> after) {
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->operation = std::move(operation);
  node->after = std::move(after);
  enter(node.get());
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

Graph::~Graph() {
  for (std::unique_ptr<Node> &node : nodes)
    Session::get().handles.erase(node.get());
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::map<const Node *, Node *> copies;
  for (const std::unique_ptr<Node> &node : nodes) {
    Node *made = copies[node.get()] = copy->add(node->operation, {});
    made->isEnabled = node->isEnabled;
    made->origin = node.get();
    if (node->operation.graph)
      made->operation.graph = node->operation.graph->clone();
  }
  for (const std::unique_ptr<Node> &node : nodes)
    for (Node *before : node->after)
      copies[node.get()]->after.push_back(copies[before]);
  return copy;
}

std::vector<Node *> Graph::order() const {
  std::vector<Node *> found;
  std::set<const Node *> done;
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (const std::unique_ptr<Node> &node : nodes)
      if (!done.count(node.get()) &&
          std::all_of(node->after.begin(), node->after.end(), [&](Node *before) { return done.count(before); })) {
        done.insert(node.get());
        found.push_back(node.get());
        isChanged = true;
      }
  }
  return found;
}

Status mx::sim::cuda::runGraph(const Graph &graph, Stream *stream) {
  for (Node *node : graph.order())
    if (node->isEnabled)
      if (Status status = perform(node->operation, stream))
        return status;
  return CUDA_SUCCESS;
}

static Graph *in(CUgraph graph) { return reinterpret_cast<Graph *>(graph); }
static Node *in(CUgraphNode node) { return reinterpret_cast<Node *>(node); }

namespace {
/// An instance.
struct Instance {
  std::shared_ptr<Graph> graph;
};
} // namespace
static Instance *in(CUgraphExec instance) { return reinterpret_cast<Instance *>(instance); }

static Status add(CUgraphNode *result, CUgraph graph, const CUgraphNode *after, size_t count, Operation operation) {
  if (!isLive(in(graph)))
    return CUDA_ERROR_INVALID_HANDLE;
  std::vector<Node *> dependencies;
  for (size_t i = 0; i < count; ++i) {
    if (!isLive(in(after[i])) || in(after[i])->graph != in(graph))
      return invalid("expected dependencies in the same graph, found another "
                     "node as dependency " +
                     std::to_string(i));
    dependencies.push_back(in(after[i]));
  }
  *result = reinterpret_cast<CUgraphNode>(in(graph)->add(std::move(operation), std::move(dependencies)));
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Operations of nodes
//===----------------------------------------------------------------------===//

static Status kernelOf(const cudaKernelNodeParams &p, Operation &work) {
  work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
  work.grid = {p.gridDim.x, p.gridDim.y, p.gridDim.z};
  work.block = {p.blockDim.x, p.blockDim.y, p.blockDim.z};
  work.dynamicShared = p.sharedMemBytes;
  if (Status status = functionOf(p.func, work.function))
    return status;
  return pack(*work.function, p.kernelParams, p.extra, work.parameters);
}
static Status kernelOf(const CUDA_KERNEL_NODE_PARAMS &p, Operation &work) {
  return kernelOf(cudaKernelNodeParams{p.func ? (void *)p.func : (void *)p.kern, {p.gridDimX, p.gridDimY, p.gridDimZ},
                      {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes, p.kernelParams, p.extra},
      work);
}
static Operation fillOf(uint64_t to, size_t pitch, unsigned value, unsigned valueBytes, size_t width, size_t height) {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMSET;
  work.to = {to, pitch};
  work.value = value;
  work.valueBytes = valueBytes;
  work.width = width * valueBytes;
  work.rows = height;
  return work;
}
static Operation fillOf(const cudaMemsetParams &p) {
  return fillOf(uint64_t(p.dst), p.pitch, p.value, p.elementSize, p.width, p.height);
}
static Operation hostOf(void (*call)(void *), void *data) {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_HOST;
  work.call = call;
  work.data = data;
  return work;
}
static Operation eventOf(CUgraphNodeType kind, CUevent event) {
  Operation work;
  work.kind = kind;
  work.event = reinterpret_cast<Event *>(event);
  return work;
}
static Status childOf(CUgraph graph, Operation &work) {
  if (!isLive(in(graph)))
    return CUDA_ERROR_INVALID_VALUE;
  work.kind = CU_GRAPH_NODE_TYPE_GRAPH;
  work.graph = in(graph)->clone();
  return CUDA_SUCCESS;
}
static Operation copyOf(void *to, const void *from, size_t bytes) {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  work.to.address = uint64_t(to);
  work.from.address = uint64_t(from);
  work.width = bytes;
  return work;
}
/// Allocates memory that exists as long as the process uses it: all launches of
/// the graph have the same address.
static Status allocationOf(size_t bytes, uint64_t &address, Operation &work) {
  work.kind = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  Status status = allocate(bytes, Block::Device, 0, address);
  if (!status)
    Session::get().blocks[address].isOfGraph = true;
  return status;
}

/// Replaces the operation of a node in a graph or an instance.
static Status replace(Node *node, Operation work) {
  if (!isLive(node))
    return CUDA_ERROR_INVALID_VALUE;
  if (node->operation.kind != work.kind)
    return invalid("expected parameters of the kind of the node");
  work.cluster = node->operation.cluster;
  work.isCooperative = node->operation.isCooperative;
  work.isProgrammatic = node->operation.isProgrammatic;
  node->operation = std::move(work);
  return CUDA_SUCCESS;
}
/// Returns the copy of a graph's node in an instance, or null.
static Node *copyIn(const Graph &graph, const Node *origin) {
  for (const std::unique_ptr<Node> &node : graph.nodes)
    if (node->origin == origin)
      return node.get();
  return nullptr;
}
static Node *copyIn(CUgraphExec instance, CUgraphNode node) {
  return isLive(in(instance)) ? copyIn(*in(instance)->graph, in(node)) : nullptr;
}

/// Describes the operation of the parameters for any kind of node.
static Status operationOf(cudaGraphNodeParams &p, Operation &work) {
  switch (p.type) {
  case cudaGraphNodeTypeKernel:
    return kernelOf(cudaKernelNodeParams{p.kernel.func, p.kernel.gridDim, p.kernel.blockDim, p.kernel.sharedMemBytes,
                        p.kernel.kernelParams, p.kernel.extra},
        work);
  case cudaGraphNodeTypeMemcpy: return copyOf(p.memcpy.copyParams, work);
  case cudaGraphNodeTypeMemset:
    work = fillOf(
        uint64_t(p.memset.dst), p.memset.pitch, p.memset.value, p.memset.elementSize, p.memset.width, p.memset.height);
    return CUDA_SUCCESS;
  case cudaGraphNodeTypeHost: work = hostOf(p.host.fn, p.host.userData); return CUDA_SUCCESS;
  case cudaGraphNodeTypeGraph: return childOf(p.graph.graph, work);
  case cudaGraphNodeTypeEmpty: return CUDA_SUCCESS;
  case cudaGraphNodeTypeEventRecord:
    work = eventOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD, p.eventRecord.event);
    return CUDA_SUCCESS;
  case cudaGraphNodeTypeWaitEvent:
    work = eventOf(CU_GRAPH_NODE_TYPE_WAIT_EVENT, p.eventWait.event);
    return CUDA_SUCCESS;
  case cudaGraphNodeTypeMemAlloc: {
    uint64_t address = 0;
    Status status = allocationOf(p.alloc.bytesize, address, work);
    p.alloc.dptr = reinterpret_cast<void *>(address);
    return status;
  }
  case cudaGraphNodeTypeMemFree: work.kind = CU_GRAPH_NODE_TYPE_MEM_FREE; return CUDA_SUCCESS;
  default: return fail(CUDA_ERROR_NOT_SUPPORTED, "nodes of type " + std::to_string(int(p.type)) + " are not supported");
  }
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

// Signature of the functions that add a node, without the parameters.
#define MX_ADD CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count
#define MX_ADDED(operation) return add(node, graph, after, count, operation)

MX_BOTH(cuGraphCreate, cudaGraphCreate, (CUgraph * graph, unsigned), {
  *graph = reinterpret_cast<CUgraph>(make<Graph>());
  return CUDA_SUCCESS;
})
MX_BOTH(cuGraphDestroy, cudaGraphDestroy, (CUgraph graph),
    { return destroy(in(graph)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; })
MX_BOTH(cuGraphClone, cudaGraphClone, (CUgraph * copy, CUgraph graph), {
  if (!isLive(in(graph)))
    return CUDA_ERROR_INVALID_VALUE;
  auto *made = make<Graph>();
  made->nodes = std::move(in(graph)->clone()->nodes);
  for (std::unique_ptr<Node> &node : made->nodes) {
    node->graph = made;
  }
  *copy = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
})
MX_BOTH(cuGraphNodeFindInClone, cudaGraphNodeFindInClone, (CUgraphNode * found, CUgraphNode node, CUgraph copy), {
  *found = isLive(in(copy)) ? reinterpret_cast<CUgraphNode>(copyIn(*in(copy), in(node))) : nullptr;
  return *found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
})

MX_DRIVER(cuGraphAddKernelNode, (MX_ADD, const CUDA_KERNEL_NODE_PARAMS *p), {
  Operation work;
  if (Status status = kernelOf(*p, work))
    return status;
  MX_ADDED(work);
})
MX_RUNTIME(cudaGraphAddKernelNode, (MX_ADD, const cudaKernelNodeParams *p), {
  Operation work;
  if (Status status = kernelOf(*p, work))
    return status;
  MX_ADDED(work);
})
MX_RUNTIME(cudaGraphAddMemcpyNode, (MX_ADD, const cudaMemcpy3DParms *p), {
  Operation work;
  if (Status status = copyOf(*p, work))
    return status;
  MX_ADDED(work);
})
MX_RUNTIME(cudaGraphAddMemcpyNode1D, (MX_ADD, void *to, const void *from, size_t bytes, cudaMemcpyKind),
    { MX_ADDED(copyOf(to, from, bytes)); })
MX_DRIVER(cuGraphAddMemsetNode, (MX_ADD, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext),
    { MX_ADDED(fillOf(p->dst, p->pitch, p->value, p->elementSize, p->width, p->height)); })
MX_RUNTIME(cudaGraphAddMemsetNode, (MX_ADD, const cudaMemsetParams *p), { MX_ADDED(fillOf(*p)); })
MX_DRIVER(cuGraphAddHostNode, (MX_ADD, const CUDA_HOST_NODE_PARAMS *p), { MX_ADDED(hostOf(p->fn, p->userData)); })
MX_RUNTIME(cudaGraphAddHostNode, (MX_ADD, const cudaHostNodeParams *p), { MX_ADDED(hostOf(p->fn, p->userData)); })
MX_BOTH(cuGraphAddEmptyNode, cudaGraphAddEmptyNode, (MX_ADD), { MX_ADDED(Operation()); })
MX_BOTH(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode, (MX_ADD, CUgraph child), {
  Operation work;
  if (Status status = childOf(child, work))
    return status;
  MX_ADDED(work);
})
MX_BOTH(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode, (MX_ADD, CUevent event),
    { MX_ADDED(eventOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event)); })
MX_BOTH(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode, (MX_ADD, CUevent event),
    { MX_ADDED(eventOf(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event)); })
MX_RUNTIME(cudaGraphAddMemAllocNode, (MX_ADD, cudaMemAllocNodeParams *p), {
  uint64_t address = 0;
  Operation work;
  if (Status status = allocationOf(p->bytesize, address, work))
    return status;
  p->dptr = reinterpret_cast<void *>(address);
  MX_ADDED(work);
})
MX_RUNTIME(cudaGraphAddMemFreeNode, (MX_ADD, void *), {
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_MEM_FREE;
  MX_ADDED(work);
})
MX_RUNTIME(cudaGraphAddNode,
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, const cudaGraphEdgeData *, size_t count,
        cudaGraphNodeParams *p),
    {
      Operation work;
      if (Status status = operationOf(*p, work))
        return status;
      MX_ADDED(work);
    })
MX_BOTH(cuGraphDestroyNode, cudaGraphDestroyNode, (CUgraphNode handle), {
  Node *node = in(handle);
  if (!isLive(node))
    return CUDA_ERROR_INVALID_VALUE;
  auto &nodes = node->graph->nodes;
  Session::get().handles.erase(node);
  for (std::unique_ptr<Node> &other : nodes)
    other->after.erase(std::remove(other->after.begin(), other->after.end(), node), other->after.end());
  nodes.erase(std::find_if(nodes.begin(), nodes.end(), [&](auto &one) { return one.get() == node; }));
  return CUDA_SUCCESS;
})

/// Stores handles of nodes, at most `count` if an array is given.
static Status giveNodes(CUgraph graph, bool onlyRoots, CUgraphNode *result, size_t *count) {
  if (!isLive(in(graph)))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<Node *> found;
  for (std::unique_ptr<Node> &node : in(graph)->nodes)
    if (!onlyRoots || node->after.empty())
      found.push_back(node.get());
  if (result)
    memcpy(result, found.data(), std::min(*count, found.size()) * sizeof(Node *));
  *count = found.size();
  return CUDA_SUCCESS;
}
MX_BOTH(cuGraphGetNodes, cudaGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
    { return giveNodes(graph, false, nodes, count); })
MX_BOTH(cuGraphGetRootNodes, cudaGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
    { return giveNodes(graph, true, nodes, count); })
template <typename Type>
static Status typeOf(CUgraphNode node, Type *type) {
  if (!isLive(in(node)))
    return CUDA_ERROR_INVALID_VALUE;
  *type = Type(in(node)->operation.kind);
  return CUDA_SUCCESS;
}
MX_DRIVER(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type), { return typeOf(node, type); })
MX_RUNTIME(cudaGraphNodeGetType, (CUgraphNode node, cudaGraphNodeType *type), { return typeOf(node, type); })
static Status edges(const CUgraphNode *from, const CUgraphNode *to, size_t count, bool isAdded) {
  for (size_t i = 0; i < count; ++i) {
    if (!isLive(in(from[i])) || !isLive(in(to[i])))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<Node *> &after = in(to[i])->after;
    after.erase(std::remove(after.begin(), after.end(), in(from[i])), after.end());
    if (isAdded)
      after.push_back(in(from[i]));
  }
  return CUDA_SUCCESS;
}
MX_RUNTIME(cudaGraphAddDependencies,
    (CUgraph, const CUgraphNode *from, const CUgraphNode *to, const cudaGraphEdgeData *, size_t count),
    { return edges(from, to, count, true); })
MX_RUNTIME(cudaGraphRemoveDependencies,
    (CUgraph, const CUgraphNode *from, const CUgraphNode *to, const cudaGraphEdgeData *, size_t count),
    { return edges(from, to, count, false); })

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

static Status instantiate(CUgraphExec *instance, CUgraph graph, unsigned long long flags) {
  if (!isLive(in(graph)))
    return CUDA_ERROR_INVALID_VALUE;
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    return fail(CUDA_ERROR_NOT_SUPPORTED, "launches from the device are not supported");
  if (in(graph)->order().size() != in(graph)->nodes.size())
    return invalid("expected a graph without cycles, found a cycle");
  *instance = reinterpret_cast<CUgraphExec>(make<Instance>(in(graph)->clone()));
  return CUDA_SUCCESS;
}
MX_DRIVER(cuGraphInstantiateWithFlags, (CUgraphExec * instance, CUgraph graph, unsigned long long flags),
    { return instantiate(instance, graph, flags); })
MX_RUNTIME(cudaGraphInstantiate, (CUgraphExec * instance, CUgraph graph, unsigned long long flags),
    { return instantiate(instance, graph, flags); })
MX_RUNTIME(cudaGraphInstantiateWithFlags, (CUgraphExec * instance, CUgraph graph, unsigned long long flags),
    { return instantiate(instance, graph, flags); })
MX_RUNTIME(cudaGraphInstantiateWithParams, (CUgraphExec * instance, CUgraph graph, cudaGraphInstantiateParams *p), {
  p->result_out = cudaGraphInstantiateSuccess;
  return instantiate(instance, graph, p->flags);
})
MX_BOTH(cuGraphExecDestroy, cudaGraphExecDestroy, (CUgraphExec instance),
    { return destroy(in(instance)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; })
MX_BOTH(cuGraphLaunch, cudaGraphLaunch, (CUgraphExec instance, CUstream stream), {
  if (!isLive(in(instance)))
    return CUDA_ERROR_INVALID_VALUE;
  Operation work;
  work.kind = CU_GRAPH_NODE_TYPE_GRAPH;
  work.graph = in(instance)->graph;
  return submit(stream, std::move(work));
})
MX_BOTH(cuGraphUpload, cudaGraphUpload, (CUgraphExec, CUstream), { return CUDA_SUCCESS; })
/// Returns the positions of the dependencies of each node.
static std::vector<std::vector<size_t>> shapeOf(const Graph &graph) {
  std::map<const Node *, size_t> places;
  for (const std::unique_ptr<Node> &node : graph.nodes)
    places.emplace(node.get(), places.size());
  std::vector<std::vector<size_t>> shape;
  for (const std::unique_ptr<Node> &node : graph.nodes) {
    std::vector<size_t> &after = shape.emplace_back();
    for (const Node *before : node->after)
      after.push_back(places[before]);
    std::sort(after.begin(), after.end());
  }
  return shape;
}

/// Takes the operations of a graph of the same shape. Handles of nodes keep
/// their meaning for the instance.
template <typename Result>
static Status update(CUgraphExec instance, CUgraph graph, Result *result) {
  if (!isLive(in(instance)) || !isLive(in(graph)))
    return CUDA_ERROR_INVALID_VALUE;
  Graph &old = *in(instance)->graph;
  std::shared_ptr<Graph> now = in(graph)->clone();
  bool isEqual = shapeOf(old) == shapeOf(*now);
  for (size_t i = 0; isEqual && i < old.nodes.size(); ++i)
    isEqual = old.nodes[i]->operation.kind == now->nodes[i]->operation.kind;
  memset(result, 0, sizeof *result);
  if (!isEqual) {
    result->result = decltype(result->result)(2); // topology changed
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < old.nodes.size(); ++i)
    old.nodes[i]->operation = std::move(now->nodes[i]->operation);
  return CUDA_SUCCESS;
}
MX_DRIVER(cuGraphExecUpdate, (CUgraphExec instance, CUgraph graph, CUgraphExecUpdateResultInfo *result),
    { return update(instance, graph, result); })
MX_RUNTIME(cudaGraphExecUpdate, (CUgraphExec instance, CUgraph graph, cudaGraphExecUpdateResultInfo *result),
    { return update(instance, graph, result); })

// Parameters of nodes in graphs and instances.
MX_RUNTIME(cudaGraphKernelNodeSetParams, (CUgraphNode node, const cudaKernelNodeParams *p), {
  Operation work;
  if (Status status = kernelOf(*p, work))
    return status;
  return replace(in(node), work);
})
MX_RUNTIME(cudaGraphExecKernelNodeSetParams, (CUgraphExec instance, CUgraphNode node, const cudaKernelNodeParams *p), {
  Operation work;
  if (Status status = kernelOf(*p, work))
    return status;
  return replace(copyIn(instance, node), work);
})
MX_DRIVER(cuGraphExecKernelNodeSetParams, (CUgraphExec instance, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p), {
  Operation work;
  if (Status status = kernelOf(*p, work))
    return status;
  return replace(copyIn(instance, node), work);
})
MX_RUNTIME(cudaGraphExecMemcpyNodeSetParams, (CUgraphExec instance, CUgraphNode node, const cudaMemcpy3DParms *p), {
  Operation work;
  if (Status status = copyOf(*p, work))
    return status;
  return replace(copyIn(instance, node), work);
})
MX_RUNTIME(cudaGraphExecMemcpyNodeSetParams1D,
    (CUgraphExec instance, CUgraphNode node, void *to, const void *from, size_t bytes, cudaMemcpyKind),
    { return replace(copyIn(instance, node), copyOf(to, from, bytes)); })
MX_RUNTIME(cudaGraphExecMemsetNodeSetParams, (CUgraphExec instance, CUgraphNode node, const cudaMemsetParams *p),
    { return replace(copyIn(instance, node), fillOf(*p)); })
MX_RUNTIME(cudaGraphExecHostNodeSetParams, (CUgraphExec instance, CUgraphNode node, const cudaHostNodeParams *p),
    { return replace(copyIn(instance, node), hostOf(p->fn, p->userData)); })
MX_RUNTIME(cudaGraphNodeSetParams, (CUgraphNode node, cudaGraphNodeParams *p), {
  Operation work;
  if (Status status = operationOf(*p, work))
    return status;
  return replace(in(node), work);
})
MX_RUNTIME(cudaGraphExecNodeSetParams, (CUgraphExec instance, CUgraphNode node, cudaGraphNodeParams *p), {
  Operation work;
  if (Status status = operationOf(*p, work))
    return status;
  return replace(copyIn(instance, node), work);
})
MX_BOTH(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled, (CUgraphExec instance, CUgraphNode node, unsigned isEnabled), {
  Node *copy = copyIn(instance, node);
  if (copy)
    copy->isEnabled = isEnabled;
  return copy ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
})
MX_RUNTIME(cudaGraphKernelNodeSetAttribute,
    (CUgraphNode node, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value), {
      cudaLaunchAttribute attribute = {};
      attribute.id = id;
      attribute.val = *value;
      return isLive(in(node)) ? readAttributes(&attribute, 1, in(node)->operation) : CUDA_ERROR_INVALID_VALUE;
    })
MX_RUNTIME(cudaDeviceGraphMemTrim, (int), { return CUDA_SUCCESS; })
MX_RUNTIME(cudaDeviceGetGraphMemAttribute, (int, cudaGraphMemAttributeType, void *value), {
  uint64_t bytes = 0;
  for (auto &[address, block] : Session::get().blocks)
    bytes += block.kind == Block::Device ? block.bytes : 0;
  *static_cast<uint64_t *>(value) = bytes;
  return CUDA_SUCCESS;
})
