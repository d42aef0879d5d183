import { Chunks } from './diff-chunks.js';
import { Comments, cellOf } from './diff-comments.js';
import { listenToKeys } from './diff-keys.js';
import { Search } from './diff-search.js';
import { openStore } from './diff-store.js';

/** The element `core-diff`: a diff whose rows come from the server as they are needed. */
class CoreDiff extends HTMLElement {
  #chunks = null;
  #store;
  #comments;
  #search = new Search(this);
  #endKeys;
  /** The row that keys and comments are about. */
  #current = null;

  connectedCallback() {
    const { person, digest } = this.dataset;
    this.#store = openStore(person, digest);
    this.#comments = new Comments(this, this.#store);
    this.#endKeys = listenToKeys(this);
    this.addEventListener('click', this);
    this.addEventListener('change', this);
    this.addEventListener('keydown', this);
    this.#prepare();
  }

  disconnectedCallback() {
    this.#chunks.stop();
    this.#endKeys();
    this.removeEventListener('click', this);
    this.removeEventListener('change', this);
    this.removeEventListener('keydown', this);
  }

  handleEvent(event) {
    const { target } = event;
    if (event.type === 'keydown') {
      if (event.key !== 'Enter') return;
      if (target.matches('[data-find]')) void this.#search.start();
      else if (target.matches('.row') && this.#search.isOn) void this.#search.step(event.shiftKey ? -1 : 1);
      return;
    }
    if (event.type === 'click') void this.#clicked(event);
    else if (target.dataset.do === 'viewed') this.#setViewed(target.closest('.diff-file'), target.checked);
  }

  #prepare() {
    this.classList.add('ready');
    for (const { dataset, lastElementChild } of this.files)
      lastElementChild.firstElementChild.style.setProperty('--columns', dataset.columns);
    this.#showWrap();
    for (const file of this.files) if (this.#store.viewed.has(file.dataset.file)) this.#setViewed(file, true);
    this.#showViewed();
    this.#chunks?.stop();
    this.#chunks = new Chunks(this, (chunk) => this.#comments.showWithin(chunk));
    this.#comments.showWithin(this);
    this.#comments.showDraft();
  }

  get files() {
    return [...this.querySelectorAll('.diff-file')];
  }

  /** Null where somebody has scrolled away from it. */
  get current() {
    const { top = -1, bottom = -1 } = this.#current?.getBoundingClientRect() ?? {};
    return this.#current?.isConnected && bottom > 0 && top < innerHeight ? this.#current : null;
  }

  async #clicked(event) {
    const target = event.target.closest(
      '[data-do], [role="rowheader"], .choice a, .diff-tree a, .row[data-row]',
    );
    if (target === null || event.ctrlKey || event.metaKey || target.dataset.do === 'viewed') return;
    if (target.matches('a')) event.preventDefault();
    if (target.matches('.choice a')) await this.#setView(target);
    else if (target.matches('.diff-tree a'))
      this.#showFile(this.files.find(({ dataset }) => dataset.file === target.dataset.file));
    else if (target.matches('.row')) this.setCurrent(target);
    else if (target.matches('[role="rowheader"]')) {
      this.setCurrent(target.closest('.row'));
      this.#comments.write(cellOf(target));
    } else await this.run(target.dataset.do, target);
  }

  /** What buttons and keys do, by name. */
  async run(name, target) {
    const file = target?.closest('.diff-file') ?? this.#fileAtTop();
    switch (name) {
      case 'fold':
        return this.#setClosed(file, !file.classList.contains('closed'));
      case 'fold-all': {
        const close = this.files.some((one) => !one.classList.contains('closed'));
        for (const one of this.files) this.#setClosed(one, close);
        return;
      }
      case 'viewed':
        return this.#setViewed(file, !this.#store.viewed.has(file.dataset.file));
      case 'unfold':
        return this.#unfold(target.closest('.chunk'));
      case 'whole':
        return showWhole(target);
      case 'base':
        return this.#showUnshown(target);
      case 'wrap': {
        const top = this.#rowAtTop();
        this.#store.wraps = !this.#wraps;
        this.#showWrap();
        this.#chunks.reserveAgain();
        return top?.scrollIntoView();
      }
      case 'next-hunk':
      case 'previous-hunk':
        return this.#toHunk(name === 'next-hunk' ? 1 : -1);
      case 'next-file':
      case 'previous-file':
        return this.#toFile(name === 'next-file' ? 1 : -1);
      case 'search':
        return this.#search.open();
      case 'next-found':
      case 'previous-found':
        return this.#search.step(name === 'next-found' ? 1 : -1);
      case 'next-line':
      case 'previous-line':
        return this.#toLine(name === 'next-line' ? 1 : -1);
      case 'view':
        return this.#setView(this.querySelector('.choice a:not([aria-current])'));
      case 'tree':
        this.classList.toggle('without-tree');
        return;
      case 'comment': {
        const cells = [...(this.#lineToComment()?.querySelectorAll('.code[data-number]') ?? [])];
        return this.#comments.write(cells.at(-1));
      }
      default:
        return this.#comments.run(name, target);
    }
  }

  /** Lines that the patch does not show, in the place of the link or before its row. */
  async #showUnshown(link) {
    const answer = await fetch(link.href);
    if (!answer.ok) {
      const why =
        answer.status === 404 ? 'This host has no clone to read them from' : 'They could not be read';
      link.replaceWith(why);
      return this.say(why);
    }
    const rows = document.createRange().createContextualFragment(await answer.text());
    const row = link.closest('.row');
    const { length } = rows.querySelectorAll('.number');
    if (row.matches('[data-row]')) {
      link.remove();
      row.before(rows);
    } else row.replaceWith(rows);
    this.say(length === 0 ? 'The file ends here' : 'Unchanged lines are shown');
  }

  async #unfold(folded) {
    const { from } = folded.dataset;
    await this.#chunks.unfold(folded);
    this.setCurrent(this.querySelector(`.row[data-row="${from}"]`));
  }

  get #wraps() {
    const isNarrow = matchMedia('(max-width: 50rem)').matches;
    return this.#store.wraps ?? (isNarrow || this.dataset.view === 'split');
  }

  #showWrap() {
    this.classList.toggle('wrap', this.#wraps);
    this.querySelector('[data-do="wrap"]').setAttribute('aria-pressed', String(this.#wraps));
  }

  /** The same diff in the other view, at the same line. */
  async #setView({ href }) {
    const line = this.#rowAtTop()?.querySelector('[data-line]')?.dataset.line;
    const answer = await fetch(href);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const other = page.querySelector('core-diff');
    if (other === null) return location.assign(href);
    history.replaceState(history.state, '', href);
    this.#current = null;
    this.#search.clear();
    this.className = other.className;
    Object.assign(this.dataset, other.dataset);
    this.replaceChildren(...other.childNodes);
    this.#prepare();
    if (line !== undefined) await this.#showLine(Number(line));
  }

  #setClosed(file, isClosed) {
    file.classList.toggle('closed', isClosed);
    file.querySelector('[data-do="fold"]')?.setAttribute('aria-expanded', String(!isClosed));
  }

  /** A mark for the person who reads; it never stands for an approval. */
  #setViewed(file, isViewed) {
    this.#store.setViewed(file.dataset.file, isViewed);
    const box = file.querySelector('[data-do="viewed"]');
    if (box !== null) box.checked = isViewed;
    this.#setClosed(file, isViewed);
    this.#showViewed();
  }

  #showViewed() {
    const { viewed } = this.#store;
    for (const link of this.querySelectorAll('.diff-tree a')) {
      const isViewed = viewed.has(link.dataset.file);
      link.classList.toggle('seen', isViewed);
      link.title = isViewed ? 'Viewed' : '';
    }
    const files = this.files.filter(({ dataset }) => dataset.file >= 0);
    const count = files.filter(({ dataset }) => viewed.has(dataset.file)).length;
    this.querySelector('[data-viewed]').textContent = `${count} of ${files.length} viewed`;
  }

  /** Said to screen readers. */
  say(text) {
    this.querySelector('[data-said]').textContent = text;
  }

  /** Where a file is after it was scrolled to. */
  get #top() {
    return Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  }

  #fileAtTop() {
    return this.files.findLast((file) => file.getBoundingClientRect().top <= this.#top + 2) ?? this.files[0];
  }

  #rowAtTop() {
    const [name] = this.querySelectorAll('.diff-name');
    const top = this.#top + (name?.offsetHeight ?? 0);
    const rows = this.querySelectorAll('.row[data-row]');
    return [...rows].find((row) => row.getBoundingClientRect().bottom > top) ?? null;
  }

  /** The current row, or the first line of a file behind it. */
  #lineToComment() {
    const rows = [...this.querySelectorAll('.diff-file:not(.closed) .row[data-row]')];
    const from = rows.indexOf(this.current ?? this.#rowAtTop());
    return rows.slice(Math.max(from, 0)).find((row) => row.querySelector('.code[data-number]') !== null);
  }

  setCurrent(row) {
    this.#current?.classList.remove('current');
    this.#current?.removeAttribute('tabindex');
    this.#current = row;
    row.classList.add('current');
    row.tabIndex = -1;
    if (!row.contains(document.activeElement)) row.focus({ preventScroll: true });
  }

  #showFile(file) {
    file.scrollIntoView();
    file.querySelector('[data-do="fold"]')?.focus({ preventScroll: true });
  }

  #toFile(step) {
    const place = (file) => file.getBoundingClientRect().top - this.#top;
    const to =
      step > 0 ? this.files.find((file) => place(file) > 2) : this.files.findLast((file) => place(file) < -2);
    if (to === undefined) this.say(step > 0 ? 'This is the last file' : 'This is the first file');
    else this.#showFile(to);
  }

  /** Of all rows, also those that are not there. */
  #toHunk(step) {
    const top = this.#rowAtTop()?.dataset.row ?? 0;
    const from = Number(this.current?.dataset.row ?? (step > 0 ? top - 1 : top));
    const hunks = this.files.flatMap(({ dataset: { hunks } }) =>
      hunks === '' ? [] : hunks.split(' ').map(Number),
    );
    const to = step > 0 ? hunks.find((row) => row > from) : hunks.findLast((row) => row < from);
    if (to !== undefined) return this.showRow(to);
    this.say(step > 0 ? 'This is the last change' : 'This is the first change');
  }

  #toLine(step) {
    const rows = [...this.querySelectorAll('.diff-file:not(.closed) .row[data-row]')];
    const to = this.current === null ? this.#rowAtTop() : rows[rows.indexOf(this.current) + step];
    if (to == null) return;
    this.setCurrent(to);
    to.scrollIntoView({ block: 'nearest' });
  }

  /** By the number of the row, wherever it is. */
  async showRow(number) {
    const chunk = this.#chunks.of(number);
    if (chunk === undefined) return;
    this.#setClosed(chunk.closest('.diff-file'), false);
    if (chunk.classList.contains('folded')) await this.#chunks.unfold(chunk);
    await this.#chunks.fill(this.#chunks.of(number));
    const row = this.querySelector(`.row[data-row="${number}"]`);
    if (row === null) return;
    row.scrollIntoView();
    this.setCurrent(row);
  }

  /** By the number of the line in the patch. Rows of the views differ by little, so the chunk of the line is found by asking. */
  async #showLine(line) {
    const address = this.dataset.rows.replace('/rows?', '/row?');
    const before = this.#current;
    const answer = await fetch(`${address}&line=${line}`);
    // What somebody chose meanwhile stays.
    if (answer.ok && this.#current === before) await this.showRow(Number(await answer.text()));
  }
}

async function showWhole(link) {
  const answer = await fetch(link.href);
  if (!answer.ok) return;
  const cell = link.closest('.code');
  const sign = cell.querySelector('.sign');
  cell.innerHTML = await answer.text();
  if (sign !== null) cell.prepend(sign);
  cell.classList.add('whole-line');
  cell.closest('.row').classList.add('has-whole');
}

customElements.define('core-diff', CoreDiff);
