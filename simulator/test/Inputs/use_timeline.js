// Runs the program of a timeline page against a document stub that records calls:
// use_timeline.js PAGE.html [SOURCE]. Draws, zooms, pans, searches, selects and folds, and
// checks the results. No browser is needed.
'use strict';
const fs = require('fs'), assert = require('assert');

const page = fs.readFileSync(process.argv[2], 'utf8');
const text = /<script type="application\/json" id="data">([^]*?)<\/script>/.exec(page)[1];
const program = /<script>\n([^]*?)<\/script>/.exec(page)[1];

let numFilled = 0;
const labels = new Set();
const context = new Proxy({measureText: t => ({width: 6 * t.length})}, {
  get(target, name) {
    if (name in target) return target[name];
    return (...values) => {
      if (name === 'fillRect') {
        ++numFilled;
        assert(values.every(Number.isFinite), 'fillRect ' + values);
      }
      if (name === 'fillText') labels.add(values[0]);
    };
  },
  set(target, name, value) { target[name] = value; return true; },
});

class Element {
  constructor(tag) {
    Object.assign(this, {tagName: tag.toUpperCase(), children: [], listeners: {}, dataset: {},
                         style: {}, hidden: false, value: '', classes: new Set(), text: '',
                         offsetWidth: 80, offsetHeight: 30, attributes: {}});
    const classes = this.classes;
    this.classList = {add: (...c) => c.forEach(x => classes.add(x)),
                      remove: (...c) => c.forEach(x => classes.delete(x)),
                      contains: c => classes.has(c)};
  }
  set textContent(t) { this.text = t; this.children = []; }
  get textContent() {
    return this.text + this.children.map(c => typeof c === 'string' ? c : c.textContent).join('');
  }
  append(...parts) {
    for (const p of parts)
      if (p instanceof Element && p.tagName === 'FRAGMENT') this.children.push(...p.children);
      else this.children.push(p);
  }
  replaceChildren(...parts) { this.text = ''; this.children = []; this.append(...parts); }
  insertRow() { const e = new Element('tr'); this.append(e); return e; }
  insertCell() { const e = new Element('td'); this.append(e); return e; }
  addEventListener(name, f) { (this.listeners[name] ??= []).push(f); }
  send(name, event) {
    event = {preventDefault() {}, target: this, ...event};
    for (const f of this.listeners[name] || []) f(event);
  }
  querySelectorAll(selector) {
    const names = selector.split(',').map(s => s.trim().slice(1));
    return this.children.filter(c => names.some(n => c.classes && c.classes.has(n)));
  }
  getContext() { return context; }
  getBoundingClientRect() { return {left: 0, top: 0, width: 1400, height: 800}; }
  setPointerCapture() {}
  setAttribute(name, value) { this.attributes[name] = value; }
  scrollIntoView() { seen = this; }
  focus() {}
  click() { this.send('click', {}); }
}
let seen = null;
const elements = {};
const document = new Element('document');
document.documentElement = new Element('html');
document.getElementById = id => elements[id] ??= new Element(id === 'search' ? 'input' : 'div');
document.createElement = tag => new Element(tag);
document.createDocumentFragment = () => new Element('fragment');
document.querySelector = () => new Element('aside');
const window = new Element('window');
Object.assign(window, {devicePixelRatio: 2, innerWidth: 1400,
                       matchMedia: () => ({matches: false})});
document.getElementById('data').textContent = text;
const frames = [];
const run = new Function('document', 'window', 'getComputedStyle', 'requestAnimationFrame',
                         program);
run(document, window, () => ({getPropertyValue: () => '#123456'}), f => frames.push(f));
const paint = () => { while (frames.length) frames.shift()(); };
paint();

const $ = document.getElementById, canvas = $('canvas');
const key = k => { document.send('keydown', {key: k, target: canvas}); paint(); };
const data = JSON.parse(text);
const launch = data.launches.find(l => l.marks.length) || data.launches[0];
assert(numFilled > Math.min(launch.tracks.length, 30), 'nothing was drawn');
assert.strictEqual($('source').children.length,
                   data.modules[launch.module].ptx.split('\n').length);
assert(/not time/.test($('note').textContent));

// Names are whole, and other labels too.
const isWhole = label => launch.strings.includes(label) || launch.tracks.some(t => t.name === label) ||
    /^[-+] |^(lines? )?[\d -]+$|^simulated steps$|^[a-z ]+$/.test(label) || label === '';
const names = launch.tracks.map(t => t.name);
assert(names.filter(name => labels.has(name)).length > Math.min(names.length, 10) - 1, 'names are missing');

// The page opens at the first finding, beside its line of the source.
if (launch.marks.length) {
  const [track, step, line, message] = launch.marks[0];
  assert($('details').textContent.includes(launch.strings[message]));
  assert(/\n  remedy: .*simulator\/docs\/\w+.md#/.test(launch.strings[message]));
  assert(labels.has(launch.tracks[track].name), 'the track of the finding is not visible');
  assert.strictEqual($('source').querySelectorAll('.here')[0].dataset.line, String(line));
}
assert.strictEqual(data.files.length, process.argv.length - 3);
for (const path of process.argv.slice(3)) {
  const lines = fs.readFileSync(path, 'utf8').split('\n');
  const [, , number] = launch.sources.find(s => s[0] === launch.marks[0][2]);
  const here = $('cuda-source').querySelectorAll('.here')[0];
  assert.strictEqual(here.dataset.line, String(number));
  assert.strictEqual(here.textContent, lines[number - 1]);
  assert(here.classes.has('bad'));
}

// The first span, its line in the text, and the following spans.
key('Escape');
key('ArrowRight');
const first = launch.tracks.find(t => t.spans.length).spans[0];
assert(seen && seen.classList.contains('here'), 'no line is highlighted');
assert.strictEqual(Number(seen.dataset.line), first[4]);
assert($('details').textContent.includes('steps'));
for (let k = 0; k < 40; ++k) { key('ArrowRight'); key('ArrowDown'); }
for (let k = 0; k < 60; ++k) key('ArrowUp');
for (const k of ['w', 'w', 'd', 'a', 's', 'z', 'PageDown', 'PageUp', 'n', 't', '0', '?'])
  key(k);
assert.strictEqual(document.documentElement.dataset.theme, 'dark');

// Wheel, drag, click and hover everywhere throw no exception and find something.
let found = 0;
const everywhere = f => {
  for (let y = 2; y < 800; y += 7)
    for (let x = 5; x < 1400; x += 45) f({clientX: x, clientY: y, pointerId: 1});
  paint();
};
everywhere(at => {
  canvas.send('pointermove', at);
  if (!$('tip').hidden) ++found;
});
assert(found > 20, 'hovering finds nothing');
everywhere(at => {
  canvas.send('pointerdown', at);
  canvas.send('pointerup', at);
});
for (let k = 0; k < 60; ++k) canvas.send('wheel', {clientX: 700, clientY: 200, deltaY: -120, deltaX: 0});
paint();
for (let k = 0; k < 200; ++k) canvas.send('wheel', {clientX: 700, clientY: 200, deltaY: 120, deltaX: 0});
canvas.send('wheel', {clientX: 50, clientY: 200, deltaY: 300, deltaX: 0});
paint();
canvas.send('pointerdown', {clientX: 700, clientY: 300, pointerId: 1});
canvas.send('pointermove', {clientX: 500, clientY: 250});
canvas.send('pointerup', {clientX: 500, clientY: 250});
paint();
key('Escape');

$('search').value = 'warp 0';
$('search').send('input', {});
assert(/found/.test($('matches').textContent));
document.send('keydown', {key: 'Enter', target: $('search')});
paint();
assert(/1 of /.test($('matches').textContent), $('matches').textContent);

// Work depends on the number of pixels, 1000, not on the 100,000 spans of the row.
const model = {};
new Function('module', program)(model);
const {visible, indexRows, layOut, tickStep} = model.exports;
const many = {spans: []};
for (let k = 0; k < 100000; ++k) many.spans.push([2 * k, 2 * k + 1, 0, 0, 1, 1, 0, -1, -1, 0]);
let calls = 0;
visible(many.spans, indexRows(many)[0], 0, 200000, 200, () => ++calls);
assert(calls <= 1001, calls + ' spans drawn');
calls = 0;
visible(many.spans, indexRows(many)[0], 1000, 1010, 0.01, (from, to, s) => {
  assert(to > 1000 && from < 1010);
  ++calls;
});
assert.strictEqual(calls, 5);
assert.strictEqual(tickStep(1), 100);
const all = layOut(launch, new Set()), folded = layOut(launch, new Set(['c0']));
assert(folded.height < all.height);
for (const label of labels) assert(isWhole(label), 'a label is cut: ' + label);
console.log('the page works');
