// Script of the timeline page. Code before `start` does not use the document,
// so it can be tested without a browser.
'use strict';

// Indices of the fields of a span.
const BEGIN = 0, END = 1, KIND = 2, ROW = 3, LINE = 4, LAST = 5, TEXT = 6,
      ISSUED = 7, ISSUER = 8, BYTES = 9;

const KINDS = {
  'run': ['running', '#4f83c4', '#4a7ab5'],
  'wait-mbarrier': ['waits for an mbarrier', '#f3cf8e', '#7a5f2a'],
  'wait-barrier': ['waits at a barrier', '#d6c3ee', '#594a75'],
  'wait-cluster': ['waits for the cluster', '#efc0d6', '#73455b'],
  'wait-group': ['waits for copies', '#e4d5b8', '#665a41'],
  'wait-others': ['waits for lanes or warps', '#d5dae1', '#3d4655'],
  'exited': ['has ended', '#eef0f3', '#1f2631'],
  'load': ['load', '#2f9e93', '#2f8f86'],
  'store': ['store', '#9467bd', '#8a62b0'],
  'mma': ['mma', '#3a9d4b', '#3c9350'],
  'tensor-copy': ['copy to tensor memory', '#a3a632', '#8b8e34'],
  'commit': ['commit', '#8d96a5', '#6c7686'],
  'control': ['launch control', '#a8704a', '#96664a'],
  'phase': ['phase of an mbarrier', '#7ba7dd', '#3f5f88'],
  'open-phase': ['phase that has not completed', '#e88b80', '#9b4038'],
  'filling': ['being filled', '#8fd0c8', '#2a655f'],
  'full': ['full', '#f0b429', '#a87d1b'],
  'reading': ['being read', '#5cb86b', '#37804a'],
};
const HEADINGS = {warp: 'warps', engine: 'asynchronous engines',
                  barrier: 'mbarriers', slot: 'shared memory of copies'};
const HEAD = 20, RULER = 24;
// Steps shown on either side of the finding at which a page opens.
const kNear = 300;

// Range of span indices for each row of a track.
function indexRows(track) {
  const rows = [];
  for (let k = 0; k < track.spans.length; ++k) {
    const row = track.spans[k][ROW];
    while (rows.length <= row) rows.push([k, k]);
    rows[row][1] = k + 1;
  }
  return rows;
}

// Finds the first span of a range that ends after `step`.
function firstAfter(spans, range, step) {
  let low = range[0], high = range[1];
  while (low < high) {
    const mid = (low + high) >> 1;
    if (spans[mid][END] > step) high = mid;
    else low = mid + 1;
  }
  return low;
}

// Calls draw(from, to, span, isMany) for the visible spans between two steps.
// Spans narrower than a pixel are merged, so the work depends on pixels, not on
// spans.
function visible(spans, range, from, to, stepsPerPixel, draw) {
  let k = firstAfter(spans, range, from);
  while (k < range[1] && spans[k][BEGIN] < to) {
    const s = spans[k];
    if (s[END] - s[BEGIN] >= stepsPerPixel) {
      draw(s[BEGIN], s[END], s, false);
      ++k;
      continue;
    }
    const limit = s[BEGIN] + stepsPerPixel;
    const next = firstAfter(spans, [k + 1, range[1]], limit);
    draw(s[BEGIN], limit, s, next > k + 1);
    k = next;
  }
}

function rowHeight(track, row) {
  if (track.kind === 'warp') return row ? 7 : 16;
  return track.rows > 1 ? 7 : 13;
}
function trackHeight(track) {
  let h = 4;
  for (let r = 0; r < Math.max(1, track.rows); ++r) h += rowHeight(track, r);
  return Math.max(h, 15);
}

// Vertical layout of headings and tracks.
function layOut(launch, folded) {
  const items = [];
  let y = 0;
  const add = (item, height) => {
    item.y = y;
    item.h = height;
    y += height;
    items.push(item);
  };
  launch.ctas.forEach((cta, c) => {
    const name = 'CTA (' + cta.id.join(', ') + ')' +
                 (cta.rank || launch.ctas.some(o => o.cluster === cta.cluster && o.rank)
                      ? ', rank ' + cta.rank + ' of cluster ' + cta.cluster : '');
    add({type: 'cta', key: 'c' + c, name}, HEAD + 4);
    if (folded.has('c' + c)) return;
    let kind = '';
    launch.tracks.forEach((track, t) => {
      if (track.cta !== c) return;
      const key = 'c' + c + track.kind;
      if (track.kind !== kind) {
        kind = track.kind;
        add({type: 'heading', key, name: HEADINGS[kind]}, HEAD);
      }
      if (folded.has(key)) return;
      add({type: 'track', track, index: t}, trackHeight(track));
    });
  });
  return {items, height: y};
}

// Returns a predicate for a search, with cached results by string, kind and
// track.
function matcher(launch, kinds, query) {
  const q = query.trim().toLowerCase();
  if (!q) return null;
  const line = /^(?:line)?:?\s*(\d+)$/.exec(q);
  const has = text => text.toLowerCase().includes(q);
  const strings = launch.strings.map(has);
  const names = kinds.map(k => has(k) || has(KINDS[k][0]));
  const tracks = launch.tracks.map(t => has(t.name));
  const number = line ? Number(line[1]) : 0;
  return (s, t) => number ? s[LINE] <= number && number <= s[LAST]
                          : strings[s[TEXT]] || names[s[KIND]] || tracks[t];
}

// Returns a round number of steps per tick, at least 90 pixels apart.
function tickStep(stepsPerPixel) {
  const least = stepsPerPixel * 90;
  let step = 1;
  for (;;) {
    for (const m of [1, 2, 5])
      if (step * m >= least) return step * m;
    step *= 10;
  }
}

function group(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ' '); }

// Rows of name and value that describe a span.
function describe(data, launch, t, s) {
  const track = launch.tracks[t], cta = launch.ctas[track.cta];
  const kind = KINDS[data.kinds[s[KIND]]][0];
  const rows = [['what', launch.strings[s[TEXT]] || kind],
                ['state', kind],
                ['where', 'CTA (' + cta.id.join(', ') + '), ' + track.name],
                ['steps', group(s[BEGIN]) + ' to ' + group(s[END]) + ' (' +
                          group(s[END] - s[BEGIN]) + ')']];
  if (s[ISSUED] >= 0) {
    let text = 'step ' + group(s[ISSUED]);
    if (s[ISSUER] >= 0) text += ' by ' + launch.tracks[s[ISSUER]].name;
    rows.push(['issued', text]);
  }
  if (s[BYTES]) rows.push(['bytes', group(s[BYTES])]);
  if (s[LINE]) {
    rows.push(['PTX line', s[LAST] !== s[LINE] ? s[LINE] + ' to ' + s[LAST]
                                               : String(s[LINE])]);
    const source = launch.sourceOf.get(s[LINE]);
    if (source) rows.push(['source', launch.strings[source[1]] + ':' + source[2]]);
  }
  return rows;
}

function prepare(data) {
  for (const launch of data.launches) {
    launch.sourceOf = new Map(launch.sources.map(s => [s[0], s]));
    launch.marksOf = new Map();
    launch.marks.forEach((m, k) => {
      if (!launch.marksOf.has(m[0])) launch.marksOf.set(m[0], []);
      launch.marksOf.get(m[0]).push(k);
    });
    for (const track of launch.tracks) track.index = indexRows(track);
  }
  return data;
}

function start() {
  const $ = id => document.getElementById(id);
  const data = prepare(JSON.parse($('data').textContent));
  const canvas = $('canvas'), ctx = canvas.getContext('2d');
  const state = {launch: null, from: 0, to: 1, scroll: 0, folded: new Set(),
                 layout: null, selected: null, hover: null, match: null,
                 query: '', gutter: 0, width: 0, height: 0, cursor: -1, drag: null,
                 shownModule: -1, shownFile: '', finding: -1, isQueued: false};

  const isDark = () => document.documentElement.dataset.theme === 'dark';
  const color = kind => KINDS[data.kinds[kind]][isDark() ? 2 : 1];
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const chartWidth = () => Math.max(10, state.width - state.gutter);
  const perPixel = () => (state.to - state.from) / chartWidth();
  const xOf = step => state.gutter + (step - state.from) / perPixel();
  const stepAt = x => state.from + (x - state.gutter) * perPixel();

  function queue() {
    if (state.isQueued) return;
    state.isQueued = true;
    requestAnimationFrame(() => { state.isQueued = false; draw(); });
  }

  function setRange(from, to) {
    const end = Math.max(1, state.launch.steps), least = 10;
    let size = Math.min(Math.max(to - from, least), end * 1.02);
    from = Math.min(Math.max(from, -size * 0.02), end * 1.02 - size);
    state.from = from;
    state.to = from + size;
    queue();
  }
  function zoom(factor, at) {
    const step = at === undefined ? (state.from + state.to) / 2 : at;
    setRange(step - (step - state.from) * factor, step + (state.to - step) * factor);
  }
  function pan(share) {
    const d = (state.to - state.from) * share;
    setRange(state.from + d, state.to + d);
  }
  function scrollTo(y) {
    const most = Math.max(0, state.layout.height - (state.height - RULER));
    state.scroll = Math.min(Math.max(0, y), most);
    queue();
  }
  function fit() { setRange(0, state.launch.steps); }

  //--- Drawing ------------------------------------------------------------

  // Returns the longest label that fits whole, or ''.
  function labelOf(s, width) {
    const lines = s[LAST] !== s[LINE] ? 'lines ' + s[LINE] + '-' + s[LAST] : 'line ' + s[LINE];
    return [state.launch.strings[s[TEXT]], KINDS[data.kinds[s[KIND]]][0], lines, String(s[LINE])]
        .find(text => text && ctx.measureText(text).width <= width) || '';
  }

  function drawTrack(item, y, theme) {
    const {track, index} = item, launch = state.launch;
    const scale = perPixel();
    let top = y + 2;
    track.index.forEach((range, row) => {
      const h = rowHeight(track, row) - 1;
      visible(track.spans, range, state.from, state.to, scale, (from, to, s, isMany) => {
        const x = Math.max(state.gutter, xOf(from));
        const w = Math.max(1, Math.min(state.width, xOf(to)) - x - (isMany ? 0 : 0.5));
        const name = data.kinds[s[KIND]];
        ctx.globalAlpha = state.match && !state.match(s, index) ? 0.18 : 1;
        ctx.fillStyle = color(s[KIND]);
        ctx.fillRect(x, top, w, h);
        if (name === 'phase' && !isMany) {
          ctx.fillStyle = theme.paper;
          ctx.fillRect(x + w - 1.5, top, 1.5, h);
        }
        if (name === 'open-phase' && w > 6) {
          ctx.strokeStyle = theme.paper;
          ctx.beginPath();
          for (let at = x; at < x + w; at += 8) {
            ctx.moveTo(at, top + h);
            ctx.lineTo(Math.min(at + 6, x + w), top);
          }
          ctx.stroke();
        }
        if (!isMany && h >= 11 && w > 16 && name !== 'exited') {
          ctx.fillStyle = isDark() || /^(run|load|store|mma|reading|control)$/.test(name)
                              ? '#ffffff' : '#1c2330';
          ctx.fillText(labelOf(s, w - 6), x + 3, top + h / 2 + 0.5);
        }
        ctx.globalAlpha = 1;
        const isSelected = state.selected && state.selected.s === s;
        if (isSelected || (state.hover && state.hover.s === s)) {
          ctx.strokeStyle = isSelected ? theme.ink : theme.accent;
          ctx.lineWidth = isSelected ? 2 : 1;
          ctx.strokeRect(x + 0.5, top - 0.5, Math.max(2, w - 1), h + 1);
          ctx.lineWidth = 1;
        }
      });
      top += h + 1;
    });
    for (const k of launch.marksOf.get(index) || []) {
      const x = xOf(launch.marks[k][1]);
      if (x < state.gutter || x > state.width) continue;
      ctx.fillStyle = theme.mark;
      ctx.beginPath();
      const size = k === state.finding ? 8 : 5;
      ctx.moveTo(x - size, y);
      ctx.lineTo(x + size, y);
      ctx.lineTo(x, y + 9);
      ctx.fill();
      ctx.fillRect(x - 0.5, y, 1, item.h);
    }
  }

  function drawRuler(theme) {
    ctx.fillStyle = theme.panel;
    ctx.fillRect(0, 0, state.width, RULER);
    ctx.fillStyle = theme.soft;
    ctx.fillText('simulated steps', 10, RULER / 2);
    const tick = tickStep(perPixel());
    for (let at = Math.ceil(state.from / tick) * tick; at <= state.to; at += tick) {
      const x = xOf(at);
      if (x < state.gutter) continue;
      ctx.fillStyle = theme.soft;
      ctx.fillText(group(at), x + 4, RULER / 2);
      ctx.fillStyle = theme.line;
      ctx.fillRect(x, 0, 1, RULER);
    }
    ctx.fillStyle = theme.line;
    ctx.fillRect(0, RULER - 1, state.width, 1);
  }

  // Draws a link from the issue to the selected operation.
  function drawLink(theme) {
    const sel = state.selected;
    if (!sel || sel.s[ISSUER] < 0 || sel.s[ISSUED] < 0) return;
    const place = t => state.layout.items.find(i => i.type === 'track' && i.index === t);
    const from = place(sel.s[ISSUER]), to = place(sel.t);
    if (!from || !to) return;
    const y0 = RULER - state.scroll + from.y + 10;
    const y1 = RULER - state.scroll + to.y + to.h / 2;
    const x0 = xOf(sel.s[ISSUED]), x1 = xOf(sel.s[BEGIN]);
    ctx.strokeStyle = theme.ink;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.fillStyle = theme.ink;
    ctx.beginPath();
    ctx.arc(x0, y0, 3, 0, 7);
    ctx.fill();
  }

  function draw() {
    if (!state.launch) return;
    const theme = {};
    for (const name of ['paper', 'panel', 'ink', 'soft', 'line', 'accent', 'mark'])
      theme[name] = css('--' + name);
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = theme.paper;
    ctx.fillRect(0, 0, state.width, state.height);
    const tick = tickStep(perPixel());
    ctx.fillStyle = theme.line;
    for (let at = Math.ceil(state.from / tick) * tick; at <= state.to; at += tick)
      if (xOf(at) >= state.gutter) ctx.fillRect(xOf(at), RULER, 0.5, state.height);
    for (const item of state.layout.items) {
      const y = RULER + item.y - state.scroll;
      if (y > state.height) break;
      if (y + item.h < RULER) continue;
      if (item.type === 'track') {
        drawTrack(item, y, theme);
        ctx.fillStyle = theme.paper;
        ctx.fillRect(0, y, state.gutter - 1, item.h);
        ctx.fillStyle = theme.ink;
        ctx.fillText(item.track.name, 26, y + Math.min(item.h / 2, 10));
      } else {
        ctx.fillStyle = theme.panel;
        ctx.fillRect(0, y, state.width, item.h);
        ctx.fillStyle = item.type === 'cta' ? theme.ink : theme.soft;
        ctx.font = (item.type === 'cta' ? 'bold ' : '') + '11px system-ui, sans-serif';
        ctx.fillText((state.folded.has(item.key) ? '+ ' : '- ') + item.name,
                     item.type === 'cta' ? 8 : 16, y + item.h / 2);
        ctx.font = '11px system-ui, sans-serif';
      }
      ctx.fillStyle = theme.line;
      ctx.fillRect(0, y + item.h - 0.5, state.width, 0.5);
    }
    ctx.fillStyle = theme.line;
    ctx.fillRect(state.gutter - 1, RULER, 1, state.height);
    ctx.save();
    ctx.beginPath();
    ctx.rect(state.gutter, RULER, state.width, state.height);
    ctx.clip();
    drawLink(theme);
    if (state.cursor >= state.gutter) {
      ctx.fillStyle = theme.accent;
      ctx.fillRect(state.cursor, RULER, 0.5, state.height);
    }
    ctx.restore();
    drawRuler(theme);
    if (state.cursor >= state.gutter) {
      const text = group(Math.max(0, Math.round(stepAt(state.cursor))));
      const w = ctx.measureText(text).width + 8;
      ctx.fillStyle = theme.accent;
      ctx.fillRect(state.cursor, 2, w, RULER - 5);
      ctx.fillStyle = theme.paper;
      ctx.fillText(text, state.cursor + 4, RULER / 2);
    }
    const room = state.height - RULER;
    if (state.layout.height > room) {
      ctx.fillStyle = theme.soft;
      ctx.globalAlpha = 0.5;
      ctx.fillRect(state.width - 5, RULER + state.scroll / state.layout.height * room, 4,
                   Math.max(20, room / state.layout.height * room));
      ctx.globalAlpha = 1;
    }
  }

  //--- Search -------------------------------------------------------------

  function itemAt(y) {
    const at = y - RULER + state.scroll;
    if (y < RULER) return null;
    return state.layout.items.find(i => at >= i.y && at < i.y + i.h) || null;
  }
  function spanAt(x, y) {
    const item = itemAt(y);
    if (!item || item.type !== 'track' || x < state.gutter) return null;
    const {track, index} = item;
    let top = RULER + item.y - state.scroll + 2;
    for (let row = 0; row < track.index.length; ++row) {
      const h = rowHeight(track, row);
      if (y >= top - 1 && y < top + h) {
        const step = stepAt(x), slack = 2 * perPixel();
        const k = firstAfter(track.spans, track.index[row], step - slack);
        if (k < track.index[row][1] && track.spans[k][BEGIN] <= step + slack)
          return {t: index, k, s: track.spans[k]};
      }
      top += h;
    }
    return null;
  }
  function markAt(x, y) {
    const item = itemAt(y);
    if (!item || item.type !== 'track') return -1;
    const marks = state.launch.marksOf.get(item.index) || [];
    const found = marks.find(k => Math.abs(xOf(state.launch.marks[k][1]) - x) < 6);
    return found === undefined ? -1 : found;
  }

  //--- The panel ----------------------------------------------------------

  function showText(box, text) {
    const parts = document.createDocumentFragment();
    text.split('\n').forEach((line, k) => {
      const row = document.createElement('div');
      row.dataset.line = String(k + 1);
      row.textContent = line || ' ';
      parts.append(row);
    });
    box.replaceChildren(parts);
  }
  function showModule() {
    const m = data.modules[state.launch.module];
    $('file').textContent = m.name;
    if (state.shownModule === state.launch.module) return;
    state.shownModule = state.launch.module;
    showText($('source'), m.ptx);
  }
  // Shows the source file of a PTX line, and returns the line in this file, or
  // 0 if the page does not contain the file.
  function showFile(ptxLine) {
    const source = state.launch.sourceOf.get(ptxLine);
    const name = source && state.launch.strings[source[1]];
    const file = data.files.find(f => f.name === name);
    if (!file) return 0;
    $('cuda').hidden = false;
    if (state.shownFile !== name) {
      state.shownFile = $('cuda-file').textContent = name;
      showText($('cuda-source'), file.text);
      markLines();
    }
    return source[2];
  }
  function markLines() {
    for (const box of [$('source'), $('cuda-source')])
      for (const line of box.querySelectorAll('.bad')) line.classList.remove('bad');
    for (const m of state.launch.marks) {
      if (m[2]) $('source').children[m[2] - 1]?.classList.add('bad');
      const source = state.launch.sourceOf.get(m[2]);
      if (source && state.launch.strings[source[1]] === state.shownFile)
        $('cuda-source').children[source[2] - 1]?.classList.add('bad');
    }
  }
  function highlightIn(box, first, last) {
    for (const line of box.querySelectorAll('.here, .range'))
      line.classList.remove('here', 'range');
    if (!first) return;
    const lines = box.children;
    for (let k = Math.min(first, last); k <= Math.max(first, last) && k <= lines.length; ++k)
      lines[k - 1].classList.add('range');
    const here = lines[first - 1];
    if (!here) return;
    here.classList.add('here');
    here.scrollIntoView({block: 'center'});
  }
  function highlight(first, last) {
    const line = showFile(first);
    highlightIn($('cuda-source'), line, line);
    highlightIn($('source'), first, last);
  }
  function showPairs(title, pairs, finding) {
    const box = $('details');
    box.replaceChildren();
    const h = document.createElement('h3');
    h.textContent = title;
    box.append(h);
    const table = document.createElement('table');
    for (const [name, value] of pairs) {
      const row = table.insertRow(), th = document.createElement('th');
      th.scope = 'row';
      th.textContent = name;
      row.append(th);
      row.insertCell().textContent = value;
    }
    box.append(table);
    if (!finding) return;
    const p = document.createElement('p');
    p.className = 'finding';
    p.textContent = finding;
    box.append(p);
  }
  function select(found, isSeen) {
    state.selected = found;
    if (!found) {
      showPairs('Nothing selected', [['', 'Click on a span, or use the arrow keys.']]);
      highlight(0, 0);
      $('status').textContent = '';
      queue();
      return;
    }
    const pairs = describe(data, state.launch, found.t, found.s);
    showPairs(pairs[0][1], pairs.slice(1));
    highlight(found.s[LINE], found.s[LAST]);
    $('status').textContent = pairs.map(p => p.join(' ')).slice(0, 4).join('; ');
    if (!isSeen) reveal(found.t, found.s[BEGIN], found.s[END]);
    queue();
  }
  function reveal(t, from, to) {
    const cta = state.launch.tracks[t].cta;
    for (const key of ['c' + cta, 'c' + cta + state.launch.tracks[t].kind])
      if (state.folded.delete(key)) state.layout = layOut(state.launch, state.folded);
    const item = state.layout.items.find(i => i.type === 'track' && i.index === t);
    if (item.y < state.scroll) scrollTo(item.y - 30);
    if (item.y + item.h > state.scroll + state.height - RULER)
      scrollTo(item.y + item.h - (state.height - RULER) + 30);
    const size = state.to - state.from;
    if (to < state.from || from > state.to)
      setRange((from + to) / 2 - size / 2, (from + to) / 2 + size / 2);
  }
  function selectMark(k) {
    const m = state.launch.marks[k], track = state.launch.tracks[m[0]];
    state.finding = k;
    state.selected = null;
    reveal(m[0], m[1], m[1]);
    showPairs('Finding', [['where', track.name], ['step', group(m[1])],
                          ['PTX line', m[2] ? String(m[2]) : 'none']],
              state.launch.strings[m[3]]);
    highlight(m[2], m[2]);
    $('status').textContent = 'finding ' + (k + 1) + ' of ' + state.launch.marks.length +
                              ': ' + state.launch.strings[m[3]];
  }
  function nextFinding() {
    if (state.launch.marks.length) selectMark((state.finding + 1) % state.launch.marks.length);
    else $('status').textContent = 'no findings in these CTAs';
  }

  function neighbour(direction) {
    const sel = state.selected;
    if (!sel) return selectFirst();
    const k = sel.k + direction, spans = state.launch.tracks[sel.t].spans;
    if (k >= 0 && k < spans.length) select({t: sel.t, k, s: spans[k]});
  }
  function selectFirst() {
    const item = state.layout.items.find(i => i.type === 'track' && i.track.spans.length);
    if (item) select({t: item.index, k: 0, s: item.track.spans[0]});
  }
  function otherTrack(direction) {
    const sel = state.selected;
    if (!sel) return selectFirst();
    const tracks = state.layout.items.filter(i => i.type === 'track' && i.track.spans.length);
    const at = tracks.findIndex(i => i.index === sel.t) + direction;
    if (at < 0 || at >= tracks.length) return;
    const {track, index} = tracks[at];
    const k = Math.min(firstAfter(track.spans, track.index[0], sel.s[BEGIN]),
                       track.index[0][1] - 1);
    select({t: index, k, s: track.spans[k]});
  }

  function search(query, goes) {
    const launch = state.launch;
    if (query !== state.query || !state.match) {
      state.query = query;
      state.match = matcher(launch, data.kinds, query);
      state.found = [];
      if (state.match)
        launch.tracks.forEach((track, t) => track.spans.forEach((s, k) => {
          if (state.match(s, t)) state.found.push([t, k]);
        }));
      state.foundAt = -1;
      $('matches').textContent = state.match ? group(state.found.length) + ' found' : '';
    }
    if (goes && state.found.length) {
      state.foundAt = (state.foundAt + 1) % state.found.length;
      const [t, k] = state.found[state.foundAt];
      select({t, k, s: launch.tracks[t].spans[k]});
      $('matches').textContent = group(state.foundAt + 1) + ' of ' + group(state.found.length);
    }
    queue();
  }

  //--- Events -------------------------------------------------------------

  function setLaunch(k) {
    const launch = state.launch = data.launches[k];
    state.folded = new Set();
    state.layout = layOut(launch, state.folded);
    state.scroll = 0;
    state.finding = -1;
    state.match = null;
    const note = $('note');
    note.replaceChildren();
    note.append('The axis counts simulated steps, not time: an instruction is one step, ' +
                'asynchronous operations take nominal numbers. No speed can be read from it. ');
    const warn = text => {
      const b = document.createElement('b');
      b.textContent = text;
      note.append(b);
    };
    note.append('Shown: ' + launch.ctas.length + ' of ' + group(launch.totalCtas) + ' CTAs, seed ' +
                launch.seed + ', ' + launch.status + '. ');
    if (launch.spansDropped)
      warn('The limit of spans was reached: ' + group(launch.spansDropped) +
           ' later spans are missing. ');
    if (launch.tracksDropped)
      warn(group(launch.tracksDropped) + ' ranges of shared memory have no track. ');
    if (launch.marks.length) warn(launch.marks.length + ' findings are marked. ');
    ctx.font = '11px system-ui, sans-serif';
    state.gutter = 34 + Math.max(...launch.tracks.map(t => ctx.measureText(t.name).width), 100);
    showModule();
    markLines();
    select(null);
    fit();
    if (!launch.marks.length) return;
    const step = launch.marks[0][1];
    setRange(step - kNear, step + kNear);
    selectMark(0);
  }
  function resize() {
    const box = $('chart').getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    state.width = box.width;
    state.height = box.height;
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (state.layout) scrollTo(state.scroll);
  }
  function setTheme(dark) {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    const legend = $('legend');
    legend.replaceChildren();
    data.kinds.forEach((kind, k) => {
      const item = document.createElement('span'), box = document.createElement('i');
      box.style.background = color(k);
      item.append(box, KINDS[kind][0]);
      legend.append(item);
    });
    queue();
  }
  function point(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const [x] = point(event);
    const d = event.deltaMode ? event.deltaY * 30 : event.deltaY;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan((event.deltaX || d) / 800);
    else if (x < state.gutter)
      scrollTo(state.scroll + d);
    else
      zoom(Math.exp(d / 500), stepAt(x));
  }, {passive: false});
  canvas.addEventListener('pointerdown', event => {
    const [x, y] = point(event);
    state.drag = {x, y, from: state.from, to: state.to, scroll: state.scroll, moved: false};
    canvas.setPointerCapture(event.pointerId);
    canvas.focus();
  });
  canvas.addEventListener('pointermove', event => {
    const [x, y] = point(event), drag = state.drag;
    state.cursor = x;
    if (drag) {
      if (Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4) drag.moved = true;
      if (drag.moved) {
        const d = (drag.x - x) * perPixel();
        setRange(drag.from + d, drag.to + d);
        scrollTo(drag.scroll + drag.y - y);
      }
    }
    const mark = markAt(x, y);
    state.hover = drag && drag.moved ? null : spanAt(x, y);
    const tip = $('tip');
    tip.hidden = mark < 0 && !state.hover;
    if (!tip.hidden) {
      tip.textContent = mark >= 0
          ? state.launch.strings[state.launch.marks[mark][3]]
          : describe(data, state.launch, state.hover.t, state.hover.s)
                .map(p => p[0] === 'what' ? p[1] : p.join(': ')).join('\n');
      tip.style.left = Math.max(0, Math.min(x + 14, state.width - tip.offsetWidth - 8)) + 'px';
      tip.style.top = Math.max(0, Math.min(y + 16, state.height - tip.offsetHeight - 8)) + 'px';
    }
    queue();
  });
  canvas.addEventListener('pointerup', event => {
    const [x, y] = point(event), drag = state.drag;
    state.drag = null;
    if (!drag || drag.moved) return;
    const item = itemAt(y), mark = markAt(x, y);
    if (item && item.type !== 'track') {
      if (!state.folded.delete(item.key)) state.folded.add(item.key);
      state.layout = layOut(state.launch, state.folded);
      scrollTo(state.scroll);
    } else if (mark >= 0)
      selectMark(mark);
    else
      select(spanAt(x, y), true);
  });
  canvas.addEventListener('pointerleave', () => {
    state.cursor = -1;
    state.hover = null;
    $('tip').hidden = true;
    queue();
  });
  canvas.addEventListener('dblclick', () => keys.z());

  const keys = {
    w: () => zoom(0.7), '+': () => zoom(0.7), '=': () => zoom(0.7),
    s: () => zoom(1 / 0.7), '-': () => zoom(1 / 0.7),
    a: () => pan(-0.2), d: () => pan(0.2),
    ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1),
    ArrowUp: () => otherTrack(-1), ArrowDown: () => otherTrack(1),
    PageUp: () => scrollTo(state.scroll - state.height * 0.8),
    PageDown: () => scrollTo(state.scroll + state.height * 0.8),
    Home: fit, 0: fit,
    z: () => {
      if (!state.selected) return;
      const [from, to] = state.selected.s, room = (to - from) * 0.3 + 2;
      setRange(from - room, to + room);
    },
    n: nextFinding, t: () => setTheme(!isDark()),
    Escape: () => select(null),
    '/': () => $('search').focus(),
    '?': () => $('help').click(),
  };
  keys.Enter = keys.z;
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (at === $('search')) {
      if (event.key === 'Enter') search(at.value, true);
      if (event.key === 'Escape') { at.value = ''; search('', false); canvas.focus(); }
      return;
    }
    if (/^(SELECT|BUTTON|INPUT)$/.test(at.tagName || '') && /^(Enter| |Arrow.*)$/.test(event.key)) return;
    if (at === $('source') && /^(Arrow.*|Page.*|Home)$/.test(event.key)) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  $('search').addEventListener('input', event => search(event.target.value, false));
  $('launch').addEventListener('change', event => setLaunch(Number(event.target.value)));
  $('zoom-in').addEventListener('click', () => zoom(0.7));
  $('zoom-out').addEventListener('click', () => zoom(1 / 0.7));
  $('fit').addEventListener('click', fit);
  $('next-finding').addEventListener('click', nextFinding);
  $('theme').addEventListener('click', () => setTheme(!isDark()));
  $('help').addEventListener('click', () => {
    $('keys').hidden = !$('keys').hidden;
    $('help').setAttribute('aria-expanded', String(!$('keys').hidden));
    resize();
  });
  $('divider').addEventListener('pointerdown', event => {
    const move = e => {
      const aside = document.querySelector('aside');
      aside.style.width = Math.max(220, window.innerWidth - e.clientX) + 'px';
      resize();
    };
    const up = () => {
      document.removeEventListener('pointermove', move);
      document.removeEventListener('pointerup', up);
    };
    document.addEventListener('pointermove', move);
    document.addEventListener('pointerup', up);
    event.preventDefault();
  });
  window.addEventListener('resize', resize);

  data.launches.forEach((launch, k) => {
    const option = document.createElement('option');
    option.value = String(k);
    option.textContent = (k + 1) + ': ' + launch.kernel;
    $('launch').append(option);
  });
  resize();
  setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches);
  const first = Math.max(0, data.launches.findIndex(launch => launch.marks.length));
  $('launch').value = String(first);
  if (data.launches.length) setLaunch(first);
  else $('note').textContent = 'No launch was simulated.';
}

if (typeof module !== 'undefined')
  module.exports = {indexRows, firstAfter, visible, layOut, matcher, tickStep, describe, prepare, start};
else
  start();
