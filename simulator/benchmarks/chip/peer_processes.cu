// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests GPU memory mapped by another process, and its state after the owner is
// killed. The memory is shared by file descriptors of cuMemCreate and by
// handles of cudaIpcGetMemHandle. Prints nothing on a single-GPU host.

#include "common.h"
#include <csignal>
#include <cstring>
#include <functional>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static constexpr size_t kBytes = size_t(64) << 20;
static constexpr uint32_t kPattern = 0x5eed;

#define CHECK_DRIVER(call)                                                     \
  do {                                                                         \
    CUresult error = (call);                                                   \
    if (error != CUDA_SUCCESS) {                                               \
      const char *text = "?";                                                  \
      cuGetErrorString(error, &text);                                          \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text);                \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

__global__ void fill(uint32_t *to, size_t count, uint32_t value, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x)
      to[i] = value + uint32_t(i);
}
__global__ void compare(const uint32_t *from, size_t count, uint32_t value,
                        unsigned long long *wrong) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    if (from[i] != value + uint32_t(i))
      atomicAdd(wrong, 1);
}

static unsigned long long countWrong(uint32_t *data, cudaError_t &error) {
  unsigned long long *wrong, host = ~0ull;
  CHECK(cudaMalloc(&wrong, 8));
  CHECK(cudaMemset(wrong, 0, 8));
  compare<<<64, 256>>>(data, kBytes / 4, kPattern, wrong);
  error = cudaMemcpy(&host, wrong, 8, cudaMemcpyDeviceToHost);
  return host;
}

struct DescriptorMessage {
  char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
  iovec piece = {&byte, 1};
  msghdr header = {};
  DescriptorMessage() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
};

static void sendDescriptor(int socket, int descriptor) {
  DescriptorMessage message;
  cmsghdr *header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  if (sendmsg(socket, &message.header, 0) != 1)
    exit(1);
}
static int receiveDescriptor(int socket) {
  DescriptorMessage message;
  if (recvmsg(socket, &message.header, 0) != 1)
    exit(1);
  int descriptor;
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message.header)), sizeof(int));
  return descriptor;
}

/// Method of sharing the memory of a GPU.
struct Way {
  const char *name;
  std::function<uint32_t *(int socket)> share, map;
};

static uint32_t *mapPages(CUmemGenericAllocationHandle pages, int device) {
  CUdeviceptr place;
  CHECK_DRIVER(cuMemAddressReserve(&place, kBytes, 0, 0, 0));
  CHECK_DRIVER(cuMemMap(place, kBytes, 0, pages, 0));
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device},
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_DRIVER(cuMemSetAccess(place, kBytes, &access, 1));
  return (uint32_t *)place;
}

static uint32_t *sharePages(int socket) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle pages;
  CHECK_DRIVER(cuMemCreate(&pages, kBytes, &prop, 0));
  int descriptor;
  CHECK_DRIVER(cuMemExportToShareableHandle(&descriptor, pages,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  sendDescriptor(socket, descriptor);
  return mapPages(pages, 1);
}
static uint32_t *mapSharedPages(int socket) {
  CUmemGenericAllocationHandle pages;
  CHECK_DRIVER(cuMemImportFromShareableHandle(&pages, (void *)intptr_t(receiveDescriptor(socket)),
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  return mapPages(pages, 0);
}

static uint32_t *shareHandle(int socket) {
  uint32_t *data;
  CHECK(cudaMalloc(&data, kBytes));
  cudaIpcMemHandle_t handle;
  CHECK(cudaIpcGetMemHandle(&handle, data));
  if (write(socket, &handle, sizeof(handle)) != sizeof(handle))
    exit(1);
  return data;
}
static uint32_t *mapHandle(int socket) {
  cudaIpcMemHandle_t handle;
  if (read(socket, &handle, sizeof(handle)) != sizeof(handle))
    exit(1);
  void *data;
  CHECK(cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess));
  return (uint32_t *)data;
}

/// Shares memory, compares the stores of the other process, and sleeps until it
/// is killed.
[[noreturn]] static void own(const Way &way, int socket) {
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(nullptr));
  uint32_t *data = way.share(socket);
  char byte;
  if (read(socket, &byte, 1) != 1)
    exit(1);
  cudaError_t error;
  unsigned long long wrong = countWrong(data, error);
  if (write(socket, &wrong, sizeof(wrong)) != sizeof(wrong))
    exit(1);
  for (;;)
    pause();
}

static void use(const Way &way, int socket, pid_t owner) {
  auto say = [&](const char *what, double value, const char *unit) {
    emit(std::string(way.name) + ": " + what, value, unit);
  };
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  uint32_t *data = way.map(socket);
  fill<<<64, 256>>>(data, kBytes / 4, kPattern, 1);
  CHECK(cudaDeviceSynchronize());
  unsigned long long wrong = ~0ull;
  if (write(socket, "", 1) != 1 || read(socket, &wrong, sizeof(wrong)) != sizeof(wrong))
    exit(1);
  say("words that the owner did not find", double(wrong), "words");
  fill<<<64, 256>>>(data, kBytes / 4, kPattern, 4000); // for a second or more
  usleep(100000);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  say("kernel that stores while the owner is killed", double(cudaDeviceSynchronize()), "cudaError");
  fill<<<64, 256>>>(data, kBytes / 4, kPattern, 1);
  say("stores after that", double(cudaDeviceSynchronize()), "cudaError");
  cudaError_t error;
  wrong = countWrong(data, error);
  say("loads after that", double(error), "cudaError");
  say("words that differ then", double(wrong), "words");
  uint32_t *own;
  say("new memory of its own after that", double(cudaMalloc(&own, kBytes)), "cudaError");
}

/// Runs a method in two new processes, because CUDA does not survive fork.
static void run(const Way &way) {
  fflush(stdout);
  pid_t user = fork();
  if (user == 0) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
      exit(1);
    pid_t owner = fork();
    if (owner == 0)
      own(way, sockets[1]);
    close(sockets[1]); // a read fails once the owner is gone
    use(way, sockets[0], owner);
    exit(0);
  }
  waitpid(user, nullptr, 0);
}

int main() {
  pid_t counter = fork();
  if (counter == 0) {
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    exit(count > 1);
  }
  int status;
  waitpid(counter, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) {
    fprintf(stderr, "peer_processes: expected two GPUs\n");
    return 0;
  }
  run({"cuMemCreate, a file descriptor", sharePages, mapSharedPages});
  run({"cudaIpcGetMemHandle", shareHandle, mapHandle});
}
