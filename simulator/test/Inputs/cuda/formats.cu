// Small floats, thrust, pipelines, clusters, constant and managed variables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cub/cub.cuh>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/complex>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
namespace cg = cooperative_groups;
struct Op {
  int k;
  __device__ int operator()(int a) const { return a * k + 1; }
};
template <class F>
__device__ __noinline__ int apply(F f, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += f(i);
  return s;
}
__constant__ int cc[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int gcount;
__device__ const char *names[3] = {"a", "bc", "def"};
__managed__ int managed_value = 5;
extern "C" __global__ void e1(int *out, float *fo, const int *in) {
  int t = threadIdx.x;
  __half h = __float2half(t * 0.25f);
  __half2 h2 = __hmul2(__half2half2(h), __floats2half2_rn(1.5f, 2.0f));
  fo[t * 8] = __half2float(h2.x) + __half2float(hsqrt(h));
  __nv_bfloat16 b = __float2bfloat16(t * 1.1f);
  fo[t * 8 + 1] = __bfloat162float(__hadd(b, b));
  fo[t * 8 + 2] = float(__nv_fp8_e4m3(t * 0.3f));
  fo[t * 8 + 3] = float(__nv_fp4_e2m1(t * 0.1f));
  fo[t * 8 + 4] = float(__nv_fp6_e3m2(t * 0.2f));
  cuda::std::complex<float> z(t, 1.f);
  z = z * z;
  fo[t * 8 + 5] = z.real();
  fo[t * 8 + 6] = cuda::std::abs(z);
  fo[t * 8 + 7] = __expf(-t * 0.1f) + __sinf(t * 0.01f);
  int a[16];
  for (int i = 0; i < 16; i++)
    a[i] = in[(t * 16 + i) % 512];
  thrust::sort(thrust::seq, a, a + 16);
  int s = 0;
  for (int i = 0; i < 16; i++)
    s = s * 5 + a[i];
  out[t * 8] = s;
  out[t * 8 + 1] = apply(Op{t}, 5) + apply([=](int x) { return x ^ t; }, 4);
  out[t * 8 + 2] = cc[t & 7] + managed_value;
  int n = 0;
  for (const char *p = names[t % 3]; *p; p++)
    n += *p;
  out[t * 8 + 3] = n;
  out[t * 8 + 4] = __popc(t * 12345) + __clz(t) + __brev(t) % 7 + __ffs(t) +
                   __byte_perm(t, t * 77, 0x5410) % 101;
  atomicAdd(&gcount, t);
  out[t * 8 + 5] = __dp4a(t * 0x01010101, 0x01020304, t);
  switch (t % 9) {
  case 0:
    s = 11;
    break;
  case 1:
    s = 22;
    break;
  case 2:
    s = t * 3;
    break;
  case 3:
    s = -t;
    break;
  case 4:
    s = t << 2;
    break;
  case 5:
    s = 99;
    break;
  case 6:
    s = t ^ 5;
    break;
  case 7:
    s = 7;
    break;
  default:
    s = 0;
  }
  out[t * 8 + 6] = s;
  long long q = (long long)t * 1000003;
  out[t * 8 + 7] = (int)(q / 7 % 1000 + (unsigned)(q % 13));
}
extern "C" __global__ void e2(const int *in, int *out) {
  auto blk = cg::this_thread_block();
  __shared__ int buf[2][128];
  auto pipe = cuda::make_pipeline();
  int s = 0;
  int t = threadIdx.x;
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (t == 0)
    init(&bar, 128);
  blk.sync();
  for (int i = 0; i < 2; i++) {
    pipe.producer_acquire();
    cuda::memcpy_async(&buf[i][t], in + i * 128 + t, sizeof(int), pipe);
    pipe.producer_commit();
  }
  for (int i = 0; i < 2; i++) {
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    blk.sync();
    s += buf[i][127 - t];
    pipe.consumer_release();
    bar.arrive_and_wait();
  }
  out[t] = s;
  __shared__ int cp[128];
  cg::memcpy_async(blk, cp, in + 256, sizeof(int) * 128);
  cg::wait(blk);
  out[128 + t] = cp[(t + 1) % 128];
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) e3(int *out) {
  auto c = cg::this_cluster();
  __shared__ int v;
  if (threadIdx.x == 0)
    v = 100 + c.block_rank();
  c.sync();
  int *r = c.map_shared_rank(&v, c.block_rank() ^ 1);
  out[blockIdx.x * 32 + threadIdx.x] = *r + threadIdx.x;
  c.sync();
}
extern "C" __global__ void e5(const int *in, int *out) {
  using WS = cub::WarpScan<int>;
  using WR = cub::WarpReduce<int>;
  using BL = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using H = cub::BlockHistogram<unsigned char, 64, 4, 16>;
  using RR = cub::BlockDiscontinuity<int, 64>;
  __shared__ union {
    typename BL::TempStorage l;
    typename H::TempStorage h;
    typename RR::TempStorage d;
    typename WS::TempStorage s[2];
    typename WR::TempStorage r[2];
  } t;
  __shared__ unsigned hist[16];
  int v[4];
  BL(t.l).Load(in, v);
  __syncthreads();
  unsigned char u[4];
  for (int i = 0; i < 4; i++)
    u[i] = v[i] & 15;
  H(t.h).Histogram(u, hist);
  __syncthreads();
  if (threadIdx.x < 16)
    out[threadIdx.x] = hist[threadIdx.x];
  int w = threadIdx.x / 32;
  int x;
  WS(t.s[w]).InclusiveSum(v[0], x);
  out[16 + threadIdx.x] = x;
  __syncthreads();
  int y = WR(t.r[w]).Reduce(v[1], cuda::maximum<>{});
  if (threadIdx.x % 32 == 0)
    out[80 + w] = y;
  __syncthreads();
  int hf[4];
  RR(t.d).FlagHeads(hf, v, cuda::std::not_equal_to<>{});
  out[82 + threadIdx.x] = hf[0] + 2 * hf[1] + 4 * hf[2] + 8 * hf[3];
}
