/**
 * The rows of a diff that are near the window. A chunk is `data-from` to `data-end` of the rows: empty with the height of its rows,
 * or filled, or folded away behind a link.
 */

const chunkRows = 100;
/** Pixels from the window at which chunks are fetched, and at which they are dropped. */
const near = 1_500;
const far = 6_000;
/** What only passes by is not fetched. */
const settleMs = 80;

export class Chunks {
  #root;
  #filled;
  #fetches = new Map();
  #update = { frame: 0, ask: () => {} };
  #sizes;
  /** Chunks of each file, from top to bottom. */
  #files = [];

  /** @param filled called with a chunk whose rows have come */
  constructor(root, filled) {
    this.#root = root;
    this.#filled = filled;
    for (const chunk of root.querySelectorAll('.chunk')) if (isEmpty(chunk)) reserve(chunk);
    this.#list();
    // Asking where a few of the chunks are costs less than observers on a thousand of them.
    this.#update.ask = () => {
      this.#update.frame ||= requestAnimationFrame(() => {
        this.#update.frame = 0;
        this.#look();
      });
    };
    document.addEventListener('scroll', this.#update.ask, { capture: true, passive: true });
    this.#sizes = new ResizeObserver(this.#update.ask);
    this.#sizes.observe(document.documentElement);
    this.#sizes.observe(root);
  }

  stop() {
    document.removeEventListener('scroll', this.#update.ask, { capture: true });
    this.#sizes.disconnect();
    cancelAnimationFrame(this.#update.frame);
    for (const { abort } of this.#fetches.values()) abort.abort();
  }

  #list() {
    const files = this.#root.querySelectorAll('.diff-file');
    this.#files = [...files].map((file) => ({ file, chunks: [...file.querySelectorAll('.chunk')] }));
  }

  /** Chunks that are within so many pixels of the window. */
  #within(pixels) {
    const found = new Set();
    for (let at = firstBelow(this.#files, -pixels, ({ file }) => file); at < this.#files.length; at++) {
      const { file, chunks } = this.#files[at];
      if (file.getBoundingClientRect().top > innerHeight + pixels) break;
      if (file.classList.contains('closed')) continue;
      for (let index = firstBelow(chunks, -pixels, (chunk) => chunk); index < chunks.length; index++) {
        if (chunks[index].getBoundingClientRect().top > innerHeight + pixels) break;
        found.add(chunks[index]);
      }
    }
    return found;
  }

  #look() {
    if (this.#root.offsetParent === null) return;
    const wanted = this.#within(near);
    const kept = this.#within(far);
    const heights = [...this.#root.querySelectorAll('.chunk.filled')]
      .filter((chunk) => !kept.has(chunk))
      .map((chunk) => [chunk, chunk.getBoundingClientRect().height]);
    for (const [chunk, height] of heights) empty(chunk, height);
    for (const [chunk, { abort, isKept }] of this.#fetches) if (!isKept && !wanted.has(chunk)) abort.abort();
    for (const chunk of wanted) if (isEmpty(chunk)) void this.fill(chunk, settleMs).catch(() => {});
  }

  /** The chunk of a row, by its number. */
  of(row) {
    const chunks = this.#root.querySelectorAll('.chunk');
    return [...chunks].find(({ dataset }) => dataset.from <= row && row < dataset.end);
  }

  /** After the rows have other heights. */
  reserveAgain() {
    for (const chunk of this.#root.querySelectorAll('.chunk:not(.filled, .folded)')) reserve(chunk);
  }

  /** Fetches the rows of a chunk; resolves when they are there. */
  fill(chunk, delay = 0) {
    if (chunk.classList.contains('filled')) return Promise.resolve();
    const waiting = this.#fetches.get(chunk);
    if (waiting !== undefined && (delay > 0 || waiting.isKept)) return waiting.done;
    waiting?.abort.abort();
    const abort = new AbortController();
    const done = this.#fetchRows(chunk, delay, abort.signal);
    this.#fetches.set(chunk, { abort, done, isKept: delay === 0 });
    return done;
  }

  /** Puts chunks in the place of a folded one. */
  unfold(folded) {
    const { from, end } = folded.dataset;
    const chunks = [];
    for (let at = Number(from); at < end; at += chunkRows) {
      const chunk = document.createElement('div');
      chunk.className = 'chunk';
      Object.assign(chunk.dataset, { from: at, end: Math.min(end, at + chunkRows) });
      chunks.push(chunk);
    }
    for (const chunk of chunks) reserve(chunk);
    folded.replaceWith(...chunks);
    this.#list();
    return this.fill(chunks[0]);
  }

  async #fetchRows(chunk, delay, signal) {
    try {
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
      signal.throwIfAborted();
      const { from, end } = chunk.dataset;
      const answer = await fetch(`${this.#root.dataset.rows}&from=${from}&end=${end}`, { signal });
      if (!answer.ok) throw new Error(`The rows could not be read (${answer.status})`);
      const rows = await answer.text();
      signal.throwIfAborted();
      chunk.innerHTML = rows;
      chunk.setAttribute('role', 'rowgroup');
      chunk.classList.add('filled');
      chunk.style.height = '';
      this.#filled(chunk);
    } catch (error) {
      if (!signal.aborted) this.#failed(chunk, error);
      throw error;
    } finally {
      if (this.#fetches.get(chunk)?.abort.signal === signal) this.#fetches.delete(chunk);
    }
  }

  /** It is tried again when it comes near once more, or by its button. */
  #failed(chunk, error) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = `${error.message}. Try again`;
    button.addEventListener('click', () => void this.fill(chunk).catch(() => {}));
    chunk.replaceChildren(button);
  }
}

/** What somebody works with is kept. */
function empty(chunk, height) {
  if (chunk.contains(document.activeElement) || chunk.querySelector('form, .whole-line, .unshown') !== null)
    return;
  if (height > 0) chunk.style.height = `${height}px`;
  else reserve(chunk);
  chunk.classList.remove('filled');
  chunk.removeAttribute('role');
  chunk.replaceChildren();
}

/** Room for rows that are not there. */
function reserve(chunk) {
  chunk.style.height = `calc(${chunk.dataset.end - chunk.dataset.from} * var(--row-height))`;
}

function isEmpty({ classList }) {
  return !classList.contains('filled') && !classList.contains('folded');
}

/** Index of the first item whose end is below a height in the window; they stand one below the other. */
function firstBelow(items, height, elementOf) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (elementOf(items[middle]).getBoundingClientRect().bottom >= height) high = middle;
    else low = middle + 1;
  }
  return low;
}
