// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the time per kernel of consecutive kernels in a CUDA graph, with and
// without programmatic dependent launch, by CTAs, threads and shared memory.

#include "common.h"

__global__ void nothing() {}
/// Releases the next kernel at once and waits for the previous kernel.
__global__ void overlapping() {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

static double measure(void (*kernel)(), int ctas, int threads, int bytes, bool programmatic) {
  const int count = 200;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = bytes;
  config.attrs = &attribute;
  config.numAttrs = programmatic;
  return microseconds(count, [&](cudaStream_t stream) {
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, kernel));
  });
}

int main() {
  int sms = countSMs();
  struct Shape {
    const char *name;
    int ctas, threads, bytes;
  } shapes[] = {{"1 CTA of 32 threads", 1, 32, 0},
                {"a CTA of 384 threads for each SM", sms, 384, 0},
                {"the same with 200 KiB of shared memory", sms, 384, 200 << 10},
                {"8 CTAs of 128 threads for each SM", sms * 8, 128, 0}};
  for (const Shape &s : shapes) {
    emit(s.name, measure(nothing, s.ctas, s.threads, s.bytes, false), "us");
    emit(std::string(s.name) + ", programmatic", measure(overlapping, s.ctas, s.threads, s.bytes, true),
         "us");
  }
}
