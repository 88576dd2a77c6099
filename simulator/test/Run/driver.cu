// RUN: nvcc -arch=sm_90a -ptx -DKERNELS %s -o %t.ptx
// RUN: %build_program %s -o %t -lcuda && mx-sim run --warnings=error --devices=2 %t %t.ptx 2>&1 | FileCheck %s
// The driver interface: modules, contexts, devices, virtual memory and entry points.

#ifdef KERNELS
__device__ float bias = 1;
extern "C" __global__ void __launch_bounds__(32) axpy(float *y, const float *x, float a) { y[threadIdx.x] += a * x[threadIdx.x] + bias; }
#else
#include "check.h"
#include <cstring>
#include <cuda.h>
#include <fstream>
#include <sstream>

int main(int count, char **names) {
  CHECK(count == 2);
  CUdevice device;
  CUcontext context, top;
  CUmodule module, copy;
  CUfunction axpy;
  int number;
  char name[64];
  OK(cuInit(0));
  OK(cuDeviceGetCount(&number));
  CHECK(number == 2);
  OK(cuDeviceGet(&device, 0));
  OK(cuDeviceGetName(name, sizeof name, device));
  CHECK(strstr(name, "H200"));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuModuleLoad(&module, names[1]));
  std::ifstream file(names[1]);
  std::stringstream text;
  text << file.rdbuf();
  OK(cuModuleLoadData(&copy, text.str().c_str()));
  CHECK(cuModuleLoadData(&copy, "nonsense") == CUDA_ERROR_INVALID_IMAGE);
  CHECK(cuModuleGetFunction(&axpy, module, "absent") == CUDA_ERROR_NOT_FOUND);
  OK(cuModuleGetFunction(&axpy, module, "axpy"));
  CUdeviceptr x, y, bias;
  size_t bytes;
  float a = 2, seven = 7, ones[32], result[32];
  for (float &one : ones)
    one = 1;
  OK(cuMemAlloc(&x, 128));
  OK(cuMemAlloc(&y, 128));
  OK(cuMemcpyHtoD(x, ones, 128));
  OK(cuMemsetD32(y, 0, 32));
  OK(cuModuleGetGlobal(&bias, &bytes, module, "bias"));
  CHECK(bytes == 4);
  OK(cuMemcpyHtoD(bias, &seven, 4));
  void *arguments[] = {&y, &x, &a};
  OK(cuLaunchKernel(axpy, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  // The same arguments in a buffer.
  struct { CUdeviceptr y, x; float a; } packed = {y, x, a};
  size_t size = 20;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(axpy, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  OK(cuMemcpyDtoH(result, y, 128));
  CHECK(result[0] == 18 && result[31] == 18);
  // Variables of the copy are its own.
  CUfunction other;
  OK(cuModuleGetFunction(&other, copy, "axpy"));
  OK(cuLaunchKernel(other, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  OK(cuMemcpyDtoH(result, y, 128));
  CHECK(result[5] == 21);
  OK(cuModuleUnload(copy));
  // The linker takes one image.
  CUlinkState linker;
  void *entry;
  OK(cuLinkCreate(0, nullptr, nullptr, &linker));
  OK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, text.str().data(), text.str().size() + 1, "one", 0, nullptr, nullptr));
  OK(cuLinkComplete(linker, &entry, &bytes));
  CHECK(cuLinkAddData(linker, CU_JIT_INPUT_PTX, entry, bytes, "two", 0, nullptr, nullptr) == CUDA_ERROR_NOT_SUPPORTED);
  OK(cuModuleLoadData(&copy, entry));
  OK(cuLinkDestroy(linker));

  // Another device has its own memory and variables.
  CUcontext second;
  CUctxCreateParams parameters = {};
  OK(cuCtxCreate(&second, &parameters, 0, 1));
  OK(cuCtxGetDevice(&device));
  CHECK(device == 1);
  CUdeviceptr far;
  OK(cuMemAlloc(&far, 128));
  OK(cuMemcpyPeer(far, second, y, context, 128));
  OK(cuMemcpyDtoH(result, far, 128));
  CHECK(result[5] == 21);
  CHECK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, far + 4) == CUDA_SUCCESS && device == 1);
  OK(cuCtxPopCurrent(&top));
  CHECK(top == second);
  OK(cuCtxGetCurrent(&top));
  CHECK(top == context);

  CUmemGenericAllocationHandle handle;
  CUmemAllocationProp properties = {}, read;
  properties.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
  CUdeviceptr range;
  OK(cuMemCreate(&handle, 2 << 20, &properties, 0));
  OK(cuMemGetAllocationPropertiesFromHandle(&read, handle));
  CHECK(read.allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_GENERIC);
  OK(cuMemAddressReserve(&range, 2 << 20, 0, 0, 0));
  OK(cuMemMap(range, 2 << 20, 0, handle, 0));
  CHECK(cuMemMap(range, 2 << 20, 0, handle, 0) == CUDA_ERROR_NOT_SUPPORTED);
  OK(cuMemsetD8(range, 1, 2 << 20));
  const char *text_;
  OK(cuGetProcAddress("cuMemAlloc", &entry, 13000, 0, nullptr));
  CHECK(entry == (void *)cuMemAlloc);
  CHECK(cuGetProcAddress("cuNothing", &entry, 13000, 0, nullptr) == CUDA_ERROR_NOT_FOUND);
  // A function has a variant for each version of its parameters.
  OK(cuGetProcAddress("cuCtxGetDevice", &entry, 12000, 0, nullptr));
  CHECK(entry == (void *)cuCtxGetDevice);
  OK(cuGetProcAddress("cuCtxGetDevice", &entry, 13000, 0, nullptr));
  CHECK(((CUresult(*)(CUdevice *, CUcontext))entry)(&device, second) == CUDA_SUCCESS && device == 1);
  CUlibrary library;
  CUkernel kernels[2] = {};
  OK(cuLibraryLoadData(&library, text.str().c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryEnumerateKernels(kernels, 2, library));
  OK(cuKernelGetFunction(&other, kernels[0]));
  OK(cuFuncGetName(&text_, other));
  CHECK(!strcmp(text_, "axpy") && !kernels[1]);
  OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, other, 1, 32));
  CHECK(bytes == 227 << 10);
  CUlaunchConfig config = {};
  config.blockDimX = 64;
  config.blockDimY = config.blockDimZ = 1;
  OK(cuOccupancyMaxActiveClusters(&number, other, &config));
  CHECK(number == 132 * 32);
  OK(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &text_));
  CHECK(!strcmp(text_, "CUDA_ERROR_INVALID_VALUE"));
  puts("all right");
}
#endif
// CHECK-DAG: all right
// CHECK-DAG: 3 launches, clean
