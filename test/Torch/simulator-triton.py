"""Kernels of Triton on the simulator, with the features of Triton's tutorials on matmul, fused attention, persistent
matmul and block-scaled matmul. Results are compared with PyTorch in float64.

RUN: rm -rf %t && env TRITON_CACHE_DIR=%t %python_torch %s sm_90
RUN: env TRITON_CACHE_DIR=%t %python_torch %s sm_100
REQUIRES: torch, triton
"""

import sys
import warnings

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

import mx_compiler.sim.triton
from mx_compiler import SimulatorWarning, sim

CHIP = sys.argv[1]
LOG2E = tl.constexpr(1.4426950408889634)
torch.manual_seed(0)


@triton.autotune([triton.Config({"BM": 128, "BN": 128, "BK": 512}, num_stages=2, num_warps=8),  # too much shared memory
                  triton.Config({"BM": 64, "BN": 64, "BK": 64}, num_stages=3, num_warps=4),
                  triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_stages=2, num_warps=8)], key=["M", "N", "K"])
@triton.jit
def matmul(a, b, c, M, N, K, am, ak, bk, bn, cm, cn, slope, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile_m, tile_n = tl.swizzle2d(tl.program_id(0), tl.program_id(1), tl.cdiv(M, BM), tl.cdiv(N, BN), 2)
    m, n, k = tile_m * BM + tl.arange(0, BM), tile_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    a += (m % M)[:, None] * am + k[None] * ak
    b += k[:, None] * bk + (n % N)[None] * bn
    sum = tl.zeros((BM, BN), tl.float32)
    for begin in range(0, K, BK):
        sum = tl.dot(tl.load(a, k[None] < K - begin, 0.0), tl.load(b, k[:, None] < K - begin, 0.0), sum)
        a += BK * ak
        b += BK * bk
    sum = tl.where(sum >= 0, sum, slope * sum)
    tl.store(c + m[:, None] * cm + n[None] * cn, sum.to(tl.float16), mask=(m[:, None] < M) & (n[None] < N))


@triton.jit
def attention(q, k, v, o, N, scale, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    begin, row = tl.program_id(0) * BM, tl.program_id(1) * N
    rows = begin + tl.arange(0, BM)
    left = q.load([row + begin, 0])
    highest = tl.zeros([BM], tl.float32) - float("inf")
    total = tl.zeros([BM], tl.float32)
    sum = tl.zeros([BM, HEAD], tl.float32)
    for n in tl.range(0, begin + BM if CAUSAL else N, BN):
        s = tl.dot(left, k.load([row + n, 0]).T) * scale * LOG2E
        if CAUSAL:
            s = tl.where(rows[:, None] >= n + tl.arange(0, BN)[None], s, -1.0e6)
        new = tl.maximum(highest, tl.max(s, 1))
        p, alpha = tl.math.exp2(s - new[:, None]), tl.math.exp2(highest - new)
        total = total * alpha + tl.sum(p, 1)
        sum = tl.dot(p.to(tl.float16), v.load([row + n, 0]), sum * alpha[:, None])
        highest = new
    o.store([row + begin, 0], (sum / total[:, None]).to(tl.float16))


@triton.jit
def persistent(a, b, c, M, N, K, ON_DEVICE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
               SMS: tl.constexpr):
    if ON_DEVICE:
        a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        b = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
        c = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    columns = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * columns, SMS, flatten=True):
        m, n = tile // columns * BM, tile % columns * BN
        sum = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            sum = tl.dot(a.load([m, k]), b.load([n, k]).T, sum)
        c.store([m, n], sum.to(tl.float16))


@triton.jit
def scaled(a, sa, b, sb, c, M, K, A: tl.constexpr, B: tl.constexpr, PER_A: tl.constexpr, PER_B: tl.constexpr,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, VEC: tl.constexpr):
    m, n = tl.program_id(0) % tl.cdiv(M, BM), tl.program_id(0) // tl.cdiv(M, BM)
    GROUPS: tl.constexpr = BK // VEC // 4
    sum = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=2):
        left, right = a.load([m * BM, k * (BK // PER_A)]), b.load([n * BN, k * (BK // PER_B)])
        of_a = sa.load([0, m * (BM // 128), k * GROUPS, 0, 0]).reshape(BM // 128, GROUPS, 32, 4, 4)
        of_b = sb.load([0, n * (BN // 128), k * GROUPS, 0, 0]).reshape(BN // 128, GROUPS, 32, 4, 4)
        sum = tl.dot_scaled(left, of_a.trans(0, 3, 2, 1, 4).reshape(BM, BK // VEC), A,
                            right.T, of_b.trans(0, 3, 2, 1, 4).reshape(BN, BK // VEC), B, sum)
    c.store([m * BM, n * BN], sum.to(tl.float16))


@triton.jit
def convert(x, y, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * scale, mask=i < n)  # the load has no mask


@triton.jit
def double(x, shift, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + shift + i))


def half(*shape):
    return torch.randn(shape, dtype=torch.float16)


def compare(name, found, wanted, bound=1e-3):
    assert (worst := (found - wanted).abs().max() / wanted.abs().max()) < bound, (name, worst)


def test_matmul():
    M, N, K = 200, 136, 104
    a, b, c = half(M, K), half(N, K).T, half(N, M).T  # strides in any order
    matmul[lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), 0.25)
    compare("matmul", c, torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.25))


def test_attention(causal):
    heads, N, D, BM, BN = 2, 256, 64, 128, 64
    q, k, v, o = (half(heads, N, D) for _ in range(4))
    maps = (TensorDescriptor(t, [heads * N, D], [D, 1], [rows, D]) for t, rows in ((q, BM), (k, BN), (v, BN), (o, BM)))
    attention[N // BM, heads](*maps, N, 0.5, HEAD=D, BM=BM, BN=BN, CAUSAL=causal, num_warps=8, num_stages=2)
    s = q.double() @ k.double().transpose(1, 2) * 0.5
    if causal:
        s = s.masked_fill(~torch.ones(N, N, dtype=torch.bool).tril(), -torch.inf)
    compare(f"attention, causal={causal}", o, torch.softmax(s, -1) @ v.double())


def test_persistent(on_device):
    M, N, K, blocks = 256, 192, 128, (128, 64, 64)
    a, b, c = half(M, K), half(N, K), half(M, N)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    operands = (a, b, c) if on_device else (
        TensorDescriptor.from_tensor(t, [blocks[x], blocks[y]]) for t, x, y in ((a, 0, 2), (b, 1, 2), (c, 0, 1)))
    persistent[4,](*operands, M, N, K, on_device, *blocks, SMS=4, num_stages=3)
    compare(f"persistent, descriptors on device={on_device}", c, a.double() @ b.double().T)


def operand(rows, K, kind):
    """Returns random elements, packed if 4-bit, and their values."""
    if kind == "e4m3":
        return (x := torch.randn(rows, K).to(torch.float8_e4m3fn)), x.double()
    codes, values = torch.randint(16, (rows, K), dtype=torch.uint8), torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6.0]).double()
    return codes[:, ::2] | codes[:, 1::2] << 4, torch.cat([values, -values])[codes.long()]


def scales(rows, K, vec):
    """Returns random scales, in the layout of blocks of 128 rows, and their values for each element."""
    dtype = torch.float8_e4m3fn if vec == 16 else torch.float8_e8m0fnu
    numbers = torch.exp2(torch.randint(-2, 3, (rows, K // vec))).to(dtype)
    bits = numbers.view(torch.uint8).reshape(rows // 128, 4, 32, K // vec // 4, 4).permute(0, 3, 2, 1, 4)
    blocks = bits.reshape(1, rows // 128, K // vec // 4, 2, 256)
    return blocks.view(dtype) if vec == 16 else blocks, numbers.double().repeat_interleave(vec, 1)


def test_scaled(a, b, vec):
    M, N, K, BM, BN, BK = 256, 256, 512, 128, 256, 256 if a == "e2m1" else 128
    per = {"e4m3": 1, "e2m1": 2}
    (left, exact_a), (right, exact_b) = operand(M, K, a), operand(N, K, b)
    (sa, of_a), (sb, of_b) = scales(M, K, vec), scales(N, K, vec)
    c, block = half(M, N), (BK // vec // 4, 2, 256)
    kernel = scaled[M // BM * (N // BN),](*(TensorDescriptor.from_tensor(t, shape) for t, shape in (
        (left, [BM, BK // per[a]]), (sa, [1, BM // 128, *block]), (right, [BN, BK // per[b]]),
        (sb, [1, BN // 128, *block]), (c, [BM, BN]))), M, K, a, b, per[a], per[b], BM, BN, BK, vec)
    assert "tcgen05.mma" in kernel.asm["ptx"] and "block_scale" in kernel.asm["ptx"]
    compare(f"{a} x {b}, scales of {vec}", c, (exact_a * of_a) @ (exact_b * of_b).T)


def test_findings():
    x, y = torch.randn(1024), torch.zeros(1000, dtype=torch.bfloat16)
    try:
        convert[4,](x[:1000], y, 1000, 2.0, BLOCK=256)
    except sim.FindingsError as error:
        assert "of buffer 'x' of 4000 bytes" in str(error) and __file__ in str(error), error
    else:
        raise AssertionError
    with sim.collect() as reports:
        convert[0,](x, y, 0, 1.0, BLOCK=256)
        compiled = convert[4,](x, y, 1000, 2.0, BLOCK=256)
    assert len(reports) == 1 and compiled.metadata.target.arch == int(CHIP[3:])
    compare("convert", y, x[:1000].double() * 2, 5e-3)


def test_in_place():
    x = torch.ones(160)
    with warnings.catch_warnings(record=True) as caught:  # four warps load 32 elements, one stores them
        warnings.simplefilter("always")
        double[1,](x, 0, BLOCK=32)
    assert "race: warning: " in str(caught[0].message) and torch.equal(x[:33], torch.tensor([2.0] * 32 + [1]))
    try:
        double[1,](x, 32, BLOCK=128)
    except sim.FindingsError as error:
        assert "race: the " in str(error), error
    else:
        raise AssertionError


warnings.simplefilter("ignore", SimulatorWarning)  # Triton emits no tcgen05 fences
with mx_compiler.sim.triton.install(chip=CHIP):
    test_findings()
    test_in_place()
    test_matmul()
    assert matmul.best_config.kwargs["BK"] == 64
    for flag in False, True:
        test_attention(causal=flag)
        test_persistent(on_device=flag)
    if CHIP == "sm_100":
        for formats in ("e4m3", "e4m3", 32), ("e2m1", "e2m1", 32), ("e4m3", "e2m1", 32), ("e2m1", "e2m1", 16):
            test_scaled(*formats)
assert triton.runtime.driver._active is None
