const maxRemembered = 50;

/** Marks and comments of a person on one patch, kept in this browser: they are notes of a reader and no part of a run's record. */
export function openStore(person, digest) {
  const key = `core-diff ${person} ${digest}`;
  const read = (name) => {
    try {
      return JSON.parse(localStorage.getItem(name)) ?? {};
    } catch {
      return {};
    }
  };
  const state = { viewed: [], comments: [], ...read(key) };
  const viewed = new Set(state.viewed);
  function write() {
    const known = read('core-diffs').keys ?? [];
    const keys = [key, ...known.filter((one) => one !== key)];
    try {
      for (const old of keys.splice(maxRemembered)) localStorage.removeItem(old);
      localStorage.setItem('core-diffs', JSON.stringify({ ...read('core-diffs'), keys }));
      localStorage.setItem(key, JSON.stringify({ ...state, viewed: [...viewed] }));
    } catch {
      // Without storage they last as long as the page.
    }
  }
  let wraps = read('core-diff-wrap').wraps;
  return {
    viewed,
    setViewed(file, isViewed) {
      if (viewed.has(file) === isViewed) return;
      if (isViewed) viewed.add(file);
      else viewed.delete(file);
      write();
    },
    get comments() {
      return state.comments;
    },
    set comments(comments) {
      state.comments = comments;
      write();
    },
    get wraps() {
      return wraps;
    },
    set wraps(value) {
      wraps = value;
      try {
        localStorage.setItem('core-diff-wrap', JSON.stringify({ wraps }));
      } catch {
        // As above.
      }
    },
  };
}
