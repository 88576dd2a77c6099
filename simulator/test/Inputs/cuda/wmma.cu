// Matmuls with the warp matrix functions of CUDA, in the style of its samples: a
// warp computes a tile of alpha A B + C, and scales fragments element by element.
#include <mma.h>

using namespace nvcuda;

template <int M, int N, int K, class T, class Store, class C, class LayoutA, class LayoutB>
__device__ void tile(const Store *a, const Store *b, const C *c, C *d, int m, int n, int k, C alpha) {
  constexpr bool rowA = std::is_same<LayoutA, wmma::row_major>::value;
  constexpr bool rowB = std::is_same<LayoutB, wmma::row_major>::value;
  int i = blockIdx.x / (n / N) * M, j = blockIdx.x % (n / N) * N;
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, C> sum, more;
  wmma::fill_fragment(sum, C(0));
  for (int p = 0; p < k; p += K) {
    wmma::load_matrix_sync(fa, rowA ? a + i * k + p : a + p * m + i, rowA ? k : m);
    wmma::load_matrix_sync(fb, rowB ? b + p * n + j : b + j * k + p, rowB ? n : k);
    for (int e = 0; e < fa.num_elements; ++e)
      fa.x[e] = fa.x[e] + fa.x[e];
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::load_matrix_sync(more, c + i * n + j, n, wmma::mem_row_major);
  for (int e = 0; e < sum.num_elements; ++e)
    sum.x[e] = alpha * sum.x[e] + more.x[e];
  wmma::store_matrix_sync(d + i * n + j, sum, n, wmma::mem_row_major);
}

#define KERNEL(NAME, M, N, K, T, STORE, C, LA, LB)                                                             \
  extern "C" __global__ void NAME(const STORE *a, const STORE *b, const C *c, C *d, int m, int n, int k) {     \
    tile<M, N, K, T, STORE, C, wmma::LA, wmma::LB>(a, b, c, d, m, n, k, C(3));                                 \
  }

KERNEL(half_rc, 16, 16, 16, half, half, float, row_major, col_major)
KERNEL(half_cr, 8, 32, 16, half, half, float, col_major, row_major)
KERNEL(bfloat_rr, 32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, row_major, row_major)
KERNEL(tf32_cc, 16, 16, 8, wmma::precision::tf32, float, float, col_major, col_major)
KERNEL(double_rc, 8, 8, 4, double, double, double, row_major, col_major)
KERNEL(bytes_cc, 32, 8, 16, signed char, signed char, int, col_major, col_major)
