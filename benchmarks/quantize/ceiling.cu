// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory ceiling: kernels that move the bytes of a quantizer without
// arithmetic, in 16-byte pieces of contiguous streams. A CTA reads READ
// contiguous bytes of each input and writes WRITE and SCALES contiguous bytes
// of each output. All loads are issued before the first use.

using Piece = uint4;

/// Input and output streams; kernels ignore surplus streams.
struct Streams {
  const char *in[2];
  char *elements[2];
  char *scales[2];
};

template <int READ, int INPUTS, int WRITE, int SCALES, int OUTPUTS, int THREADS>
__device__ void move(const Streams &streams) {
  constexpr int kLoads = READ / int(sizeof(Piece)) / THREADS;
  const long cta = blockIdx.x;
  Piece pieces[INPUTS * kLoads];
#pragma unroll
  for (int i = 0; i < INPUTS; ++i)
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      pieces[i * kLoads + j] = __ldg((const Piece *)(streams.in[i] + cta * READ) +
                                     j * THREADS + threadIdx.x);
  // Every loaded byte affects the output, so no load is eliminated.
  Piece sum = pieces[0];
#pragma unroll
  for (int i = 1; i < INPUTS * kLoads; ++i) {
    sum.x ^= pieces[i].x;
    sum.y ^= pieces[i].y;
    sum.z ^= pieces[i].z;
    sum.w ^= pieces[i].w;
  }
#pragma unroll
  for (int o = 0; o < OUTPUTS; ++o) {
    Piece *elements = (Piece *)(streams.elements[o] + cta * WRITE);
    for (int i = threadIdx.x; i < WRITE / int(sizeof(Piece)); i += THREADS)
      elements[i] = sum;
    if (threadIdx.x < SCALES / sizeof(Piece))
      ((Piece *)(streams.scales[o] + cta * SCALES))[threadIdx.x] = sum;
  }
}

/// Kernel NAME_READ_THREADS. Elements and scales belong to READ bytes of bf16.
#define CEILING(NAME, READ, INPUTS, WRITE, SCALES, OUTPUTS, THREADS)           \
  extern "C" __global__ void __launch_bounds__(THREADS)                        \
      NAME##_##READ##_##THREADS(Streams streams) {                             \
    move<READ, INPUTS, WRITE, SCALES, OUTPUTS, THREADS>(streams);              \
  }
#define CEILINGS(NAME, INPUTS, WRITE_SHARE, SCALE_SHARE, OUTPUTS)              \
  CEILING(NAME, 16384, INPUTS, 16384 / WRITE_SHARE, 16384 / SCALE_SHARE,       \
          OUTPUTS, 256)                                                        \
  CEILING(NAME, 32768, INPUTS, 32768 / WRITE_SHARE, 32768 / SCALE_SHARE,       \
          OUTPUTS, 512)                                                        \
  CEILING(NAME, 32768, INPUTS, 32768 / WRITE_SHARE, 32768 / SCALE_SHARE,       \
          OUTPUTS, 1024)

CEILINGS(one8, 1, 2, 64, 1)   // 8-bit elements, blocks of 32, one axis
CEILINGS(both8, 1, 2, 64, 2)  // along both axes
CEILINGS(glu8, 2, 2, 64, 2)   // from two inputs
CEILINGS(one4, 1, 4, 64, 1)   // 4-bit elements, blocks of 32
CEILINGS(nvfp4, 1, 4, 32, 1)  // 4-bit elements, blocks of 16

/// Copies `count` pieces. The caller uses the faster of this kernel and the
/// driver's copy.
#define COPY(UNROLL, THREADS)                                                  \
  extern "C" __global__ void __launch_bounds__(THREADS)                        \
      copy_##UNROLL##_##THREADS(const Piece *from, Piece *to, long count) {    \
    long first = blockIdx.x * long(THREADS * UNROLL) + threadIdx.x;            \
    Piece pieces[UNROLL];                                                      \
    _Pragma("unroll") for (int i = 0; i < UNROLL; ++i)                         \
        if (first + i * THREADS < count)                                       \
            pieces[i] = __ldg(from + first + i * THREADS);                     \
    _Pragma("unroll") for (int i = 0; i < UNROLL; ++i)                         \
        if (first + i * THREADS < count)                                       \
            to[first + i * THREADS] = pieces[i];                               \
  }
COPY(1, 1024)
COPY(2, 1024)
COPY(4, 512)
COPY(4, 1024)
