// Decoder block with a mixture of experts, as another compiler would emit it: only with
// ops of linalg, tensor, arith, math and scf. The block computes
//
//   a = x + Wo attention(rotary(Wqkv norm(x)))
//   y = a + sum over a token's experts of prob * W2 (silu(W1gate n) * W1up n),
//       n = norm(a)
//
// for a sequence with any number of tokens T. The hidden size is 256. There are four
// query heads and two key-value heads, each of size 64, and eight experts of size 128,
// two for each token. Activations are bf16 and sums are f32. The weights are in MXFP8,
// with a scale for every 32 elements along the reduction. The projections multiply bf16
// activations by these weights. The experts' activations are quantized to MXFP8:
//
//   mx-opt --mx-import-scaled --mx-quantize-matmuls=recipe=mxfp8 --cse --canonicalize
//
// converts the projections and experts to matmuls of mx (docs/guide/MoE.md). The scores,
// the weighted sums of values and the router stay in bf16 because of mx.recipe = "none".

!tokens = tensor<?x256xbf16>
!sums = tensor<?x256xf32>
!norm = tensor<256xf32>
!angles = tensor<?x32xf32>
!qkv = tensor<?x512xbf16>
!heads = tensor<?x6x64xbf16>
!q = tensor<?x2x2x64xbf16>
!kv = tensor<?x2x64xbf16>
!scores = tensor<2x2x?x?xf32>
!probs = tensor<2x2x?x?xbf16>
!router = tensor<8x256xbf16>
!logits = tensor<?x8xf32>
!ranks = tensor<?x8xi32>
!choice = tensor<?x2xi32>
!gates = tensor<?x2xf32>
!rows = tensor<?xi32>
!row = tensor<?xf32>
!ends = tensor<8xi32>
!gu = tensor<?x256xbf16>
!h = tensor<?x128xbf16>
// Weights are N x K, and their scales N x K / 32. The experts' weights are stacked.
!wqkv = tensor<512x256xf8E4M3FN>
!wqkv_s = tensor<512x8xf8E8M0FNU>
!wo = tensor<256x256xf8E4M3FN>
!wo_s = tensor<256x8xf8E8M0FNU>
!w1 = tensor<8x256x256xf8E4M3FN>
!w1_s = tensor<8x256x8xf8E8M0FNU>
!w1_n = tensor<8x256x256xbf16>
!w2 = tensor<8x256x128xf8E4M3FN>
!w2_s = tensor<8x256x4xf8E8M0FNU>
!w2_n = tensor<8x256x128xbf16>

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#id4 = affine_map<(a, b, i, j) -> (a, b, i, j)>
// Maps of matmuls.
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nk_s = affine_map<(m, n, k) -> (n, k floordiv 32)>
#mn = affine_map<(m, n, k) -> (m, n)>
// Maps of stacked weights.
#w = affine_map<(e, n, k) -> (e, n, k)>
#w_s = affine_map<(e, n, k) -> (e, n, k floordiv 32)>
// Maps of heads, (token, head, element). Element d uses the angle d mod 32.
#thd = affine_map<(t, h, d) -> (t, h, d)>
#angle = affine_map<(t, h, d) -> (t, d mod 32)>
// Maps of attention. Query heads (h, g) share head h of the keys and values.
#s_q = affine_map<(h, g, i, j, d) -> (i, h, g, d)>
#s_k = affine_map<(h, g, i, j, d) -> (j, h, d)>
#s = affine_map<(h, g, i, j, d) -> (h, g, i, j)>
#c_p = affine_map<(i, h, g, d, j) -> (h, g, i, j)>
#c_v = affine_map<(i, h, g, d, j) -> (j, h, d)>
#c = affine_map<(i, h, g, d, j) -> (i, h, g, d)>
// Maps of the router: token t, experts e and f, choice c.
#te = affine_map<(t, e, f) -> (t, e)>
#tf = affine_map<(t, e, f) -> (t, f)>
#tc_e = affine_map<(t, c, e) -> (t, e)>
#tc = affine_map<(t, c, e) -> (t, c)>
#pair = affine_map<(t, c, s, d) -> (t, c)>
#other = affine_map<(t, c, s, d) -> (s, d)>
#end = affine_map<(e, s, d) -> (e)>
#end_pair = affine_map<(e, s, d) -> (s, d)>
// Maps of the sum over a token's experts: (token, column, choice).
#sum = affine_map<(t, i, c) -> (t, i)>
#sum_c = affine_map<(t, i, c) -> (t, c)>

/// Computes x / sqrt(mean(x^2) + eps) * weight in f32, rounded once.
func.func private @norm(%x: !tokens, %weight: !norm) -> !tokens {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c0 : !tokens
  %r0 = tensor.empty(%t) : !row
  %r1 = linalg.fill ins(%zero : f32) outs(%r0 : !row) -> !row
  %squares = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : !tokens) outs(%r1 : !row) {
  ^bb0(%a: bf16, %sum: f32):
    %f = arith.extf %a : bf16 to f32
    %square = arith.mulf %f, %f : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> !row
  %n0 = tensor.empty(%t) : !tokens
  %n = linalg.generic {indexing_maps = [#id, #row, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares, %weight : !tokens, !row, !norm) outs(%n0 : !tokens) {
  ^bb0(%a: bf16, %sum: f32, %w: f32, %out: bf16):
    %size = arith.constant 256.0 : f32
    %eps = arith.constant 1.0e-6 : f32
    %f = arith.extf %a : bf16 to f32
    %mean = arith.divf %sum, %size : f32
    %shifted = arith.addf %mean, %eps : f32
    %root = math.rsqrt %shifted : f32
    %scaled = arith.mulf %f, %root : f32
    %weighted = arith.mulf %scaled, %w : f32
    %y = arith.truncf %weighted : f32 to bf16
    linalg.yield %y : bf16
  } -> !tokens
  return %n : !tokens
}

func.func @block(%x: !tokens, %cos: !angles, %sin: !angles,
                 %attention_norm: !norm, %wqkv: !wqkv, %wqkv_s: !wqkv_s, %wo: !wo, %wo_s: !wo_s,
                 %expert_norm: !norm, %router: !router,
                 %w1: !w1, %w1_s: !w1_s, %w2: !w2, %w2_s: !w2_s) -> !tokens {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %none = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %x, %c0 : !tokens

  //===--- Attention ------------------------------------------------------===//

  %n1 = call @norm(%x, %attention_norm) : (!tokens, !norm) -> !tokens

  // Computes the queries, keys and values, norm(x) Wqkv^T, with MXFP8 weights.
  %qkv0 = tensor.empty(%t) : tensor<?x512xf32>
  %qkv1 = linalg.fill ins(%zero : f32) outs(%qkv0 : tensor<?x512xf32>) -> tensor<?x512xf32>
  %qkv_sums = linalg.generic {indexing_maps = [#mk, #nk, #nk_s, #mn],
                              iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%n1, %wqkv, %wqkv_s : !tokens, !wqkv, !wqkv_s) outs(%qkv1 : tensor<?x512xf32>) {
  ^bb0(%a: bf16, %e: f8E4M3FN, %s: f8E8M0FNU, %sum: f32):
    %af = arith.extf %a : bf16 to f32
    %w = arith.scaling_extf %e, %s : f8E4M3FN, f8E8M0FNU to f32
    %product = arith.mulf %af, %w : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<?x512xf32>
  %qkv = arith.truncf %qkv_sums : tensor<?x512xf32> to !qkv

  // Applies the rotary embedding to queries and keys. Elements d and d + 32 of a head
  // are rotated by the angle for the token and d.
  %qk = tensor.extract_slice %qkv[0, 0] [%t, 384] [1, 1] : !qkv to tensor<?x384xbf16>
  %heads = tensor.expand_shape %qk [[0], [1, 2]] output_shape [%t, 6, 64] : tensor<?x384xbf16> into !heads
  %turned0 = tensor.empty(%t) : !heads
  %turned = linalg.generic {indexing_maps = [#thd, #angle, #angle, #thd],
                            iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%heads, %cos, %sin : !heads, !angles, !angles) outs(%turned0 : !heads) {
  ^bb0(%a: bf16, %co: f32, %si: f32, %out: bf16):
    %half = arith.constant 32 : index
    %token = linalg.index 0 : index
    %head = linalg.index 1 : index
    %d = linalg.index 2 : index
    %first = arith.cmpi ult, %d, %half : index
    %above = arith.addi %d, %half : index
    %below = arith.subi %d, %half : index
    %other = arith.select %first, %above, %below : index
    %b = tensor.extract %heads[%token, %head, %other] : !heads
    %af = arith.extf %a : bf16 to f32
    %bf = arith.extf %b : bf16 to f32
    %minus = arith.negf %si : f32
    %signed = arith.select %first, %minus, %si : f32
    %0 = arith.mulf %af, %co : f32
    %1 = arith.mulf %bf, %signed : f32
    %2 = arith.addf %0, %1 : f32
    %y = arith.truncf %2 : f32 to bf16
    linalg.yield %y : bf16
  } -> !heads
  %q_heads = tensor.extract_slice %turned[0, 0, 0] [%t, 4, 64] [1, 1, 1] : !heads to tensor<?x4x64xbf16>
  %q = tensor.expand_shape %q_heads [[0], [1, 2], [3]] output_shape [%t, 2, 2, 64] : tensor<?x4x64xbf16> into !q
  %k = tensor.extract_slice %turned[0, 4, 0] [%t, 2, 64] [1, 1, 1] : !heads to !kv
  %v_columns = tensor.extract_slice %qkv[0, 384] [%t, 128] [1, 1] : !qkv to tensor<?x128xbf16>
  %v = tensor.expand_shape %v_columns [[0], [1, 2]] output_shape [%t, 2, 64] : tensor<?x128xbf16> into !kv

  // Computes the score of each pair of tokens i and j.
  %s0 = tensor.empty(%t, %t) : !scores
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : !scores) -> !scores
  %scores = linalg.generic {indexing_maps = [#s_q, #s_k, #s], mx.recipe = "none",
                            iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !q, !kv) outs(%s1 : !scores) {
  ^bb0(%a: bf16, %b: bf16, %sum: f32):
    %af = arith.extf %a : bf16 to f32
    %bf = arith.extf %b : bf16 to f32
    %product = arith.mulf %af, %bf : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> !scores

  // Scales the scores by 1 / sqrt(64) and masks the tokens after i.
  %masked = linalg.generic {indexing_maps = [#id4, #id4],
                            iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%scores : !scores) outs(%s0 : !scores) {
  ^bb0(%score: f32, %out: f32):
    %eighth = arith.constant 0.125 : f32
    %never = arith.constant 0xFF800000 : f32
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %scaled = arith.mulf %score, %eighth : f32
    %seen = arith.cmpi ule, %j, %i : index
    %y = arith.select %seen, %scaled, %never : f32
    linalg.yield %y : f32
  } -> !scores
  %soft = linalg.softmax dimension(3) ins(%masked : !scores) outs(%s0 : !scores) -> !scores
  %probs = arith.truncf %soft : !scores to !probs

  // Computes the weighted sums of values and concatenates the heads of each token.
  %context0 = tensor.empty(%t) : tensor<?x2x2x64xf32>
  %context1 = linalg.fill ins(%zero : f32) outs(%context0 : tensor<?x2x2x64xf32>) -> tensor<?x2x2x64xf32>
  %context_sums = linalg.generic {indexing_maps = [#c_p, #c_v, #c], mx.recipe = "none",
                                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%probs, %v : !probs, !kv) outs(%context1 : tensor<?x2x2x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %sum: f32):
    %af = arith.extf %a : bf16 to f32
    %bf = arith.extf %b : bf16 to f32
    %product = arith.mulf %af, %bf : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<?x2x2x64xf32>
  %context_heads = arith.truncf %context_sums : tensor<?x2x2x64xf32> to !q
  %context = tensor.collapse_shape %context_heads [[0], [1, 2, 3]] : !q into !tokens

  // Adds the output projection to x.
  %o0 = tensor.empty(%t) : !sums
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : !sums) -> !sums
  %o = linalg.generic {indexing_maps = [#mk, #nk, #nk_s, #mn],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%context, %wo, %wo_s : !tokens, !wo, !wo_s) outs(%o1 : !sums) {
  ^bb0(%a: bf16, %e: f8E4M3FN, %s: f8E8M0FNU, %sum: f32):
    %af = arith.extf %a : bf16 to f32
    %w = arith.scaling_extf %e, %s : f8E4M3FN, f8E8M0FNU to f32
    %product = arith.mulf %af, %w : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> !sums
  %a0 = tensor.empty(%t) : !tokens
  %a = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%o, %x : !sums, !tokens) outs(%a0 : !tokens) {
  ^bb0(%sum: f32, %old: bf16, %out: bf16):
    %f = arith.extf %old : bf16 to f32
    %added = arith.addf %f, %sum : f32
    %y = arith.truncf %added : f32 to bf16
    linalg.yield %y : bf16
  } -> !tokens

  //===--- Router ---------------------------------------------------------===//

  %n2 = call @norm(%a, %expert_norm) : (!tokens, !norm) -> !tokens
  %logits0 = tensor.empty(%t) : !logits
  %logits1 = linalg.fill ins(%zero : f32) outs(%logits0 : !logits) -> !logits
  %logits = linalg.matmul indexing_maps = [#mk, #nk, #mn] {mx.recipe = "none"}
      ins(%n2, %router : !tokens, !router) outs(%logits1 : !logits) -> !logits
  %weights = linalg.softmax dimension(1) ins(%logits : !logits) outs(%logits0 : !logits) -> !logits

  // The rank of an expert is the number of experts with a larger weight, or with an
  // equal weight and a lower index. If all weights are NaN, no expert has rank 0.
  %ranks0 = tensor.empty(%t) : !ranks
  %ranks1 = linalg.fill ins(%none : i32) outs(%ranks0 : !ranks) -> !ranks
  %ranks = linalg.generic {indexing_maps = [#te, #tf, #te],
                           iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%weights, %weights : !logits, !logits) outs(%ranks1 : !ranks) {
  ^bb0(%own: f32, %other: f32, %count: i32):
    %e = linalg.index 1 : index
    %f = linalg.index 2 : index
    %more = arith.cmpf ugt, %other, %own : f32
    %same = arith.cmpf oeq, %other, %own : f32
    %lower = arith.cmpi ult, %f, %e : index
    %tie = arith.andi %same, %lower : i1
    %before = arith.ori %more, %tie : i1
    %one = arith.extui %before : i1 to i32
    %next = arith.addi %count, %one : i32
    linalg.yield %next : i32
  } -> !ranks

  // Selects the experts of rank 0 and 1, and scales their weights to a sum of 1.
  %choice0 = tensor.empty(%t) : !choice
  %choice1 = linalg.fill ins(%none : i32) outs(%choice0 : !choice) -> !choice
  %chosen0 = tensor.empty(%t) : !gates
  %chosen1 = linalg.fill ins(%zero : f32) outs(%chosen0 : !gates) -> !gates
  %choice, %chosen = linalg.generic {indexing_maps = [#tc_e, #tc_e, #tc, #tc],
                                     iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%ranks, %weights : !ranks, !logits) outs(%choice1, %chosen1 : !choice, !gates) {
  ^bb0(%rank: i32, %weight: f32, %expert: i32, %old: f32):
    %c = linalg.index 1 : index
    %e = linalg.index 2 : index
    %ci = arith.index_cast %c : index to i32
    %ei = arith.index_cast %e : index to i32
    %is = arith.cmpi eq, %rank, %ci : i32
    %next = arith.select %is, %ei, %expert : i32
    %value = arith.select %is, %weight, %old : f32
    linalg.yield %next, %value : i32, f32
  } -> (!choice, !gates)
  %total0 = tensor.empty(%t) : !row
  %total1 = linalg.fill ins(%zero : f32) outs(%total0 : !row) -> !row
  %total = linalg.reduce { arith.addf } ins(%chosen : !gates) outs(%total1 : !row) dimensions = [1]
  %gates = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%chosen, %total : !gates, !row) outs(%chosen0 : !gates) {
  ^bb0(%value: f32, %sum: f32, %out: f32):
    %y = arith.divf %value, %sum : f32
    linalg.yield %y : f32
  } -> !gates

  // Each pair of a token and an expert is a row, and rows are sorted by expert.
  // places[t, c] is the row of choice c of token t, ends[e] is the end of the rows of
  // expert e, and tokens[p] is the token of row p.
  %places1 = linalg.fill ins(%none : i32) outs(%choice0 : !choice) -> !choice
  %places = linalg.generic {indexing_maps = [#pair, #other, #pair],
                            iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%choice, %choice : !choice, !choice) outs(%places1 : !choice) {
  ^bb0(%own: i32, %other: i32, %count: i32):
    %ti = linalg.index 0 : index
    %ci = linalg.index 1 : index
    %si = linalg.index 2 : index
    %di = linalg.index 3 : index
    %t2 = arith.muli %ti, %c2 : index
    %s2 = arith.muli %si, %c2 : index
    %pair = arith.addi %t2, %ci : index
    %before_it = arith.addi %s2, %di : index
    %less = arith.cmpi ult, %other, %own : i32
    %same = arith.cmpi eq, %other, %own : i32
    %earlier = arith.cmpi ult, %before_it, %pair : index
    %tie = arith.andi %same, %earlier : i1
    %before = arith.ori %less, %tie : i1
    %one = arith.extui %before : i1 to i32
    %next = arith.addi %count, %one : i32
    linalg.yield %next : i32
  } -> !choice
  %ends0 = tensor.empty() : !ends
  %ends1 = linalg.fill ins(%none : i32) outs(%ends0 : !ends) -> !ends
  %ends = linalg.generic {indexing_maps = [#end_pair, #end],
                          iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%choice : !choice) outs(%ends1 : !ends) {
  ^bb0(%expert: i32, %count: i32):
    %e = linalg.index 0 : index
    %ei = arith.index_cast %e : index to i32
    %is = arith.cmpi ule, %expert, %ei : i32
    %one = arith.extui %is : i1 to i32
    %next = arith.addi %count, %one : i32
    linalg.yield %next : i32
  } -> !ends
  %p = arith.muli %t, %c2 : index
  %rows0 = tensor.empty(%p) : !rows
  %rows1 = linalg.fill ins(%none : i32) outs(%rows0 : !rows) -> !rows
  %tokens = linalg.generic {indexing_maps = [affine_map<(p, t, c) -> (t, c)>, affine_map<(p, t, c) -> (p)>],
                            iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%places : !choice) outs(%rows1 : !rows) {
  ^bb0(%place: i32, %token: i32):
    %pi = linalg.index 0 : index
    %ti = linalg.index 1 : index
    %row = arith.index_cast %pi : index to i32
    %own = arith.index_cast %ti : index to i32
    %is = arith.cmpi eq, %place, %row : i32
    %next = arith.select %is, %own, %token : i32
    linalg.yield %next : i32
  } -> !rows

  //===--- Experts --------------------------------------------------------===//

  %xp0 = tensor.empty(%p) : !tokens
  %xp = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : !rows) outs(%xp0 : !tokens) {
  ^bb0(%token: i32, %out: bf16):
    %t0 = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %n2[%t0, %column] : !tokens
    linalg.yield %element : bf16
  } -> !tokens
  %w1_0 = tensor.empty() : !w1_n
  %w1_n = linalg.generic {indexing_maps = [#w, #w_s, #w], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w1, %w1_s : !w1, !w1_s) outs(%w1_0 : !w1_n) {
  ^bb0(%e: f8E4M3FN, %s: f8E8M0FNU, %out: bf16):
    %y = arith.scaling_extf %e, %s : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %y : bf16
  } -> !w1_n
  %w2_0 = tensor.empty() : !w2_n
  %w2_n = linalg.generic {indexing_maps = [#w, #w_s, #w], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w2, %w2_s : !w2, !w2_s) outs(%w2_0 : !w2_n) {
  ^bb0(%e: f8E4M3FN, %s: f8E8M0FNU, %out: bf16):
    %y = arith.scaling_extf %e, %s : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %y : bf16
  } -> !w2_n

  // Computes gate and up for each expert's rows.
  %gu0 = tensor.empty(%p) : !gu
  %gu, %gu_end = scf.for %e = %c0 to %c8 step %c1 iter_args(%out = %gu0, %start = %c0) -> (!gu, index) {
    %ei = tensor.extract %ends[%e] : !ends
    %end = arith.index_cast %ei : i32 to index
    %n = arith.subi %end, %start : index
    %rows = tensor.extract_slice %xp[%start, 0] [%n, 256] [1, 1] : !tokens to !tokens
    %matrix = tensor.extract_slice %w1_n[%e, 0, 0] [1, 256, 256] [1, 1, 1] : !w1_n to tensor<256x256xbf16>
    %empty = tensor.empty(%n) : !sums
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : !sums) -> !sums
    %matmul = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%rows, %matrix : !tokens, tensor<256x256xbf16>) outs(%zeros : !sums) -> !sums
    %narrow = arith.truncf %matmul : !sums to !gu
    %next = tensor.insert_slice %narrow into %out[%start, 0] [%n, 256] [1, 1] : !gu into !gu
    scf.yield %next, %end : !gu, index
  }

  // Computes silu(gate) * up in f32 and rounds once.
  %gate = tensor.extract_slice %gu[0, 0] [%p, 128] [1, 1] : !gu to !h
  %up = tensor.extract_slice %gu[0, 128] [%p, 128] [1, 1] : !gu to !h
  %h0 = tensor.empty(%p) : !h
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : !h, !h) outs(%h0 : !h) {
  ^bb0(%g: bf16, %u: bf16, %out: bf16):
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %g : bf16 to f32
    %uf = arith.extf %u : bf16 to f32
    %minus = arith.negf %gf : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf %gf, %d : f32
    %product = arith.mulf %silu, %uf : f32
    %y = arith.truncf %product : f32 to bf16
    linalg.yield %y : bf16
  } -> !h

  %z0 = tensor.empty(%p) : !sums
  %z, %z_end = scf.for %e = %c0 to %c8 step %c1 iter_args(%out = %z0, %start = %c0) -> (!sums, index) {
    %ei = tensor.extract %ends[%e] : !ends
    %end = arith.index_cast %ei : i32 to index
    %n = arith.subi %end, %start : index
    %rows = tensor.extract_slice %h[%start, 0] [%n, 128] [1, 1] : !h to !h
    %matrix = tensor.extract_slice %w2_n[%e, 0, 0] [1, 256, 128] [1, 1, 1] : !w2_n to tensor<256x128xbf16>
    %empty = tensor.empty(%n) : !sums
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : !sums) -> !sums
    %matmul = linalg.matmul indexing_maps = [#mk, #nk, #mn]
        ins(%rows, %matrix : !h, tensor<256x128xbf16>) outs(%zeros : !sums) -> !sums
    %next = tensor.insert_slice %matmul into %out[%start, 0] [%n, 256] [1, 1] : !sums into !sums
    scf.yield %next, %end : !sums, index
  }

  // Sums the rows of each token, weighted by probability, and adds the sum to a.
  %m0 = tensor.empty(%t) : !sums
  %m1 = linalg.fill ins(%zero : f32) outs(%m0 : !sums) -> !sums
  %mixed = linalg.generic {indexing_maps = [#sum_c, #sum_c, #sum],
                           iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%places, %gates : !choice, !gates) outs(%m1 : !sums) {
  ^bb0(%place: i32, %prob: f32, %sum: f32):
    %row = arith.index_cast %place : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %z[%row, %column] : !sums
    %weighted = arith.mulf %element, %prob : f32
    %next = arith.addf %sum, %weighted : f32
    linalg.yield %next : f32
  } -> !sums
  %y0 = tensor.empty(%t) : !tokens
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %mixed : !tokens, !sums) outs(%y0 : !tokens) {
  ^bb0(%old: bf16, %sum: f32, %out: bf16):
    %f = arith.extf %old : bf16 to f32
    %added = arith.addf %f, %sum : f32
    %r = arith.truncf %added : f32 to bf16
    linalg.yield %r : bf16
  } -> !tokens
  return %y : !tokens
}
