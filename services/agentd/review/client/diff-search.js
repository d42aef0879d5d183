/** Search in all of a diff, also in rows that are folded or not there. The server says on which rows a text stands. */
export class Search {
  #diff;
  #rows = [];
  #text = '';

  constructor(diff) {
    this.#diff = diff;
  }

  /** Whether something is searched for. */
  get isOn() {
    return this.#text !== '';
  }

  get #field() {
    return this.#diff.querySelector('[data-find]');
  }

  open() {
    this.#field.focus();
    this.#field.select();
  }

  /** Asks for the rows of the text in the field, and goes to the first behind the current one. */
  async start() {
    const text = this.#field.value;
    if (text.trim() === '') return this.clear();
    const address = this.#diff.dataset.rows.replace('/rows?', '/find?');
    const answer = await fetch(`${address}&text=${encodeURIComponent(text)}`);
    if (!answer.ok) return this.#say(`The search failed (${answer.status})`);
    const found = (await answer.text()).split(' ').filter((row) => row !== '');
    this.#text = text;
    this.#rows = found.map(Number);
    return this.step(1);
  }

  clear() {
    this.#rows = [];
    this.#text = '';
    CSS.highlights?.delete('found');
    this.#say('');
  }

  /** To the next row, or the one before; around at the ends. */
  async step(by) {
    if (this.#text === '') return this.open();
    if (this.#rows.length === 0) return this.#say('not found');
    const at = this.#diff.current === null ? -1 : Number(this.#diff.current.dataset.row);
    const next = by > 0 ? this.#rows.find((row) => row > at) : this.#rows.findLast((row) => row < at);
    const row = next ?? this.#rows.at(by > 0 ? 0 : -1);
    await this.#diff.showRow(row);
    this.#highlight();
    this.#say(`${this.#rows.indexOf(row) + 1} of ${this.#rows.length}`);
  }

  #say(text) {
    this.#diff.querySelector('[data-found]').textContent = text;
  }

  /** Where the text stands on the current row; without a style attribute. */
  #highlight() {
    const row = this.#diff.current;
    if (row === null || CSS.highlights === undefined) return;
    const ranges = [...row.querySelectorAll('.code')].flatMap((cell) => rangesOf(cell, this.#text));
    CSS.highlights.set('found', new Highlight(...ranges));
  }
}

function rangesOf(cell, text) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const nodes = [];
  for (let node = walker.nextNode(), from = 0; node !== null; node = walker.nextNode()) {
    nodes.push({ node, from });
    from += node.data.length;
  }
  const whole = cell.textContent.toLowerCase();
  const wanted = text.toLowerCase();
  const ranges = [];
  for (let at = whole.indexOf(wanted); at !== -1; at = whole.indexOf(wanted, at + wanted.length)) {
    const begin = nodes.findLast(({ from }) => from <= at);
    const end = nodes.findLast(({ from }) => from < at + wanted.length);
    const range = new Range();
    range.setStart(begin.node, Math.min(at - begin.from, begin.node.data.length));
    range.setEnd(end.node, Math.min(at + wanted.length - end.from, end.node.data.length));
    ranges.push(range);
  }
  return ranges;
}
