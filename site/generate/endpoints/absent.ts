/** Stands where a route's handler would find what it works with. Describing a route asks nothing of it. */
export const absent = new Proxy(() => {}, {
  get(_, name) {
    throw new Error(`a route that is only described asked for ${String(name)}`);
  },
  apply() {
    throw new Error('a route that is only described called what it was handed');
  },
}) as never;
