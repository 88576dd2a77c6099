// Cooperative groups: the whole grid synchronizes between the steps of a scan.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void scan(const int *in, int *a, int *b, int *out, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  if (i < n)
    a[i] = in[i];
  for (int step = 1; step < n; step *= 2) {
    grid.sync();
    if (i < n)
      b[i] = a[i] + (i >= step ? a[i - step] : 0);
    int *t = a;
    a = b;
    b = t;
  }
  if (i < n)
    out[i] = a[i];
}
