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

void mx::sim::cuda::runGraph(const Graph &graph, Stream &stream) {
  for (Node *node : graph.order())
    if (node->isEnabled)
      perform(node->operation, stream);
}

namespace {
/// A copy of a graph that can be launched.
struct Instance {
  std::shared_ptr<Graph> graph;
};
} // namespace

static Graph &in(CUgraph graph) { return live<Graph>(graph); }
static Node &in(CUgraphNode node) { return live<Node>(node); }
static Instance &in(CUgraphExec instance) { return live<Instance>(instance); }

static void add(CUgraphNode *result, CUgraph handle, const CUgraphNode *after, size_t count, Operation operation) {
  Graph &graph = live<Graph>(handle, CUDA_ERROR_INVALID_HANDLE);
  std::vector<Node *> dependencies;
  for (size_t i = 0; i < count; ++i) {
    auto *node = reinterpret_cast<Node *>(after[i]);
    if (!isLive(node) || node->graph != &graph)
      invalid("expected dependencies in the same graph, found another node as dependency " + std::to_string(i));
    dependencies.push_back(node);
  }
  *result = reinterpret_cast<CUgraphNode>(graph.add(std::move(operation), std::move(dependencies)));
}

//===----------------------------------------------------------------------===//
// Operations of nodes
//===----------------------------------------------------------------------===//

// Parameters of the runtime interface have several versions with equal names.
template <typename Parameters>
static Operation kernelOf(const Parameters &p) {
  return kernelOf(p.func, of(p.gridDim), of(p.blockDim), p.sharedMemBytes, p.kernelParams, p.extra);
}
static Operation kernelOf(const CUDA_KERNEL_NODE_PARAMS &p) {
  return kernelOf(p.func ? (void *)p.func : (void *)p.kern, {p.gridDimX, p.gridDimY, p.gridDimZ},
      {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes, p.kernelParams, p.extra);
}
template <typename Parameters>
static Operation fillOf(const Parameters &p) {
  return fillOf({p.dst, p.pitch}, p.value, p.elementSize, p.width, p.height);
}
static Operation eventOf(CUgraphNodeType kind, CUevent event) {
  Operation work{kind};
  work.event = &live<Event>(event, CUDA_ERROR_INVALID_HANDLE);
  return work;
}
static Operation childOf(std::shared_ptr<Graph> graph) {
  Operation work{CU_GRAPH_NODE_TYPE_GRAPH};
  work.graph = std::move(graph);
  return work;
}
/// Allocates memory that exists as long as the process uses it: all launches of
/// the graph have the same address.
template <typename Parameters>
static Operation allocationOf(Parameters &p) {
  uint64_t address = allocate(p.bytesize);
  Session::get().blocks[address].isOfGraph = true;
  p.dptr = reinterpret_cast<void *>(address);
  return {CU_GRAPH_NODE_TYPE_MEM_ALLOC};
}

/// Describes the operation of the parameters for any kind of node.
static Operation operationOf(cudaGraphNodeParams &p) {
  switch (p.type) {
  case cudaGraphNodeTypeKernel: return kernelOf(p.kernel);
  case cudaGraphNodeTypeMemcpy: return copyOf(p.memcpy.copyParams);
  case cudaGraphNodeTypeMemset: return fillOf(p.memset);
  case cudaGraphNodeTypeHost: return hostOf(p.host.fn, p.host.userData);
  case cudaGraphNodeTypeGraph: return childOf(in(p.graph.graph).clone());
  case cudaGraphNodeTypeEmpty: return {};
  case cudaGraphNodeTypeEventRecord: return eventOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD, p.eventRecord.event);
  case cudaGraphNodeTypeWaitEvent: return eventOf(CU_GRAPH_NODE_TYPE_WAIT_EVENT, p.eventWait.event);
  case cudaGraphNodeTypeMemAlloc: return allocationOf(p.alloc);
  case cudaGraphNodeTypeMemFree: return {CU_GRAPH_NODE_TYPE_MEM_FREE};
  default: fail(CUDA_ERROR_NOT_SUPPORTED, "nodes of type " + std::to_string(int(p.type)) + " are not supported");
  }
}

/// Replaces the operation of a node in a graph or an instance.
static void replace(Node &node, Operation work) {
  if (node.operation.kind != work.kind)
    invalid("expected parameters of the kind of the node");
  work.cluster = node.operation.cluster;
  work.isCooperative = node.operation.isCooperative;
  work.isProgrammatic = node.operation.isProgrammatic;
  node.operation = std::move(work);
}
/// Returns the copy of a graph's node.
static Node &copyIn(const Graph &graph, CUgraphNode origin) {
  for (const std::unique_ptr<Node> &node : graph.nodes)
    if (node->origin == reinterpret_cast<Node *>(origin))
      return *node;
  throw CUDA_ERROR_INVALID_VALUE;
}
static Node &copyIn(CUgraphExec instance, CUgraphNode node) { return copyIn(*in(instance).graph, node); }

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

MX_BOTH(
    cuGraphCreate, cudaGraphCreate, (CUgraph * graph, unsigned), { *graph = reinterpret_cast<CUgraph>(make<Graph>()); })
MX_BOTH(cuGraphDestroy, cudaGraphDestroy, (CUgraph graph), { destroy(in(graph)); })
MX_BOTH(cuGraphClone, cudaGraphClone, (CUgraph * copy, CUgraph graph), {
  std::shared_ptr<Graph> clone = in(graph).clone();
  auto *made = make<Graph>();
  made->nodes = std::move(clone->nodes);
  for (std::unique_ptr<Node> &node : made->nodes)
    node->graph = made;
  *copy = reinterpret_cast<CUgraph>(made);
})
MX_BOTH(cuGraphNodeFindInClone, cudaGraphNodeFindInClone, (CUgraphNode * found, CUgraphNode node, CUgraph copy),
    { *found = reinterpret_cast<CUgraphNode>(&copyIn(in(copy), node)); })

// Parameters and the body of a function that adds a node.
#define MX_ADD CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count
#define MX_ADDED(...) add(node, graph, after, count, __VA_ARGS__)
// Functions that add a node, and change it in a graph or an instance.
#define MX_NODE(INTERFACE, prefix, Kind, Parameters, ...)                                                              \
  INTERFACE(prefix##GraphAdd##Kind##Node, (MX_ADD, const Parameters *p), { MX_ADDED(__VA_ARGS__); })                   \
  INTERFACE(prefix##Graph##Kind##NodeSetParams, (CUgraphNode node, const Parameters *p),                               \
      { replace(in(node), __VA_ARGS__); })                                                                             \
  INTERFACE(prefix##GraphExec##Kind##NodeSetParams, (CUgraphExec instance, CUgraphNode node, const Parameters *p),     \
      { replace(copyIn(instance, node), __VA_ARGS__); })
MX_NODE(MX_DRIVER, cu, Kernel, CUDA_KERNEL_NODE_PARAMS, kernelOf(*p))
MX_NODE(MX_RUNTIME, cuda, Kernel, cudaKernelNodeParams, kernelOf(*p))
MX_NODE(MX_RUNTIME, cuda, Memcpy, cudaMemcpy3DParms, copyOf(*p))
MX_NODE(MX_RUNTIME, cuda, Memset, cudaMemsetParams, fillOf(*p))
MX_NODE(MX_DRIVER, cu, Host, CUDA_HOST_NODE_PARAMS, hostOf(p->fn, p->userData))
MX_NODE(MX_RUNTIME, cuda, Host, cudaHostNodeParams, hostOf(p->fn, p->userData))
MX_RUNTIME(cudaGraphAddMemcpyNode1D, (MX_ADD, void *to, const void *from, size_t bytes, cudaMemcpyKind),
    { MX_ADDED(copyOf(to, from, bytes)); })
MX_RUNTIME(cudaGraphExecMemcpyNodeSetParams1D,
    (CUgraphExec instance, CUgraphNode node, void *to, const void *from, size_t bytes, cudaMemcpyKind),
    { replace(copyIn(instance, node), copyOf(to, from, bytes)); })
MX_DRIVER(cuGraphAddMemsetNode, (MX_ADD, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext), { MX_ADDED(fillOf(*p)); })
MX_BOTH(cuGraphAddEmptyNode, cudaGraphAddEmptyNode, (MX_ADD), { MX_ADDED({}); })
MX_BOTH(cuGraphAddChildGraphNode, cudaGraphAddChildGraphNode, (MX_ADD, CUgraph child),
    { MX_ADDED(childOf(in(child).clone())); })
MX_BOTH(cuGraphAddEventRecordNode, cudaGraphAddEventRecordNode, (MX_ADD, CUevent event),
    { MX_ADDED(eventOf(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event)); })
MX_BOTH(cuGraphAddEventWaitNode, cudaGraphAddEventWaitNode, (MX_ADD, CUevent event),
    { MX_ADDED(eventOf(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event)); })
MX_RUNTIME(cudaGraphAddMemAllocNode, (MX_ADD, cudaMemAllocNodeParams *p), { MX_ADDED(allocationOf(*p)); })
MX_RUNTIME(cudaGraphAddMemFreeNode, (MX_ADD, void *), { MX_ADDED({CU_GRAPH_NODE_TYPE_MEM_FREE}); })
MX_RUNTIME(cudaGraphAddNode,
    (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, const cudaGraphEdgeData *, size_t count,
        cudaGraphNodeParams *p),
    { MX_ADDED(operationOf(*p)); })
MX_RUNTIME(cudaGraphNodeSetParams, (CUgraphNode node, cudaGraphNodeParams *p), { replace(in(node), operationOf(*p)); })
MX_RUNTIME(cudaGraphExecNodeSetParams, (CUgraphExec instance, CUgraphNode node, cudaGraphNodeParams *p),
    { replace(copyIn(instance, node), operationOf(*p)); })
MX_RUNTIME(cudaGraphKernelNodeSetAttribute,
    (CUgraphNode node, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value), {
      cudaLaunchAttribute attribute = {};
      attribute.id = id;
      attribute.val = *value;
      readAttributes(&attribute, 1, in(node).operation);
    })
MX_BOTH(cuGraphNodeSetEnabled, cudaGraphNodeSetEnabled, (CUgraphExec instance, CUgraphNode node, unsigned isEnabled),
    { copyIn(instance, node).isEnabled = isEnabled; })
MX_BOTH(cuGraphDestroyNode, cudaGraphDestroyNode, (CUgraphNode handle), {
  Node *node = &in(handle);
  auto &nodes = node->graph->nodes;
  Session::get().handles.erase(node);
  for (std::unique_ptr<Node> &other : nodes)
    other->after.erase(std::remove(other->after.begin(), other->after.end(), node), other->after.end());
  nodes.erase(std::find_if(nodes.begin(), nodes.end(), [&](auto &one) { return one.get() == node; }));
})

/// Stores handles of nodes, at most `count` if an array is given.
static void giveNodes(CUgraph graph, bool onlyRoots, CUgraphNode *result, size_t *count) {
  std::vector<Node *> found;
  for (std::unique_ptr<Node> &node : in(graph).nodes)
    if (!onlyRoots || node->after.empty())
      found.push_back(node.get());
  if (result)
    memcpy(result, found.data(), std::min(*count, found.size()) * sizeof(Node *));
  *count = found.size();
}
MX_BOTH(cuGraphGetNodes, cudaGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
    { giveNodes(graph, false, nodes, count); })
MX_BOTH(cuGraphGetRootNodes, cudaGraphGetRootNodes, (CUgraph graph, CUgraphNode *nodes, size_t *count),
    { giveNodes(graph, true, nodes, count); })
MX_DRIVER(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type), { *type = in(node).operation.kind; })
MX_RUNTIME(cudaGraphNodeGetType, (CUgraphNode node, cudaGraphNodeType *type),
    { *type = cudaGraphNodeType(in(node).operation.kind); })
static void edges(const CUgraphNode *from, const CUgraphNode *to, size_t count, bool isAdded) {
  for (size_t i = 0; i < count; ++i) {
    Node *before = &in(from[i]);
    std::vector<Node *> &after = in(to[i]).after;
    after.erase(std::remove(after.begin(), after.end(), before), after.end());
    if (isAdded)
      after.push_back(before);
  }
}
MX_RUNTIME(cudaGraphAddDependencies,
    (CUgraph, const CUgraphNode *from, const CUgraphNode *to, const cudaGraphEdgeData *, size_t count),
    { edges(from, to, count, true); })
MX_RUNTIME(cudaGraphRemoveDependencies,
    (CUgraph, const CUgraphNode *from, const CUgraphNode *to, const cudaGraphEdgeData *, size_t count),
    { edges(from, to, count, false); })

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

static void instantiate(CUgraphExec *instance, CUgraph handle, unsigned long long flags) {
  Graph &graph = in(handle);
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    fail(CUDA_ERROR_NOT_SUPPORTED, "launches from the device are not supported");
  if (graph.order().size() != graph.nodes.size())
    invalid("expected a graph without cycles, found a cycle");
  *instance = reinterpret_cast<CUgraphExec>(make<Instance>(graph.clone()));
}
MX_BOTH(cuGraphInstantiateWithFlags, cudaGraphInstantiateWithFlags,
    (CUgraphExec * instance, CUgraph graph, unsigned long long flags), { instantiate(instance, graph, flags); })
MX_RUNTIME(cudaGraphInstantiate, (CUgraphExec * instance, CUgraph graph, unsigned long long flags),
    { instantiate(instance, graph, flags); })
MX_RUNTIME(cudaGraphInstantiateWithParams, (CUgraphExec * instance, CUgraph graph, cudaGraphInstantiateParams *p), {
  p->result_out = cudaGraphInstantiateSuccess;
  instantiate(instance, graph, p->flags);
})
MX_BOTH(cuGraphExecDestroy, cudaGraphExecDestroy, (CUgraphExec instance), { destroy(in(instance)); })
MX_BOTH(cuGraphLaunch, cudaGraphLaunch, (CUgraphExec instance, CUstream stream),
    { submit(stream, childOf(in(instance).graph)); })

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
static void update(CUgraphExec instance, CUgraph graph, Result *result) {
  Graph &old = *in(instance).graph;
  std::shared_ptr<Graph> now = in(graph).clone();
  bool isEqual = shapeOf(old) == shapeOf(*now);
  for (size_t i = 0; isEqual && i < old.nodes.size(); ++i)
    isEqual = old.nodes[i]->operation.kind == now->nodes[i]->operation.kind;
  memset(result, 0, sizeof *result);
  result->result = decltype(result->result)(isEqual ? 0 : 2); // success, or the topology changed
  require(isEqual, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  for (size_t i = 0; i < old.nodes.size(); ++i)
    old.nodes[i]->operation = std::move(now->nodes[i]->operation);
}
MX_DRIVER(cuGraphExecUpdate, (CUgraphExec instance, CUgraph graph, CUgraphExecUpdateResultInfo *result),
    { update(instance, graph, result); })
MX_RUNTIME(cudaGraphExecUpdate, (CUgraphExec instance, CUgraph graph, cudaGraphExecUpdateResultInfo *result),
    { update(instance, graph, result); })

MX_RUNTIME(cudaDeviceGetGraphMemAttribute, (int, cudaGraphMemAttributeType, void *value), {
  uint64_t bytes = 0;
  for (auto &[address, block] : Session::get().blocks)
    bytes += block.kind == Block::Device ? block.bytes : 0;
  *static_cast<uint64_t *>(value) = bytes;
})
