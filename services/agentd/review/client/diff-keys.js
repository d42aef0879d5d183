/** The terminal interface's keys. Those of the first list hold within the diff alone, where a page has others for them. */

const within = { j: 'next-line', k: 'previous-line' };
const everywhere = {
  '}': 'next-hunk',
  '{': 'previous-hunk',
  ']': 'next-file',
  '[': 'previous-file',
  J: 'next-line',
  K: 'previous-line',
  z: 'fold',
  Z: 'fold-all',
  m: 'viewed',
  v: 'view',
  t: 'tree',
  w: 'wrap',
  C: 'comment',
  '/': 'search',
  n: 'next-found',
  N: 'previous-found',
};

/** @returns ends it */
export function listenToKeys(diff) {
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest('input:not([type="checkbox"]), textarea, select, dialog, [contenteditable]'))
      return;
    const names = diff.contains(event.target) ? { ...everywhere, ...within } : everywhere;
    if (!Object.hasOwn(names, event.key) || diff.offsetParent === null) return;
    event.preventDefault();
    event.stopPropagation();
    void diff.run(names[event.key], diff.contains(event.target) ? event.target : undefined);
  };
  document.addEventListener('keydown', pressed, true);
  return () => document.removeEventListener('keydown', pressed, true);
}
