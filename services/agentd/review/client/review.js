// The page's own script: it keeps the page fresh and listens to keys. Everything works without it.

const reduced = matchMedia('(prefers-reduced-motion: reduce)');
const page = () => document.body.dataset.page;
const behavior = () => (reduced.matches ? 'auto' : 'smooth');

/* Forms and links are sent in the background, and the page is changed where it differs, so that nothing jumps. */

let refreshing = false;
let again = false;

/** Shows the page as it is now, in place. */
async function refresh() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    do {
      again = false;
      await htmx.ajax('GET', location.pathname + location.search, {
        target: '#page',
        select: '#page',
        swap: 'outerMorph',
      });
    } while (again);
  } finally {
    refreshing = false;
  }
}

/* How much waits for who is signed in. */

const countEveryMs = 30_000;

async function showCount() {
  const count = document.getElementById('inbox-count');
  if (count === null || document.hidden) return;
  const answer = await fetch('/inbox/count').catch(() => null);
  if (answer?.ok !== true) return;
  const text = await answer.text();
  count.textContent = text === '0' ? '' : text;
}

/* Changes by others. */

const live = document.getElementById('live');

function follow() {
  const address = document.body.dataset.live;
  if (address === undefined) return;
  const stream = new EventSource(address);
  stream.addEventListener('changed', () => {
    void refresh();
    void showCount();
  });
  stream.addEventListener('progress', ({ data }) => append(JSON.parse(data)));
  stream.addEventListener('open', () => {
    live.textContent = '';
  });
  stream.addEventListener('error', () => {
    live.textContent = 'not live: no connection to core-agentd';
    if (stream.readyState === EventSource.CLOSED) void sayWhyClosed();
  });
}

/** What is being written stays: the page is not loaded again by itself. */
async function sayWhyClosed() {
  const { status } = await fetch(location.pathname + location.search);
  live.textContent = `${status === 401 ? 'signed out' : 'not live'}: load the page again`;
}

const maxOutput = 200_000;

/** What a command says, as text, at the end of what it said before. */
function append({ message, state }) {
  const output = document.getElementById('output');
  if (output === null) return;
  const atEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 8;
  output.append(`${state === 'output' ? '' : '· '}${message}\n`);
  if (output.textContent.length > maxOutput) output.textContent = output.textContent.slice(-maxOutput / 2);
  if (atEnd) output.scrollTop = output.scrollHeight;
}

/* Keys. */

const all = (selector) => [...document.querySelectorAll(selector)];
const inView = (element) => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
};

/** Moves the focus among the things of a kind. */
function move(selector, by) {
  const items = all(selector);
  if (items.length === 0) return;
  const at = items.findIndex(
    (item) => item === document.activeElement || item.contains(document.activeElement),
  );
  const next =
    items[Math.max(0, Math.min(items.length - 1, at === -1 ? (by > 0 ? 0 : items.length - 1) : at + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: selector === '[data-action]' ? 'start' : 'nearest', behavior: behavior() });
}

/** The action that is looked at: the one with the focus, else the first that can be decided. */
function currentAction() {
  const focused = document.activeElement?.closest('[data-action]');
  return (
    focused ??
    document.querySelector('[data-action]:has([data-approve], [data-sign])') ??
    document.querySelector('[data-action]')
  );
}

/** Shows the button of a form, or of a command; presses it when it had been shown and had the focus. */
function press(form) {
  const button = form?.querySelector('button');
  if (button == null) return;
  const word = form.querySelector('input[name="word"]');
  if (word !== null && word.value === '') {
    word.focus();
    return;
  }
  if (document.activeElement === button && inView(button)) {
    if (form.matches('form')) form.requestSubmit(button);
    else button.click();
    return;
  }
  button.focus({ preventScroll: true });
  button.scrollIntoView({ block: 'center', behavior: behavior() });
}

function openDetails(details) {
  if (details == null) return;
  details.open = true;
  details.querySelector('textarea, input:not([type="hidden"])')?.focus();
}

function change(action) {
  const details = action?.querySelector('details.revise');
  if (details != null) details.open = true;
}

const follows = (selector) => document.querySelector(selector)?.click();

const listKeys = {
  j: () => move('[data-run]', 1),
  k: () => move('[data-run]', -1),
  ArrowDown: () => move('[data-run]', 1),
  ArrowUp: () => move('[data-run]', -1),
  g: () => all('[data-run]').at(0)?.focus(),
  G: () => all('[data-run]').at(-1)?.focus(),
  '/': () => document.querySelector('[data-search]')?.focus(),
  n: () => follows('[data-plan]'),
  s: () => document.activeElement?.closest('li')?.querySelector('input[name="run"]')?.click(),
  b: () => press(document.querySelector('[data-batch]')),
};

const runKeys = {
  j: () => move('[data-action]', 1),
  k: () => move('[data-action]', -1),
  a() {
    const action = currentAction();
    const approving = action?.querySelector('[data-approve], [data-sign]');
    if (approving == null) return;
    change(action);
    press(approving);
  },
  r() {
    const action = currentAction();
    change(action);
    openDetails(action?.querySelector('[data-reject]'));
  },
  A() {
    const forms = '.gate > :is([data-gate], [data-sign])';
    const own = currentAction()?.closest('.gate')?.querySelector(forms);
    press(own ?? document.querySelector(forms));
  },
  x: () => press(document.querySelector('[data-execute]')),
  u: () => follows('[data-undo]'),
  c: () => openDetails(document.querySelector('[data-cancel]')),
  p: () => openDetails(document.querySelector('[data-again]')),
  R: () => press(document.querySelector('[data-resume]')),
  o: () => follows('[data-result="open_pull_request"], [data-issue]'),
  q: () => follows('[data-back]'),
  Escape: () => follows('[data-back]'),
};

const otherKeys = { q: () => follows('[data-back]'), Escape: () => follows('[data-back]') };

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const { key, target } = event;
  const dialog = document.getElementById('keys');
  if (dialog?.open) {
    if (key === '?' || key === 'q') dialog.close();
    return;
  }
  if (target.closest('input:not([type="checkbox"]), textarea, select') !== null) {
    if (key === 'Escape') target.blur();
    return;
  }
  const keys = { list: listKeys, run: runKeys, other: otherKeys }[page()];
  const tab = page() === 'run' && /^[1-6]$/.test(key) ? () => follows(`[data-tab="${key}"]`) : undefined;
  const act = key === '?' ? () => dialog?.showModal() : (tab ?? keys[key]);
  if (act === undefined) return;
  event.preventDefault();
  act();
});

document.addEventListener('click', ({ target }) => {
  if (target.closest('[data-keys]') !== null) document.getElementById('keys')?.showModal();
  const copy = target.closest('[data-copy]');
  if (copy !== null) void copyCommand(copy.closest('[data-sign]').querySelector('.command'));
});

/** Where the browser gives no clipboard, as over plain HTTP from another machine, the text is selected. */
async function copyCommand(command) {
  try {
    await navigator.clipboard.writeText(command.textContent);
    live.textContent = 'copied';
  } catch {
    getSelection().selectAllChildren(command);
    live.textContent = 'selected; copy it with your keys';
  }
}

/* A form is sent once. */
document.addEventListener('submit', ({ target }) => {
  if (target.method === 'dialog') return;
  setTimeout(() => {
    for (const button of target.querySelectorAll('button')) button.disabled = true;
  });
});
/* Back in the history: buttons as they were. */
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

follow();
void showCount();
setInterval(() => void showCount(), countEveryMs);
document.addEventListener('visibilitychange', () => void showCount());
