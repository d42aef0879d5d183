/** Gives every caller the result of one run of `work`, begun by the first. After a failure the next caller begins it again. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= work().catch((error) => {
      running = null;
      throw error;
    });
    return running;
  };
}
