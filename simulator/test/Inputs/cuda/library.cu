// The math library, cub, cooperative groups, libcu++, the device heap, printf.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cub/cub.cuh>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/optional>
namespace cg = cooperative_groups;
extern "C" __global__ void math(const float *x, const double *xd, float *o,
                                double *od, int n) {
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  if (t >= n)
    return;
  float v = x[t];
  double d = xd[t];
  float r[24] = {sinf(v),
                 cosf(v),
                 tanf(v),
                 expf(v),
                 logf(fabsf(v)),
                 powf(fabsf(v), 1.7f),
                 sqrtf(fabsf(v)),
                 cbrtf(v),
                 atan2f(v, 2.f),
                 asinf(v * 0.01f),
                 erff(v),
                 tgammaf(fabsf(v) * 0.1f + 1),
                 lgammaf(fabsf(v) + 1),
                 fmodf(v, 3.f),
                 remainderf(v, 3.f),
                 floorf(v),
                 rintf(v),
                 log1pf(fabsf(v)),
                 expm1f(v),
                 sinhf(v * 0.1f),
                 exp2f(v),
                 exp10f(v * 0.1f),
                 hypotf(v, 3.f),
                 rsqrtf(fabsf(v))};
  for (int i = 0; i < 24; i++)
    o[t * 24 + i] = r[i];
  double q[16] = {
      sin(d),        cos(d),       exp(d),  log(fabs(d)),  pow(fabs(d), 1.7),
      sqrt(fabs(d)), d / 3.0,      1.0 / d, tan(d),        atan(d),
      erf(d),        fmod(d, 3.0), cbrt(d), sinh(d * 0.1), lgamma(fabs(d) + 1),
      exp2(d)};
  for (int i = 0; i < 16; i++)
    od[t * 16 + i] = q[i];
}
extern "C" __global__ void scan(const int *in, int *out, int *sorted,
                                int *keys_out, float *red) {
  using Scan = cub::BlockScan<int, 128>;
  using Sort = cub::BlockRadixSort<int, 128, 4, int>;
  using Red = cub::BlockReduce<float, 128>;
  __shared__ union {
    typename Scan::TempStorage a;
    typename Sort::TempStorage b;
    typename Red::TempStorage c;
  } s;
  int t = threadIdx.x;
  int v = in[t];
  int r;
  Scan(s.a).ExclusiveSum(v, r);
  out[t] = r;
  __syncthreads();
  int k[4], w[4];
  for (int i = 0; i < 4; i++) {
    k[i] = in[t * 4 + i];
    w[i] = t * 4 + i;
  }
  Sort(s.b).Sort(k, w);
  for (int i = 0; i < 4; i++) {
    sorted[t * 4 + i] = k[i];
    keys_out[t * 4 + i] = w[i];
  }
  __syncthreads();
  float x = Red(s.c).Sum((float)v);
  if (t == 0)
    red[0] = x;
}
extern "C" __global__ void coop(int *out) {
  auto b = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(b);
  int t = b.thread_rank();
  int s = cg::reduce(tile, t, cg::plus<int>());
  out[t] = s;
  auto l = cg::labeled_partition(cg::tiled_partition<32>(b), t % 3);
  out[128 + t] = l.size() * 100 + l.thread_rank();
  if (t % 2) {
    auto c = cg::coalesced_threads();
    out[256 + t] = c.size();
  } else
    out[256 + t] = -1;
  cuda::std::array<int, 4> a{1, 2, 3, 4};
  cuda::std::optional<int> o;
  if (t > 5)
    o = t;
  out[384 + t] = o.value_or(a[t % 4]);
  __shared__ int cnt;
  if (t == 0)
    cnt = 0;
  b.sync();
  cuda::atomic_ref<int, cuda::thread_scope_block> r(cnt);
  r.fetch_add(t);
  b.sync();
  out[512 + t] = cnt;
}
extern "C" __global__ void heap(int *out) {
  int t = threadIdx.x;
  int *p = (int *)malloc(64 + t * 4);
  for (int i = 0; i < 16; i++)
    p[i] = i * t;
  int s = 0;
  for (int i = 0; i < 16; i++)
    s += p[i];
  out[t] = s;
  free(p);
  int *q = new int[3];
  q[0] = t;
  out[32 + t] = q[0];
  delete[] q;
  printf("thread %d of %s: %5.2f %lld %c %x%%\n", t, "block", t * 0.5,
         (long long)t << 33, 'a' + t % 26, t * 17);
}
