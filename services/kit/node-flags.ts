/** How Node is started for every program of Core; `./core` has the same. `node:sqlite` is called experimental. */
export const nodeFlags: readonly string[] = ['--disable-warning=ExperimentalWarning'];
