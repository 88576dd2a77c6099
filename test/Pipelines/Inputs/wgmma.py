"""Prints wgmma.mma_async kernels that accumulate over K, for each pair of operand types
with the smallest, the largest and a medium N. Other kernels keep two or three MMAs in
flight, and one kernel uses an accumulator while the hardware computes other
accumulators.
"""

KERNEL = """
  mxgpu.kernel @{name}(%a_map: !{name}_am, %b_map: !{name}_bm, %c: memref<?x?xf32>, %reduction: index) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = memref.dim %c, %c0 : memref<?x?xf32>
    %n = memref.dim %c, %c1 : memref<?x?xf32>
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [64, {n}] of(%m, %n, %reduction)
{rings}
    mxgpu.role @multiply warps(4) {{
      %row0 = mxgpu.fragment_row 0 of !{name}_sums
      %row1 = mxgpu.fragment_row 1 of !{name}_sums
      %column0 = mxgpu.fragment_column 0 of !{name}_sums
      %zero = mxgpu.zero_fragment : !{name}_sums
      mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {{
        %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %start to %end step {step} iter_args(%old = %zero : !{name}_sums) {{
{multiply}
          mxgpu.yield %new : !{name}_sums
        }}
        %v:2 = mxgpu.to_rows %accumulator : !{name}_sums -> vector<{held}xf32>, vector<{held}xf32>
        %r0 = arith.addi %row, %row0 : index
        %r1 = arith.addi %row, %row1 : index
        %has0 = arith.cmpi ult, %r0, %m : index
        %has1 = arith.cmpi ult, %r1, %m : index
        %at = arith.addi %column, %column0 : index
{stores}
      }}
    }}
    mxgpu.role @load warps(1) elected {{
      mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {{
        mxgpu.for_each_k (%k, %extent, %first) from %start to %end step {step} {{
{load}
        }}
      }}
    }}
  }}"""

TYPES = """\
!{name}_am = !mxgpu.tensor_map<64x{step}x{a}, sw128>
!{name}_bm = !mxgpu.tensor_map<{n}x{step}x{b}, sw128>
!{name}_a = !mxgpu.buffer<smem<64x{step}x{a}, sw128>>
!{name}_b = !mxgpu.buffer<smem<{n}x{step}x{b}, sw128>>
!{name}_in = !mxgpu.ring<2 x (a: smem<64x{step}x{a}, sw128>, b: smem<{n}x{step}x{b}, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!{name}_input = !mxgpu.stage<!{name}_in>
!{name}_sums = !mxgpu.fragment<64x{n}xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows{runs}]>>"""

RING = """\
    %in{i} = mxgpu.ring "in{i}" : !{name}_in"""

MULTIPLY = """\
          %stage{i}, %a{i}, %b{i} = mxgpu.consumer_wait %in{i} : !{name}_in
          %accumulator{i} = mxgpu.mma #mxgpu.wgmma<n = {n}, k = {k}> %a{i}, %b{i} into %{old} : !{name}_a, !{name}_b, !{name}_sums -> !{name}_sums"""

WAIT = """\
          %{new} = mxgpu.mma_wait %{started} pending({pending}) : !{name}_sums
          mxgpu.consumer_release %stage{i} : !{name}_input"""

LOAD = """\
          %stage{i}, %a{i}, %b{i} = mxgpu.producer_acquire %in{i} : !{name}_in
          mxgpu.tma_load %a_map[%row, %k] into %a{i} for %stage{i} : !{name}_am, !{name}_a, !{name}_input
          mxgpu.tma_load %b_map[%column, %k] into %b{i} for %stage{i} : !{name}_bm, !{name}_b, !{name}_input
          mxgpu.producer_commit %stage{i} : !{name}_input"""

STORE = """\
        %x{i}_{row} = vector.extract_strided_slice %v#{row} {{offsets = [{first}], sizes = [2], strides = [1]}} : vector<{held}xf32> to vector<2xf32>
        %c{i}_{row} = arith.constant {column} : index
        %at{i}_{row} = arith.addi %at, %c{i}_{row} : index
        mxgpu.store_fragment %x{i}_{row}, %c[%r{row}, %at{i}_{row}] when(%has{row}) : vector<2xf32>, memref<?x?xf32>"""

# Two MMAs with separate accumulators.
OTHERS = """
  mxgpu.kernel @others(%a_map: !others_am, %b_map: !others_bm, %c: memref<?x?xf32>, %reduction: index) {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    %in0 = mxgpu.ring "in0" : !others_in
    %in1 = mxgpu.ring "in1" : !others_in
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !others_sums
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %reduction step 64 {
        %stage0, %a0, %b0 = mxgpu.consumer_wait %in0 : !others_in
        %s0 = mxgpu.mma #mxgpu.wgmma<n = 64, k = 16> %a0, %b0 into %zero : !others_a, !others_b, !others_sums -> !others_sums
        %stage1, %a1, %b1 = mxgpu.consumer_wait %in1 : !others_in
        %s1 = mxgpu.mma #mxgpu.wgmma<n = 64, k = 16> %a1, %b1 into %zero : !others_a, !others_b, !others_sums -> !others_sums
        %done0 = mxgpu.mma_wait %s0 pending(1) : !others_sums
        mxgpu.consumer_release %stage0 : !others_input
        %v:2 = mxgpu.to_rows %done0 : !others_sums -> vector<16xf32>, vector<16xf32>
        mxgpu.store_fragment %v#0, %c[%k, %c0] when(%yes) : vector<16xf32>, memref<?x?xf32>
        %done1 = mxgpu.mma_wait %s1 pending(0) : !others_sums
        mxgpu.consumer_release %stage1 : !others_input
        %w:2 = mxgpu.to_rows %done1 : !others_sums -> vector<16xf32>, vector<16xf32>
        mxgpu.store_fragment %w#0, %c[%c0, %k] when(%yes) : vector<16xf32>, memref<?x?xf32>
      }
    }
    mxgpu.role @load warps(1) elected {
      mxgpu.for_each_k (%k, %extent, %first) from %c0 to %reduction step 64 {
        %stage0, %a0, %b0 = mxgpu.producer_acquire %in0 : !others_in
        mxgpu.tma_load %a_map[%c0, %k] into %a0 for %stage0 : !others_am, !others_a, !others_input
        mxgpu.tma_load %b_map[%c0, %k] into %b0 for %stage0 : !others_bm, !others_b, !others_input
        mxgpu.producer_commit %stage0 : !others_input
        %stage1, %a1, %b1 = mxgpu.producer_acquire %in1 : !others_in
        mxgpu.tma_load %a_map[%k, %c0] into %a1 for %stage1 : !others_am, !others_a, !others_input
        mxgpu.tma_load %b_map[%k, %c0] into %b1 for %stage1 : !others_bm, !others_b, !others_input
        mxgpu.producer_commit %stage1 : !others_input
      }
    }
  }"""

PAIRS = [("bf16", "bf16"), ("f16", "f16")] + [
    (a, b) for a in ("f8E4M3FN", "f8E5M2") for b in ("f8E4M3FN", "f8E5M2")
]


def kernel(name, a, b, n, flights):
    """Returns the types and the kernel with `flights` MMAs per iteration, each with
    its own ring. Each stage is released when its MMA is complete."""
    k = 16 if a.endswith("16") else 32
    values = dict(name=name, a=a, b=b, n=n, k=k, step=4 * k, held=n // 4)
    values["runs"] = f", {n // 8}: 8 columns" if n > 8 else ""
    rings, multiply, waits, load = [], [], [], []
    for i in range(flights):
        rings.append(RING.format(i=i, **values))
        load.append(LOAD.format(i=i, **values))
        multiply.append(MULTIPLY.format(i=i, old=f"accumulator{i - 1}" if i else "old", **values))
        last = i + 1 == flights
        waits.append(
            WAIT.format(
                i=i,
                started=f"done{i - 1}" if i else f"accumulator{flights - 1}",
                new="new" if last else f"done{i}",
                pending=flights - 1 - i,
                **values,
            )
        )
    values["rings"] = "\n".join(rings)
    values["multiply"] = "\n".join(multiply + waits)
    values["load"] = "\n".join(load)
    values["stores"] = "\n".join(
        STORE.format(i=i, row=row, first=2 * i, column=8 * i, held=values["held"])
        for i in range(n // 8)
        for row in (0, 1)
    )
    return TYPES.format(**values), KERNEL.format(**values)


cases = [(f"{a}_{b}_{n}".lower(), a, b, n, 1) for a, b in PAIRS for n in (8, 64, 256)]
cases += [("two_in_flight", "bf16", "bf16", 128, 2), ("three_in_flight", "f16", "f16", 64, 3)]
types, kernels = zip(*(kernel(*case) for case in cases))
others, _ = kernel("others", "bf16", "bf16", 64, 2)
types, kernels = (*types, others), (*kernels, OTHERS)
print("\n".join(types))
print('gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">] {', end="")
print("\n".join(kernels))
print("}")
