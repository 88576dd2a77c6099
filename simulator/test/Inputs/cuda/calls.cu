// Recursion, virtual functions, function tables, structs by value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

struct Shape {
  __device__ virtual int area(int k) const = 0;
  __device__ virtual ~Shape() {}
};
struct Sq : Shape {
  int a;
  __device__ Sq(int a) : a(a) {}
  __device__ int area(int k) const override { return a * a + k; }
};
struct Re : Shape {
  int a, b;
  __device__ Re(int a, int b) : a(a), b(b) {}
  __device__ int area(int k) const override { return a * b - k; }
};
__device__ __noinline__ int fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__device__ __noinline__ int ack(int m, int n) {
  if (!m)
    return n + 1;
  if (!n)
    return ack(m - 1, 1);
  return ack(m - 1, ack(m, n - 1));
}
__device__ __noinline__ void qs(int *a, int lo, int hi) {
  if (lo >= hi)
    return;
  int p = a[(lo + hi) / 2], i = lo, j = hi;
  while (i <= j) {
    while (a[i] < p)
      i++;
    while (a[j] > p)
      j--;
    if (i <= j) {
      int t = a[i];
      a[i] = a[j];
      a[j] = t;
      i++;
      j--;
    }
  }
  qs(a, lo, j);
  qs(a, i, hi);
}
typedef int (*fn)(int, int);
__device__ __noinline__ int f_add(int a, int b) { return a + b; }
__device__ __noinline__ int f_mul(int a, int b) { return a * b; }
__device__ __noinline__ int f_sub(int a, int b) { return a - b; }
__device__ fn table[3] = {f_add, f_mul, f_sub};
__device__ __noinline__ int isOdd(int n);
__device__ __noinline__ int isEven(int n) { return n == 0 ? 1 : isOdd(n - 1); }
__device__ __noinline__ int isOdd(int n) { return n == 0 ? 0 : isEven(n - 1); }
struct Big {
  int v[10];
};
__device__ __noinline__ Big grow(Big b, int d) {
  if (d == 0)
    return b;
  for (int i = 0; i < 10; i++)
    b.v[i] += d * i;
  return grow(b, d - 1);
}
extern "C" __global__ void k(int *out, int n) {
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  int *o = out + t * 16;
  o[0] = fib(t % 13);
  o[1] = ack(2, t % 5);
  int a[20];
  for (int i = 0; i < 20; i++)
    a[i] = (i * 7 + t * 13) % 31;
  qs(a, 0, 19);
  int s = 0;
  for (int i = 0; i < 20; i++)
    s = s * 3 + a[i];
  o[2] = s;
  o[3] = table[t % 3](t, 5);
  Shape *sh;
  Sq q(t);
  Re r(t, t + 1);
  sh = t & 1 ? (Shape *)&q : (Shape *)&r;
  o[4] = sh->area(7);
  o[5] = isEven(t % 17);
  Big b;
  for (int i = 0; i < 10; i++)
    b.v[i] = i;
  b = grow(b, t % 6);
  o[6] = b.v[9];
  o[7] = b.v[3];
  if (t % 7 == 3)
    o[8] = fib(8);
  else
    o[8] = -1;
  fn g = t < 40 ? f_add : f_mul;
  int acc = 0;
  for (int i = 0; i < t % 5; i++)
    acc = g(acc, i + 2) + __shfl_sync(__activemask(), i, 0);
  o[9] = acc;
}
