/**
 * Comments at lines. They wait in a draft until they are put into a text of the page, one a line as `path:line: text`: elements
 * with `data-diff-into="reason"` and `data-diff-into="note"` are such texts.
 */
export class Comments {
  #diff;
  #store;
  /** What was put into which text, so that it is replaced and not put in twice. */
  #put = new WeakMap();

  constructor(diff, store) {
    this.#diff = diff;
    this.#store = store;
  }

  /** Asks for a comment at a line. */
  write(cell, text = '') {
    if (cell?.dataset.number === undefined) return this.#diff.say('Comments are about lines of a file');
    const row = cell.closest('.row');
    const open = row.nextElementSibling?.querySelector('textarea');
    if (open != null) return open.focus();
    const { line, number } = cell.dataset;
    const place = `${row.closest('.diff-file').dataset.path}:${number}`;
    const form = element('form', { className: 'comment-form' });
    const label = element('label', { textContent: `Comment on ${place}` });
    const area = element('textarea', { rows: 3, value: text, required: true });
    label.append(area);
    const save = element('button', { textContent: 'Save the comment' });
    const cancel = element('button', { type: 'button', textContent: 'Cancel', className: 'quiet' });
    form.append(label, save, cancel);
    const rowOfForm = ownRow(form);
    const close = () => {
      rowOfForm.remove();
      this.#diff.setCurrent(row);
    };
    cancel.addEventListener('click', close);
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') close();
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const comment = { line: Number(line), place, text: area.value.trim() };
      if (comment.text === '') return area.focus();
      const others = this.#store.comments.filter((one) => one.line !== comment.line);
      this.#store.comments = [...others, comment].sort((one, other) => one.line - other.line);
      close();
      this.#changed();
    });
    row.after(rowOfForm);
    area.focus();
  }

  async run(name, target) {
    const { comments } = this.#store;
    const comment = comments.find(({ line }) => line === Number(target?.dataset.line));
    switch (name) {
      case 'edit': {
        const cell = target
          .closest('.row')
          .previousElementSibling.querySelector(`[data-line="${comment.line}"]`);
        return this.write(cell, comment.code);
      }
      case 'remove':
        this.#store.comments = comments.filter((one) => one !== comment);
        return this.#changed();
      case 'put':
        return this.#putInto(target.dataset.into);
      case 'copy':
        await navigator.clipboard.writeText(this.#text());
        return this.#diff.say('Copied');
    }
  }

  #changed() {
    for (const row of this.#diff.querySelectorAll('.comment')) row.closest('.row').remove();
    this.showWithin(this.#diff);
    this.showDraft();
  }

  /** Comments below their lines, where these are there. */
  showWithin(part) {
    for (const { line, text } of this.#store.comments) {
      const cell = part.querySelector(`.code[data-line="${line}"]`);
      if (cell === null) continue;
      const comment = element('div', { className: 'comment' });
      comment.append(
        element('p', { textContent: text }),
        button('edit', 'Edit', line),
        button('remove', 'Remove', line),
      );
      cell.closest('.row').after(ownRow(comment));
    }
  }

  showDraft() {
    const { comments } = this.#store;
    const draft = this.#diff.querySelector('.diff-draft');
    draft.hidden = comments.length === 0;
    draft.querySelector('ol').replaceChildren(
      ...comments.map(({ line, place, text }) => {
        const item = element('li');
        item.append(
          element('span', { className: 'path', textContent: place }),
          ` ${text} `,
          button('remove', 'Remove', line),
        );
        return item;
      }),
    );
    for (const put of draft.querySelectorAll('[data-into]')) put.hidden = textOf(put.dataset.into) === null;
  }

  #text() {
    return this.#store.comments
      .map(({ place, text }) => `${place}: ${text.replace(/\s*\n\s*/g, ' ')}`)
      .join('\n');
  }

  #putInto(into) {
    const area = textOf(into);
    const text = this.#text();
    const before = this.#put.get(area);
    area.value =
      before !== undefined && area.value.includes(before)
        ? area.value.replace(before, () => text)
        : [area.value.trimEnd(), text].filter((part) => part !== '').join('\n');
    this.#put.set(area, text);
    area.closest('details')?.setAttribute('open', '');
    area.dispatchEvent(new InputEvent('input', { bubbles: true }));
    area.focus({ preventScroll: true });
    // The button that sends it comes into view with it.
    (area.closest('form') ?? area).scrollIntoView({ block: 'nearest' });
  }
}

function textOf(into) {
  return document.querySelector(`[data-diff-into="${into}"]`);
}

function element(name, properties = {}) {
  return Object.assign(document.createElement(name), properties);
}

function button(name, text, line) {
  const made = element('button', { type: 'button', className: 'quiet', textContent: text });
  Object.assign(made.dataset, { do: name, line });
  return made;
}

/** A row of a table that is no row of the diff. */
function ownRow(content) {
  const row = element('div', { className: 'row own' });
  const cell = element('span', { className: 'code' });
  row.setAttribute('role', 'row');
  cell.setAttribute('role', 'cell');
  cell.append(content);
  row.append(cell);
  return row;
}

/** The text beside a number. */
export function cellOf(number) {
  let cell = number.nextElementSibling;
  while (cell !== null && !cell.matches('.code')) cell = cell.nextElementSibling;
  return cell;
}
